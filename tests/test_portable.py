"""What would break only on systems that few of us have: modules that Windows lacks, files in its own encoding."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import agentsvc_nb

PACKAGE: Final = Path(agentsvc_nb.__file__).parent
NOT_ON_WINDOWS: Final = ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty")
RUN_AS_CHILDREN: Final = {
    "agentsvc_nb.__main__",
    "agentsvc_nb.tools.programs.supervisor_child",  # within a sandbox, which is there on Linux alone
}
"""Modules that are run, and that no other imports."""
IMPORT_ALL: Final = f"""
import importlib, pkgutil, sys
sys.modules.update(dict.fromkeys({NOT_ON_WINDOWS}))
import agentsvc_nb
for module in pkgutil.walk_packages(agentsvc_nb.__path__, "agentsvc_nb."):
    if module.name not in {sorted(RUN_AS_CHILDREN)}:
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            print(module.name, error)
"""


def test_every_module_can_be_imported_without_what_windows_lacks() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_the_modules_that_are_run_are_there() -> None:
    made = {f"agentsvc_nb.{'.'.join(path.relative_to(PACKAGE).with_suffix('').parts)}" for path in sources()}
    assert made >= RUN_AS_CHILDREN


def sources() -> Iterator[Path]:
    return PACKAGE.rglob("*.py")


def without_encoding(source: str) -> list[int]:
    """The lines of calls that read or write text in the encoding of the system, which on Windows is often not UTF-8.

    Not found: `x.open()` without a mode, because databases and streams are opened so, too.
    """
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [call.lineno for call in calls if _is_text(call) and not any(key.arg == "encoding" for key in call.keywords)]


def _is_text(call: ast.Call) -> bool:
    """Whether it opens, reads or writes a file as text, with no encoding among its positional arguments."""
    match call.func:
        case ast.Attribute(attr="read_text"):
            return not call.args
        case ast.Attribute(attr="write_text"):
            return len(call.args) < 2
        case ast.Name(id="open") | ast.Attribute(value=ast.Name(id="io"), attr="open") | ast.Attribute(attr="fdopen"):
            return "b" not in (_mode(call, 1) or "r")
        case ast.Attribute(value=ast.Name(id="tarfile"), attr="open"):
            return False
        case ast.Attribute(attr="open"):
            mode = _mode(call, 0)
            return mode is not None and set(mode) <= set("rwxat+")
    return False


def _mode(call: ast.Call, place: int) -> str | None:
    """The mode that a call opens a file with; None where it has none, or one that is computed."""
    given = [key.value for key in call.keywords if key.arg == "mode"] or call.args[place : place + 1]
    match given:
        case [ast.Constant(value=str(mode))]:
            return mode
    return None


def test_text_is_read_and_written_in_an_encoding_that_is_named() -> None:
    found = {path.relative_to(PACKAGE).as_posix(): without_encoding(path.read_text("utf-8")) for path in sources()}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("call", "is_found"),
    [
        ("path.read_text()", True),
        ("path.write_text(text)", True),
        ("path.write_text(text, errors='ignore')", True),
        ("open(path)", True),
        ("open(path, mode='w')", True),
        ("os.fdopen(handle, 'w')", True),
        ("path.open('a')", True),
        ("path.read_text('utf-8')", False),
        ("path.write_text(text, encoding='utf-8')", False),
        ("open(path, encoding='utf-8')", False),
        ("open(path, 'rb')", False),
        ("path.open('xb')", False),
        ("database.open()", False),
        ("workspace.open('notes.md')", False),
        ("tarfile.open(mode='w')", False),
    ],
)
def test_a_call_without_an_encoding_is_found(call: str, is_found: bool) -> None:
    assert bool(without_encoding(call)) is is_found
