"""What mypy and pyright, both strict and with nothing of this project's settings, know of code that uses the client."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

USER_CODE = Path(__file__).with_name("user_code.py")
MISTAKES = Path(__file__).with_name("user_mistakes.py")


@pytest.mark.timeout(600)
def test_what_users_write_is_typed_and_their_mistakes_are_found(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    bare = re.sub(r"type: ignore\[(.+)\]$", r"\1", MISTAKES.read_text(), flags=re.MULTILINE)
    mistakes = tmp_path / MISTAKES.name
    mistakes.write_text(bare)
    cache = getattr(pytestconfig, "cache", None)  # none with `-p no:cacheprovider`
    found = checked(cache.mkdir("mypy") if cache else tmp_path, USER_CODE, mistakes)
    expected = [f"{MISTAKES.name}:{number}:{code}" for number, code in expectations(bare)]
    assert found == expected


def checked(cache: Path, *files: Path) -> list[str]:
    """`file:line:code` of each error, once a line."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-pretty", "--cache-dir"]
    done = subprocess.run([*command, str(cache), *map(str, files)], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    errors = re.findall(r"^(\S+?):(\d+): error: .*\[([a-z-]+)\]$", done.stdout, re.MULTILINE)
    return list(dict.fromkeys(f"{Path(file).name}:{line}:{code}" for file, line, code in errors))


def expectations(code: str) -> list[tuple[int, str]]:
    """The line and the kind of each mistake."""
    lines = enumerate(code.splitlines(), start=1)
    return [(number, line.rpartition("  # ")[2]) for number, line in lines if "  # " in line]
