"""What would break only on systems that few of us have: modules that Windows lacks, files in its own encoding, names of
files that it or macOS can't have."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final

import pytest

import agentsvc_nb
from tests.unit.repository.test_tree import ROOT, tracked

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

AS_ON_MACOS: Final = """
import resource, sys
from agentsvc_nb.documents import child_process

def set_as_on_macos(name, limits, set_here=resource.setrlimit):
    if name == resource.RLIMIT_AS:
        raise ValueError("current limit exceeds maximum limit")
    set_here(name, limits)

resource.setrlimit, sys.platform = set_as_on_macos, "darwin"
child_process._apply(child_process.Limits(memory_bytes=2**30, cpu_seconds=7, file_bytes=0))
print(resource.getrlimit(resource.RLIMIT_CPU)[0], resource.getrlimit(resource.RLIMIT_FSIZE)[0])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits")
def test_children_that_look_at_files_start_where_memory_can_not_be_limited() -> None:
    done = subprocess.run([sys.executable, "-c", AS_ON_MACOS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "7 0\n"), done.stderr


def test_every_module_can_be_imported_without_what_windows_lacks() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_the_modules_that_are_run_are_there() -> None:
    made = {f"agentsvc_nb.{'.'.join(path.relative_to(PACKAGE).with_suffix('').parts)}" for path in sources()}
    assert made >= RUN_AS_CHILDREN


NOT_IN_A_NAME: Final = re.compile(r'[<>:"\\|?*\x00-\x1f]|[ .]$')
RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)
LONGEST: Final = 150
"""Of the 260 characters of a path on Windows; the rest is for the folder of the clone, or of the environment."""


def not_everywhere(names: Iterable[str]) -> list[str]:
    """The names of files that Windows or macOS can't have, or takes for the same as another."""
    names = list(names)
    folded = Counter(unicodedata.normalize("NFC", name).casefold() for name in names)
    return [
        name
        for name in names
        if any(NOT_IN_A_NAME.search(part) or RESERVED.fullmatch(part) for part in PurePosixPath(name).parts)
        or len(name) > LONGEST
        or folded[unicodedata.normalize("NFC", name).casefold()] > 1
    ]


def test_every_file_can_have_its_name_on_windows_and_macos() -> None:
    names = [path.relative_to(ROOT).as_posix() for path in tracked(ROOT)]
    assert len(names) > 1_000
    assert not_everywhere(names) == []


@pytest.mark.parametrize(
    "names",
    [["docs/aux.md"], ["a:b"], ["what?.py"], ["end."], ["docs /x"], ["x" * 151], ["Readme.md", "README.md"]],
    ids=lambda names: names[0][:10],
)
def test_a_name_that_is_not_possible_everywhere_is_found(names: list[str]) -> None:
    assert not_everywhere([*names, "docs/auxiliary.md", ".ci/run"]) == names


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
