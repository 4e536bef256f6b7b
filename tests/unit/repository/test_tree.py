"""What is in the tree: nothing that every clone would carry for ever."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

import pytest

ROOT = Path(__file__).parents[3]
MAX_BYTES: Final = 2_000_000
LARGER: Final[dict[str, int]] = {}
NOT_OURS: Final = frozenset({"__pycache__", "build", "dist", "node_modules"})


def tracked(root: Path) -> list[Path]:
    """The files that git tracks; all files of a tree that is no checkout, but for what is made in it."""
    if (root / ".git").exists():
        named = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout
        return [root / name for name in named.decode().split("\0") if name and (root / name).is_file()]
    inside = (path for path in root.rglob("*") if path.is_file())
    return [path for path in inside if not any(_made(part) for part in path.relative_to(root).parts)]


def _made(part: str) -> bool:
    return part in NOT_OURS or (part.startswith(".") and part != ".ci")


def too_large(root: Path) -> list[str]:
    sizes = {path.relative_to(root).as_posix(): path.stat().st_size for path in tracked(root)}
    return [f"{name}: {size:,} bytes" for name, size in sizes.items() if size > LARGER.get(name, MAX_BYTES)]


def test_no_file_is_over_two_megabytes() -> None:
    assert too_large(ROOT) == []
    assert {name for name in LARGER if not (ROOT / name).is_file()} == set()


@pytest.mark.parametrize("checkout", [True, False])
def test_a_large_file_is_found(tmp_path: Path, checkout: bool) -> None:
    """In a checkout a tracked one, ignored or not; else any that was not made there."""
    places = ["model.gguf", ".models/model.gguf", "src/model.gguf"]
    for name in places:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(bytes(MAX_BYTES + 1))
    (tmp_path / ".gitignore").write_text(".models/\n")
    if checkout:
        subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
        subprocess.run(["git", "add", "-f", *places[:2]], cwd=tmp_path, check=True)
    found = {line.partition(":")[0] for line in too_large(tmp_path)}
    assert found == ({*places[:2]} if checkout else {places[0], places[2]})
