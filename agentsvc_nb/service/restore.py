"""A backup back into a folder: beside first, everything checked, and the database last.

A folder without a database is no service, so that an interrupted restore leaves none, and can be begun again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import shutil
import sqlite3
import tarfile
import tempfile
from pathlib import Path
from typing import IO, Final

from agentsvc_nb.service.backup import BLOBS, DATABASE, FORMAT, MANIFEST, BackupError, Manifest, Progress
from agentsvc_nb.service.engines import snapshot
from agentsvc_nb.service.engines.blobs import LocalBlobs
from agentsvc_nb.service.engines.sqlite import SqliteDatabase
from agentsvc_nb.service.folder import DataFolder

CHUNK_BYTES: Final = 1_048_576
MANIFEST_BYTES: Final = 100_000
_STAGING: Final = ".restore-"
_HASH: Final = re.compile(r"[0-9a-f]{64}")


def restore(file: Path, folder: DataFolder, progress: Progress) -> Manifest:
    """Make the folder the service that `file` is a backup of.

    Raises `BackupError` when `file` is no whole backup or the folder has a service already, `FolderHeld`,
    `SchemaTooNew` for a backup of a newer version, and `OSError`. The folder then has no service.
    """
    try:
        with tarfile.open(file, "r:") as tar:
            manifest = _manifest(tar)
            _check_empty(folder)
            folder.make()
            with folder.hold():
                _check_empty(folder)  # again: a server may have been first
                _restore(tar, manifest, folder, progress)
    except (tarfile.TarError, EOFError) as error:
        raise BackupError(f"{file} is no backup, or is not whole ({error}).") from None
    return manifest


def _check_empty(folder: DataFolder) -> None:
    if folder.database.exists():
        raise BackupError(f"There is a service in {folder.path} already: name another folder with --data.")


def _restore(tar: tarfile.TarFile, manifest: Manifest, folder: DataFolder, progress: Progress) -> None:
    for left in folder.path.glob(f"{_STAGING}*"):  # of a restore that was killed
        shutil.rmtree(left)
    with tempfile.TemporaryDirectory(dir=folder.path, prefix=_STAGING) as beside:
        database = Path(beside, DATABASE)
        found = _unpack(tar, manifest, Path(beside), progress)
        _check_database(database, manifest)
        if len(found) != manifest.blobs:
            raise BackupError(f"The backup is not whole: {len(found)} of {manifest.blobs} contents are in it.")
        kept = LocalBlobs(folder.blobs)
        for sha256 in found:
            kept.place(Path(beside, sha256), sha256)
        for ending in ("-wal", "-shm"):  # of a database that was taken away: not this one's
            Path(f"{folder.database}{ending}").unlink(missing_ok=True)
        _sync()
        os.replace(database, folder.database)


def _manifest(tar: tarfile.TarFile) -> Manifest:
    first = tar.next()
    content = tar.extractfile(first) if first is not None and first.isreg() and first.name == MANIFEST else None
    if content is None:
        raise BackupError("This is no backup of agentsvc: it does not begin with a manifest.")
    try:
        known = json.loads(content.read(MANIFEST_BYTES))
        if known["format"] != FORMAT:
            raise BackupError(f"The backup has format {known['format']}, and this version reads {FORMAT}: upgrade.")
        return Manifest(**{field.name: known[field.name] for field in dataclasses.fields(Manifest)})
    except (KeyError, TypeError, ValueError):
        raise BackupError("The backup's manifest can't be read.") from None


def _unpack(tar: tarfile.TarFile, manifest: Manifest, beside: Path, progress: Progress) -> set[str]:
    """Write what the backup holds, under its two kinds of names only; the hashes of its contents."""
    found: set[str] = set()
    done = 0
    while member := tar.next():
        sha256 = member.name.removeprefix(BLOBS)
        content = tar.extractfile(member) if member.isreg() else None
        if content is not None and member.name == DATABASE:
            _write(content, beside / DATABASE)
        elif content is not None and member.name == BLOBS + sha256 and _HASH.fullmatch(sha256):
            if _write(content, beside / sha256) != sha256:
                raise BackupError(f"The backup is damaged: the content {sha256} has another hash.")
            found.add(sha256)
        else:
            raise BackupError(f"The backup holds {member.name!r}, which no backup of agentsvc does.")
        done += member.size
        progress(done, manifest.total_bytes)
    return found


def _write(content: IO[bytes], target: Path) -> str:
    """The SHA-256 of what was written."""
    digest = hashlib.sha256()
    with target.open("wb") as file:
        while chunk := content.read(CHUNK_BYTES):
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


def _sync() -> None:
    """Everything on disk before the database gets its name: once, for thousands of files."""
    if hasattr(os, "sync"):  # not on Windows
        os.sync()


def _check_database(database: Path, manifest: Manifest) -> None:
    """Whole, undamaged, and of a schema that this version can bring up to date. Raises `SchemaTooNew`."""
    if not database.exists():
        raise BackupError("The backup is not whole: the database is not in it.")
    with database.open("rb") as content:
        if hashlib.file_digest(content, "sha256").hexdigest() != manifest.database_sha256:
            raise BackupError("The backup is damaged: the database has another hash.")
    try:
        damage = snapshot.damage(database)
        SqliteDatabase(database).open().close()
    except sqlite3.DatabaseError as error:
        damage = str(error)
    if damage is not None:
        raise BackupError(f"The backup's database is damaged ({damage}).")
