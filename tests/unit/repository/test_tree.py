"""What is in the tree: nothing that every clone would carry for ever."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

from tests.nightly.mutants import mutants

ROOT = Path(__file__).parents[3]
MAX_BYTES: Final = 2_000_000
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


def test_no_file_is_over_two_megabytes() -> None:
    assert [path for path in tracked(ROOT) if path.stat().st_size > MAX_BYTES] == []


def test_each_mutant_changes_the_code_as_it_is() -> None:
    for mutant in mutants():
        assert mutant.changed()
