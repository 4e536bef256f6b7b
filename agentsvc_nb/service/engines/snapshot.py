"""The database looked at and copied from beside, while a server may be writing to it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from agentsvc_nb.service.engines.sqlite import BUSY_TIMEOUT_MS


def copy(source: Path, target: Path) -> None:
    """Write the database as it is at one moment to `target`. Raises `sqlite3.DatabaseError`."""
    with beside(source) as original, contextlib.closing(sqlite3.connect(target)) as snapshot:
        # In one step, on one reader's view: the server writes on meanwhile. In several, each of its writes would
        # begin the copy again.
        original.backup(snapshot)


def damage(path: Path) -> str | None:
    """What SQLite's quick check finds wrong; None when nothing. Raises `sqlite3.DatabaseError`."""
    with beside(path) as connection:
        found: str = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    return None if found == "ok" else found


@contextlib.contextmanager
def beside(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a database that exists; nothing in it is brought up to date."""
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as connection:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        yield connection
