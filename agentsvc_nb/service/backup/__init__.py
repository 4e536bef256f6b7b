"""Back up a service into one file, and restore or move it into a data folder or into PostgreSQL and S3."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentsvc_nb import clock
from agentsvc_nb.documents.indexing import index_text
from agentsvc_nb.service.accounts import account_records, accounts
from agentsvc_nb.service.backup.archive import (
    SERVERS,
    ArchiveWriter,
    BackupError,
    CheckedArchive,
    End,
    Manifest,
    Progress,
    list_tables,
)
from agentsvc_nb.service.disk import disk_fault
from agentsvc_nb.service.files import file_records
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.mcp.servers import OwnServers
from agentsvc_nb.service.ports import Blobs, BlobWriter, CommitLost, DatabaseEngine, Index, Tx
from agentsvc_nb.service.store import create_blobs, create_database, migrations, sqlite
from agentsvc_nb.service.store.sqlite import SqliteDatabase, SqliteTx
from agentsvc_nb.service.times import rfc3339
from agentsvc_nb.settings import Settings

__all__ = ["Backup", "BackupError", "back_up", "read_secret", "restore"]

TEXTS_AT_ONCE: Final = 50
CONTENTS_AT_ONCE: Final = 8
LOCK_SECONDS: Final = 60.0
_STAGING: Final = ".restore-"
_UNFINISHED: Final = "unfinished-restore"
"""The S3 object that marks a bucket during a restore. After a failed restore, it allows a retry in the same bucket."""


@dataclass(frozen=True)
class Backup:
    """The summary of a backup file."""

    version: str
    engine: str
    schema_version: int
    created_at: str
    rows: int
    contents: int
    content_bytes: int
    missing: int
    servers: list[str]


def _backup(manifest: Manifest, end: End, servers: Iterable[str]) -> Backup:
    known = manifest.model_dump(include={"version", "engine", "schema_version", "created_at"})
    return Backup(**known, **end.model_dump(exclude={"sha256"}), servers=sorted(servers))


def _folder(settings: Settings) -> DataFolder:
    return DataFolder(settings.data, settings.database, settings.secret)


def back_up(settings: Settings, file: Path, of_rows: Progress, of_contents: Progress) -> Backup:
    """Write a backup of the service to `file`, readable by this user only (mode 0600).

    The file appears once it is complete. The service may run meanwhile, because the backup reads the rows from one
    snapshot. `of_rows` and `of_contents` receive the progress.

    Raises `BackupError` if `file` exists, the database can't be read or another backup is running, `SchemaTooNew`,
    `OSError`, and the errors of PostgreSQL and S3.
    """
    folder = _folder(settings)
    if file.exists():
        raise BackupError(f"{file} already exists: choose another file name.")
    with contextlib.ExitStack() as stack:
        if not stack.enter_context(folder.hold_blobs(LOCK_SECONDS)):
            raise BackupError(f"Another backup of {folder.path} is in progress: wait until it has ended.")
        made = tempfile.TemporaryDirectory(dir=file.absolute().parent, prefix=".agentsvc-backup-")
        scratch = Path(stack.enter_context(made))
        archive = scratch / "backup.tar"
        archive.touch(0o600)
        target = stack.enter_context(archive.open("wb"))
        database = stack.enter_context(contextlib.closing(_source(folder, scratch)))
        servers = OwnServers(folder).without_keys()

        def add_rows(tx: Tx) -> tuple[ArchiveWriter, set[str]]:
            # The database may call this again after a broken connection, so start from the beginning.
            target.seek(0)
            target.truncate()
            writer = ArchiveWriter(target, _manifest(tx, folder))
            if servers:
                writer.add(SERVERS, json.dumps(servers, indent=1).encode())
            writer.add_rows(tx, of_rows)
            return writer, file_records.referenced_contents(tx)

        writer, named = database.read(add_rows)
        asyncio.run(writer.add_contents(create_blobs(settings, scratch / "cache"), named, of_contents))
        end = writer.finish()
        target.flush()
        os.fsync(target.fileno())
        os.replace(archive, file)
    return _backup(writer.manifest, end, servers)


def _source(folder: DataFolder, scratch: Path) -> DatabaseEngine:
    """Return the database to back up. For SQLite, return a checked copy, upgraded to the current schema."""
    if folder.address:
        return _unopened_postgres(folder)
    copy = scratch / folder.database.name
    try:
        sqlite.copy_database(folder.database, copy)
        if damage := sqlite.find_damage(copy):
            raise BackupError(f"The database {folder.database} is damaged ({damage}). Nothing was written.")
        return SqliteDatabase(copy).open()
    except sqlite3.DatabaseError as error:
        why = disk_fault(error) or error
        raise BackupError(
            f"The database {folder.database} can't be copied to {scratch} ({why}). Nothing was written."
        ) from None


def _unopened_postgres(folder: DataFolder) -> DatabaseEngine:
    """Return the PostgreSQL database unopened: opening it would upgrade a schema that older processes may use."""
    database = create_database(folder)
    from agentsvc_nb.service.store.postgres import PostgresDatabase

    assert isinstance(database, PostgresDatabase)
    found = database.status()
    if found.schema != found.newest:
        database.close()
        raise BackupError(
            f"The database has schema {found.schema}, but this version needs {found.newest}: make the backup "
            "with the version that serves the database, or run `agentsvc migrate` first."
        )
    return database


def _manifest(tx: Tx, folder: DataFolder) -> Manifest:
    schema = len(migrations.read_steps())
    return Manifest(
        engine="postgresql" if folder.address else "sqlite",
        schema_version=schema,
        created_at=rfc3339(clock.now_ms()),
        own_secret=None if folder.address else accounts.known_own_secret(tx),
        secret_hash=account_records.meta(tx, "secret") if folder.address else None,
        tables={name: [column.name for column in columns] for name, columns in list_tables(schema).items()},
    )


def restore(file: Path, settings: Settings, checked: Progress, restored: Progress) -> Backup:
    """Restore the backup `file` into the database and the blob store that the settings name. Both must be empty.

    The restore checks the whole archive before it writes anything, and writes the database last. So an interrupted
    restore leaves no database and can be repeated. `checked` and `restored` receive the progress.

    Raises `BackupError` if `file` is not a complete backup or the target is in use, `FolderHeld`, `FolderFault`,
    `OSError`, and the errors of PostgreSQL and S3.
    """
    archive, folder = CheckedArchive(file, checked), _folder(settings)
    _check_no_database(folder)
    folder.make(restoring=folder.address is None)
    with folder.hold():
        _check_no_database(folder)  # check again with the lock, because a server may have started in the meantime
        for left in folder.path.glob(f"{_STAGING}*"):  # left by a killed restore
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(dir=folder.path, prefix=_STAGING) as staging:
            into = _restore_to_postgres if folder.address else _restore_to_folder
            into(folder, archive, settings, Path(staging), restored)
    return _backup(archive.manifest, archive.end, archive.servers)


def read_secret(file: Path) -> str:
    """Return the secret with which the backup's API keys are hashed. Raises `BackupError`, also if there is none."""
    secret = CheckedArchive(file, lambda done, total: None).manifest.own_secret
    if secret is None:
        raise BackupError("The backup contains no secret. Its API keys, if any, are hashed with an AGENTSVC_SECRET.")
    return secret


