"""A folder's service, moved to a database in PostgreSQL and a bucket (docs/decisions/0061-export.md): contents first,
then all rows in one transaction, then the folder's mark. Nothing of the folder is removed."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from agentsvc_nb.service.accounts import accounts
from agentsvc_nb.service.config import BLOBS, KeptSettings
from agentsvc_nb.service.disk import disk_fault, write_private
from agentsvc_nb.service.export import contents, rows
from agentsvc_nb.service.export.contents import ContentDiffers, Copied
from agentsvc_nb.service.export.rows import RowsDiffer, TargetInUse
from agentsvc_nb.service.files import file_records
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.keyring import check_secret
from agentsvc_nb.service.moved import NAME, ExportError, Mark
from agentsvc_nb.service.ports import BlobsUnavailable, CommitLost, StoreAway, StoreBusy, Tx
from agentsvc_nb.service.store import sqlite
from agentsvc_nb.service.store.blobs import LocalBlobs
from agentsvc_nb.service.store.postgres import PostgresDatabase
from agentsvc_nb.service.store.postgres_tx import PostgresTx
from agentsvc_nb.service.store.s3 import Bucket
from agentsvc_nb.service.store.sqlite import SqliteDatabase
from agentsvc_nb.service.times import rfc3339

Progress = Callable[[int, int], None]
"""Called with what is done and what there is in all."""

_LONG: Final = "SET LOCAL idle_in_transaction_session_timeout = 0"
_IN_USE: Final = (
    "The target is in use: its database has rows that did not come from this folder, or has been used since, or its "
    "bucket has contents below the prefix. Name an empty database and an unused prefix."
)
_AGAIN: Final = "The folder is as it was; the same again goes on."


@dataclass(frozen=True)
class Target:
    """Where to: the database's address, the place of contents, and the secret of keys."""

    blobs: str
    database: str = field(repr=False)
    secret: str | None = field(repr=False)


@dataclass(frozen=True)
class Exported:
    """What is at the target now. `target` says where, without a password."""

    target: str
    rows: int
    contents: Copied


def own_secret(folder: DataFolder) -> str:
    """The secret with which the folder's keys are hashed, for AGENTSVC_SECRET. Raises `ExportError`."""
    with contextlib.closing(_opened(folder)) as database:
        return database.write_now(accounts.own_secret)


def undo(folder: DataFolder) -> str | None:
    """Take the folder's mark away; where its service was moved to. None without a mark. Raises `FolderHeld`."""
    with folder.hold():
        mark = _mark(folder)
        if mark.moved_at is None:
            return None
        _write(folder, replace(mark, moved_at=None))
        return mark.target


