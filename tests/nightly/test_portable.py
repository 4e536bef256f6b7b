"""What would break only on systems that few of us have: modules that Windows lacks, files in its own encoding, names of
files that it or macOS can't have."""

from __future__ import annotations

import re
import subprocess
import sys
import unicodedata
from collections import Counter
from pathlib import PurePosixPath
from typing import Final

from tests.unit.repository.test_tree import ROOT, tracked

NOT_ON_WINDOWS: Final = ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty")
RUN_AS_CHILDREN: Final = (
    "agentsvc_nb.__main__",
    "agentsvc_nb.tools.programs.supervisor_child",  # within a sandbox, which is there on Linux alone
)
"""Modules that are run, and that no other imports."""
IMPORT_ALL: Final = f"""
import importlib, pkgutil, sys
sys.modules.update(dict.fromkeys({NOT_ON_WINDOWS}))
import agentsvc_nb
for module in pkgutil.walk_packages(agentsvc_nb.__path__, "agentsvc_nb."):
    if module.name not in {RUN_AS_CHILDREN}:
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            print(module.name, error)
"""
NOT_IN_A_NAME: Final = re.compile(r'[<>:"\\|?*\x00-\x1f]|[ .]$')
RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)
LONGEST: Final = 150
"""Of the 260 characters of a path on Windows; the rest is for the folder of the clone, or of the environment."""


def test_every_module_can_be_imported_without_what_windows_lacks() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_text_is_read_and_written_in_an_encoding_that_is_named() -> None:
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--preview", "--select", "PLW1514", "agentsvc_nb"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_file_can_have_its_name_on_windows_and_macos() -> None:
    names = [path.relative_to(ROOT).as_posix() for path in tracked(ROOT)]
    assert len(names) > 1_000
    same = Counter(unicodedata.normalize("NFC", name).casefold() for name in names)
    assert [
        name
        for name in names
        if any(NOT_IN_A_NAME.search(part) or RESERVED.fullmatch(part) for part in PurePosixPath(name).parts)
        or len(name) > LONGEST
        or same[unicodedata.normalize("NFC", name).casefold()] > 1
    ] == []