def _check_no_database(folder: DataFolder) -> None:
    if not folder.address and folder.has_database():
        raise BackupError(f"{folder.path} already has a service: choose another folder with --data.")


def _restore_to_folder(
    folder: DataFolder, archive: CheckedArchive, settings: Settings, staging: Path, progress: Progress
) -> None:
    database = staging / folder.database.name
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # `os.sync` flushes everything at the end
        migrations.migrate(connection, archive.manifest.schema_version)
        connection.execute("BEGIN")
        archive.copy_rows(SqliteTx(connection), progress)
        connection.execute("COMMIT")

    def complete(tx: Tx) -> None:
        _store_secret(tx, archive.manifest, settings)
        _index_texts(tx, opened.index)

    with contextlib.closing(SqliteDatabase(database).open()) as opened:
        opened.write_now(complete)
    _store_files(folder, archive, settings, staging, progress)
    for ending in ("-wal", "-shm"):  # such files of a removed database would corrupt the new database
        Path(f"{folder.database}{ending}").unlink(missing_ok=True)
    if hasattr(os, "sync"):  # not on Windows
        os.sync()  # flush everything before the database gets its name
    os.replace(database, folder.database)


def _restore_to_postgres(
    folder: DataFolder, archive: CheckedArchive, settings: Settings, staging: Path, progress: Progress
) -> None:
    schema, newest = archive.manifest.schema_version, len(migrations.read_steps())
    if schema < newest:
        raise BackupError(
            f"The backup has schema {schema}, but PostgreSQL needs {newest}: restore it into a data folder, "
            "back up that folder, and restore the new backup."
        )

    def store(tx: Tx) -> None:
        tx.run("SET LOCAL idle_in_transaction_session_timeout = 0")  # storing the contents may take long
        for table in archive.manifest.tables:
            if tx.one(f"SELECT 1 AS found FROM {table} LIMIT 1"):
                raise BackupError("The database of AGENTSVC_DATABASE is not empty: choose an empty one.")
        _store_secret(tx, archive.manifest, settings)
        archive.copy_rows(tx, progress)
        _index_texts(tx, database.index)
        _store_files(folder, archive, settings, staging, progress)

    with contextlib.closing(create_database(folder).open()) as database:
        try:
            database.write_now(store)
        except CommitLost:
            raise BackupError(
                "The connection to the database was lost at the end of the restore. `agentsvc doctor` shows "
                "whether the backup was restored."
            ) from None