def export(folder: DataFolder, target: Target, of_contents: Progress, of_rows: Progress) -> Exported:
    """Copy the folder's contents and rows to the target, compare them, and mark the folder as moved.

    Raises `ExportError`, `FolderHeld`, `SchemaTooNew`, `StoreUnusable`, and what `disk_fault` tells.
    """
    with folder.hold(), contextlib.closing(_opened(folder)) as database, _locked(folder) as source:
        _check_secret(database, folder, target)
        mark = _mark_for(folder, target)
        with _told(), contextlib.closing(_database_of(folder, target)) as there:
            bucket = _claimed(folder, target, there, source, mark)
            named = database.read(file_records.referenced_contents)
            copied = asyncio.run(contents.copy(LocalBlobs(folder.blobs), bucket, named, of_contents))
            count = _copied(there, source, mark, of_rows)
        _write(folder, replace(mark, moved_at=rfc3339(time.time_ns() // 1_000_000)))
        return Exported(mark.target, count, copied)


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Raise as `ExportError`, with what to do, what ends a move at the target. It can be gone on with after each."""
    try:
        yield
    except TargetInUse:
        raise ExportError(_IN_USE) from None
    except CommitLost:
        raise ExportError("The database was lost at the last moment: do the same again.") from None
    except StoreAway as error:
        raise ExportError(f"{error}: check AGENTSVC_DATABASE, and its server. {_AGAIN}") from None
    except StoreBusy:
        raise ExportError(f"Another process is writing to the database: wait until it has ended. {_AGAIN}") from None
    except BlobsUnavailable as error:
        raise ExportError(f"{error.message} {_AGAIN}") from None
    except (ContentDiffers, RowsDiffer) as error:
        raise ExportError(str(error)) from None
    except Exception as error:
        if (fault := disk_fault(error)) is None:
            raise
        said = " ".join(str(error).split())
        raise ExportError(f"{fault[0].upper()}{fault[1:]} ({said}): make room there. {_AGAIN}") from None


def _opened(folder: DataFolder) -> SqliteDatabase:
    """The folder's own database, with the newest schema. Raises `ExportError` and `SchemaTooNew`."""
    if not folder.has_database():
        raise ExportError(f"There is no database in {folder.path}: nothing to move.")
    folder.check_ours()
    return SqliteDatabase(folder.database).open()


@contextlib.contextmanager
def _locked(folder: DataFolder) -> Iterator[sqlite3.Connection]:
    """A connection to the folder's database, to which nobody writes meanwhile, such as a command that makes a key.
    Raises `ExportError` when somebody does."""
    with sqlite.beside(folder.database) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            raise ExportError(f"Another process is writing to {folder.database}: do the same again after it.") from None
        yield connection
        connection.rollback()


def _check_secret(database: SqliteDatabase, folder: DataFolder, target: Target) -> None:
    """Raises `ExportError` if the folder's keys would be unknown at the target."""
    if target.secret is None or database.read(accounts.known_own_secret) != target.secret:
        show = f"agentsvc export {shlex.quote(str(folder.path))} --secret"
        raise ExportError(
            "AGENTSVC_SECRET has to be the secret with which this folder's keys are hashed, or they would all be "
            f"unknown at the target: set it to what `{show}` prints."
        )


def _mark_for(folder: DataFolder, target: Target) -> Mark:
    """The folder's mark for a move to the target, not ended yet."""
    mark = _mark(folder)
    place = f"{PostgresDatabase(target.database).place} and {target.blobs}"
    if mark.moved_at and mark.target != place:
        raise ExportError(f"{folder.path} was moved to {mark.target}: do `--undo` before it is moved elsewhere.")
    kept = KeptSettings.read(folder).settings.get(BLOBS)
    if kept not in (None, target.blobs):
        raise ExportError(f"The contents of files lie in {kept}: set AGENTSVC_BLOBS to that.")
    mark = replace(mark, target=place)
    _write(folder, mark)
    return mark


def _mark(folder: DataFolder) -> Mark:
    try:
        return Mark.read(folder.path) or Mark()
    except ValueError as error:
        raise ExportError(f"{error}.") from None


def _write(folder: DataFolder, mark: Mark) -> None:
    write_private(folder.path / NAME, mark.to_json())


def _database_of(folder: DataFolder, target: Target) -> PostgresDatabase:
    """The target's database, open. Raises `StoreUnusable` for one whose keys are hashed with another secret."""
    there = PostgresDatabase(target.database)
    patience, there.patience = there.patience, 0.0  # somebody waits here, and may have mistyped it
    try:
        there.open()
        there.patience = patience
        there.write_now(lambda tx: check_secret(tx, DataFolder(folder.path, target.database, target.secret)))
    except BaseException:
        there.close()
        raise
    return there


def _claimed(
    folder: DataFolder, target: Target, there: PostgresDatabase, source: sqlite3.Connection, mark: Mark
) -> Bucket:
    """The target's bucket, once the target is this folder's. Raises `TargetInUse` and `BlobsUnavailable`."""
    bucket = Bucket(target.blobs)
    bucket.check()
    own = KeptSettings.read(folder).settings.get(BLOBS) == target.blobs
    if not there.read(lambda tx: rows.is_claimed(_postgres(tx), source, mark.id)):
        if not own and asyncio.run(contents.has_any(bucket)):
            raise TargetInUse
        there.write_now(lambda tx: _claim(_postgres(tx), source, mark))
    return bucket


def _claim(tx: PostgresTx, source: sqlite3.Connection, mark: Mark) -> None:
    """Claim the database, unless another folder has done so meanwhile. Raises `TargetInUse`."""
    if not rows.is_claimed(tx, source, mark.id):
        rows.claim(tx, mark.id)


def _copied(there: PostgresDatabase, source: sqlite3.Connection, mark: Mark, progress: Progress) -> int:
    """Copy all rows; their number. Raises `TargetInUse`, `RowsDiffer`, `CommitLost` and `StoreAway`."""

    def use(given: Tx) -> int:
        tx = _postgres(given)
        tx.run(_LONG)
        rows.is_claimed(tx, source, mark.id)  # again, under the lock: a service may have begun to work there
        sums = rows.copy(tx, source, there.index, progress)
        rows.claim(tx, mark.id, sums)
        return sum(found.rows for found in sums.values())

    return there.write_now(use)


def _postgres(tx: Tx) -> PostgresTx:
    assert isinstance(tx, PostgresTx)
    return tx
