"""The data folder: its place on disk, its database, its contents, and the clock that they were written by."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, TypeVar

from agentsvc_nb.commands.doctor.finding import Finding, fail, note, ok
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.records import garbage
from agentsvc_nb.service.records.queries import newest
from agentsvc_nb.service.store import migrations, sqlite
from agentsvc_nb.service.store.blobs import blob_path
from agentsvc_nb.service.store.sqlite import SqliteDatabase
from agentsvc_nb.wire.times import rfc3339

T = TypeVar("T")
FREE_FAIL_BYTES: Final = 50_000_000
FREE_WARN_BYTES: Final = 1_000_000_000
CLOCK_SLACK_MS: Final = 60_000
SANE_YEARS: Final = range(2025, 2100)
_RESTORE: Final = "agentsvc restore BACKUP --data ANOTHER_FOLDER"


def data(folder: DataFolder) -> Iterator[Finding]:
    """Can it be written to, by SQLite too, and is there room?"""
    place = next(path for path in (folder.path, *folder.path.parents) if path.exists())
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        yield fail(f"{place} can't be written to", "give another folder with --data or AGENTSVC_DATA")
        return
    if not folder.database.exists():
        yield note(f"no service has run in {folder.path} yet; the first one makes it")
    elif fault := _wal_fault(folder.path):
        yield fail(f"SQLite can't work in {folder.path} ({fault})", "use a folder on a local disk (--data)")
    else:
        yield ok(f"{folder.path} can be written to")
    yield _room(place)


def _wal_fault(path: Path) -> str | None:
    with tempfile.TemporaryDirectory(dir=path, prefix=".doctor-") as scratch:
        try:
            with closing(sqlite3.connect(Path(scratch, "try.sqlite3"))) as connection:
                mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
                connection.execute("CREATE TABLE try (x)")
        except sqlite3.OperationalError as error:
            return str(error)
    return None if mode == "wal" else f"no write-ahead log, but {mode}"


def _room(place: Path) -> Finding:
    free = shutil.disk_usage(place).free
    what = f"{free / 1_000_000:,.0f} MB are free on the disk of {place}"
    if free >= FREE_WARN_BYTES:
        return ok(what)
    return Finding("warn" if free >= FREE_FAIL_BYTES else "fail", what, "make room, or use another disk (--data)")


def schema(folder: DataFolder) -> Iterator[Finding]:
    if folder.database.exists():
        try:
            found, known = _version(folder), len(migrations.steps())
        except sqlite3.DatabaseError as error:
            yield fail(f"{folder.database} is no database that can be read ({error})", _RESTORE)
            return
        if found > known:
            yield fail(f"a newer version wrote it: schema {found}, known are {known}", "pip install -U agentsvc-nb")
        elif found < known:
            yield note(f"schema {found}: the next start brings it to {known}; make a backup before (agentsvc backup)")
        else:
            yield ok(f"schema {found}, the newest known")


def database(folder: DataFolder) -> Iterator[Finding]:
    """Is every page of it in order?"""
    if folder.database.exists():
        try:
            damage = sqlite.damage(folder.database)
        except sqlite3.DatabaseError as error:
            damage = str(error)
        yield ok("in order") if damage is None else fail(f"damaged ({damage})", _RESTORE)


def contents(folder: DataFolder) -> Iterator[Finding]:
    """Is there a content for each file?"""
    named = _read(folder, garbage.contents)
    if named is not None:
        missing = sum(not blob_path(folder.blobs, sha256).is_file() for sha256 in named)
        if missing:
            yield fail(f"{missing:,} of {len(named):,} contents of files are missing", _RESTORE)
        else:
            yield ok(f"all {len(named):,} contents of files are there")


def clock(folder: DataFolder) -> Iterator[Finding]:
    now, year = time.time_ns() // 1_000_000, time.gmtime().tm_year
    last = _read(folder, newest)
    if year not in SANE_YEARS:
        yield fail(f"the year is {year}", "set the machine's clock")
    elif last is not None and last > now + CLOCK_SLACK_MS:
        yield fail(f"it is {rfc3339(now)}, before the newest record of {rfc3339(last)}", "set the machine's clock")
    else:
        yield ok(rfc3339(now))


def _version(folder: DataFolder) -> int:
    with sqlite.beside(folder.database) as connection:
        return migrations.version(connection)


def _read(folder: DataFolder, look: Callable[[Tx], T]) -> T | None:
    """What the database says; None when there is none of this version's schema, or none that can be read."""
    database = SqliteDatabase(folder.database)
    try:
        if not folder.database.exists() or _version(folder) != len(migrations.steps()):
            return None
        return database.read(look)
    except sqlite3.DatabaseError:  # told by another check
        return None
    finally:
        database.close()