def _store_secret(tx: Tx, manifest: Manifest, settings: Settings) -> None:
    """Store the secret with which the backup's API keys are hashed. In PostgreSQL, store only a hash of the secret.

    Raises `BackupError` if AGENTSVC_SECRET must be set to that secret, but is not.
    """
    own, shared = manifest.own_secret, settings.secret
    if manifest.secret_hash is not None:
        account_records.set_meta(tx, "secret", manifest.secret_hash)
    if settings.database is not None or manifest.secret_hash is not None:
        if shared is None or own not in (None, shared) or not accounts.check_shared_secret(tx, shared):
            how = " (`agentsvc restore FILE --secret` prints it)" if own else ""
            raise BackupError(
                "AGENTSVC_SECRET must be the secret with which the backup's API keys are hashed. Otherwise no key "
                f"would work. Set it to that secret{how}."
            )
        own = own or shared
    if settings.database is None and own is not None:
        account_records.set_meta(tx, "pepper", own)


_TEXTS: Final = """
    SELECT t.id AS id, t.chat AS chat, t.path AS path, t.text AS text, f.file_name AS file_name, f.name AS name
    FROM file_text AS t JOIN file AS f ON f.chat = t.chat AND f.path = t.path
    WHERE t.id > :after ORDER BY t.id LIMIT :limit
"""


def _index_texts(tx: Tx, index: Index) -> None:
    """Index all texts for search. Backups have no index, because it differs between SQLite and PostgreSQL."""
    after = -(2**63)
    while found := tx.all(_TEXTS, after=after, limit=TEXTS_AT_ONCE):
        for row in found:
            names = [row["file_name"], *([row["name"]] if row["name"] else [])]
            index.index(tx, row["id"], row["chat"], row["path"], names, index_text(row["text"]))
        after = found[-1]["id"]
    index.set_current(tx)


def _store_files(
    folder: DataFolder, archive: CheckedArchive, settings: Settings, staging: Path, progress: Progress
) -> None:
    """Store the contents of files and the MCP servers, which are not in the database."""
    asyncio.run(_store_contents(archive, settings, staging, progress))
    if archive.servers:
        OwnServers(folder).restore(archive.servers)


async def _store_contents(archive: CheckedArchive, settings: Settings, staging: Path, progress: Progress) -> None:
    blobs = create_blobs(settings, staging / "cache")
    async with _mark_bucket(settings.blobs, blobs) if settings.blobs is not None else contextlib.nullcontext():
        pending: list[BlobWriter] = []
        for sha256, content in archive.contents(progress):
            blob = blobs.create()
            shutil.copyfileobj(content, blob)
            if blob.sha256 != sha256:
                raise BackupError("The backup changed during the restore.")
            pending.append(blob)
            if len(pending) == CONTENTS_AT_ONCE:
                await asyncio.gather(*(blob.commit() for blob in pending))
                pending.clear()
        await asyncio.gather(*(blob.commit() for blob in pending))


@contextlib.asynccontextmanager
async def _mark_bucket(address: str, blobs: Blobs) -> AsyncIterator[None]:
    """Mark the bucket as a restore's target during the `with` block.

    Raises `BackupError` if the bucket has contents under the prefix, except those of a failed restore.
    """
    from agentsvc_nb.service.store.s3 import Bucket

    bucket = Bucket(address)
    try:
        await bucket.find(_UNFINISHED)
    except FileNotFoundError:
        if await blobs.names():
            raise BackupError(f"{address} is in use: choose an unused prefix in AGENTSVC_BLOBS.") from None
    await bucket.create(_UNFINISHED, b"agentsvc restore\n")
    yield
    await bucket.delete(_UNFINISHED)
