"""Python, the packages and SQLite."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Final

from agentsvc_nb.commands.doctor.finding import Finding, fail, note, ok
from agentsvc_nb.service.folder import DataFolder

PYTHON: Final = (3, 11)
SQLITE: Final = (3, 35, 0)
"""The first that knows RETURNING."""
FTS5: Final = "CREATE VIRTUAL TABLE words USING fts5 (word, tokenize = 'ascii', prefix = '2 3')"
OPTIONAL: Final = {"jupyterlab": "agentsvc lab", "nest_asyncio2": "await within notebooks of other tools"}


def python(_: DataFolder) -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < PYTHON:
        yield fail(f"this is Python {version}", "install Python 3.11 or later, and agentsvc-nb in it")
    else:
        yield ok(f"{version} at {sys.executable}")


def packages(_: DataFolder) -> Iterator[Finding]:
    missing = _missing()
    if missing is None:
        yield note("agentsvc-nb runs from its source, uninstalled: what it needs was not looked up")
    elif missing:
        yield fail(f"not installed: {', '.join(missing)}", "pip install --upgrade agentsvc-nb")
    else:
        yield ok("everything that the service needs is installed")
    for module, use in OPTIONAL.items():
        if importlib.util.find_spec(module) is None:
            yield note(f"{module} is not installed; {use} needs it: pip install 'agentsvc-nb[lab]'")


def _missing() -> list[str] | None:
    """Required packages that are not there; None when nobody knows what is required."""
    try:
        required = importlib.metadata.requires("agentsvc-nb") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    names = [re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0] for line in required if "extra ==" not in line]
    return [name for name in names if not _is_installed(name)]


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def sqlite(_: DataFolder) -> Iterator[Finding]:
    other = "use a Python whose sqlite3 is newer, such as one of python.org or conda"
    if sqlite3.sqlite_version_info < SQLITE:
        yield fail(f"SQLite {sqlite3.sqlite_version} is too old, 3.35 is needed", other)
        return
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute(FTS5)
    except sqlite3.OperationalError as error:
        yield fail(f"SQLite {sqlite3.sqlite_version} has no full-text search ({error})", other)
    else:
        yield ok(f"{sqlite3.sqlite_version}, with full-text search (FTS5)")
