"""Backup of a service's data into one tar file, and restore into a folder: everything is checked, and the database is
put in place last, so that a broken restore leaves no service."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import sqlite3
import tarfile
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Annotated, Any, BinaryIO, Final

from pydantic import Field, TypeAdapter

from agentsvc_nb import __version__
from agentsvc_nb.service.files import file_records
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.mcp.servers import OwnServers
from agentsvc_nb.service.store import sqlite
from agentsvc_nb.service.store.blobs import LocalBlobs, is_intact
from agentsvc_nb.service.store.sqlite import SqliteDatabase
from agentsvc_nb.service.times import rfc3339
from agentsvc_nb.wire.reading import read_json

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
DATABASE: Final = "service.sqlite3"
BLOBS: Final = "blobs/"
SERVERS: Final = "mcp.json"
"""The servers of tools that the user added, without their keys; in no backup where there are none."""
WAIT_SECONDS: Final = 60.0

Count = Annotated[int, Field(ge=0, lt=2**63)]
Progress = Callable[[int, int], None]
"""Called with the bytes done and the bytes in all."""


class BackupError(Exception):
    """A backup can't be made or restored; the message says why."""


@dataclass(frozen=True)
class Manifest:
    """The first member of a backup: what the backup holds. Sizes are in bytes; `missing` counts blobs that the database
    names but the folder lacked, or had with another content; `servers` has the names of the servers of tools."""

    format: Count
    version: str
    created_at: str
    database_sha256: str
    database_bytes: Count
    blobs: Count
    blob_bytes: Count
    missing: Count
    servers: list[str]

    @property
    def total_bytes(self) -> int:
        return self.database_bytes + self.blob_bytes


def back_up(folder: DataFolder, file: Path, progress: Progress, *, contents: bool = True) -> Manifest:
    """Write a backup of the folder to `file`, which appears once it is complete, readable by this user only (0600).
    Without `contents`, which lie elsewhere, it is one of the database.

    Raises `BackupError` when `file` exists, the database can't be read or another backup is being made,
    `SchemaTooNew`, and `OSError`.
    """
    _check_own(folder)
    if file.exists():
        raise BackupError(f"{file} exists already: name another file.")
    with folder.hold_blobs(WAIT_SECONDS) as held:
        if not held:
            raise BackupError(f"Another backup of {folder.path} is being made: wait for it.")
        with tempfile.TemporaryDirectory(dir=file.absolute().parent, prefix=".agentsvc-backup-") as scratch:
            copy, archive = Path(scratch, DATABASE), Path(scratch, "backup.tar")
            named = _copied(folder, copy)
            if not contents:
                named.clear()
            blobs = LocalBlobs(folder.blobs)
            present = {sha256: path for sha256 in sorted(named) if is_intact(path := blobs.path(sha256))}
            servers = OwnServers(folder).without_keys()
            manifest = _manifest(copy, list(present.values()), len(named) - len(present), list(servers))
            with os.fdopen(os.open(archive, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
                _write(target, manifest, copy, present, servers, progress)
                target.flush()
                os.fsync(target.fileno())
            os.replace(archive, file)
    return manifest


def _copied(folder: DataFolder, copy: Path) -> set[str]:
    """Copy the database, check the copy and bring it to this version's schema, which `files.file_records` queries; the
    hashes of the blobs that it names. Raises `BackupError`."""
    try:
        sqlite.copy(folder.database, copy)
        damage = sqlite.damage(copy)
        database = SqliteDatabase(copy).open()
    except sqlite3.DatabaseError as error:
        raise BackupError(f"The database {folder.database} can't be read ({error}).") from None
    try:
        if damage is not None:
            raise BackupError(f"The database {folder.database} is damaged ({damage}); nothing was written.")
        return database.read(file_records.referenced_contents)
    finally:
        database.close()


def _manifest(copy: Path, blobs: list[Path], missing: int, servers: list[str]) -> Manifest:
    with copy.open("rb") as database:
        digest = hashlib.file_digest(database, "sha256").hexdigest()
    sizes = [path.stat().st_size for path in blobs]
    now = rfc3339(time.time_ns() // 1_000_000)
    held = copy.stat().st_size, len(sizes), sum(sizes), missing, servers
    return Manifest(FORMAT, __version__, now, digest, *held)


def _write(
    target: BinaryIO,
    manifest: Manifest,
    copy: Path,
    blobs: dict[str, Path],
    servers: dict[str, Any],
    progress: Progress,
) -> None:
    done = 0
    with tarfile.open(fileobj=target, mode="w") as tar:
        for name, value in ((MANIFEST, asdict(manifest)), (SERVERS, servers)):
            if value:
                text = json.dumps(value, indent=1).encode()
                tar.addfile(_member(name, len(text)), io.BytesIO(text))
        members = [(DATABASE, copy), *((BLOBS + sha256, path) for sha256, path in blobs.items())]
        for name, path in members:
            with path.open("rb") as content:
                size = os.fstat(content.fileno()).st_size
                tar.addfile(_member(name, size), content)
            done += size
            progress(done, manifest.total_bytes)


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = size, 0o600, int(time.time())
    return member


CHUNK_BYTES: Final = 1_048_576
JSON_BYTES: Final = 1_000_000
"""More of a manifest, or of the servers of tools, is not read."""
_STAGING: Final = ".restore-"
_HASH: Final = re.compile(r"[0-9a-f]{64}")


def restore(file: Path, folder: DataFolder, progress: Progress) -> Manifest:
    """Restore the backup `file` into the folder.

    Raises `BackupError` when `file` is no complete backup or the folder has a service already, `FolderHeld`,
    `SchemaTooNew` for a backup of a newer version, and `OSError`. A failed restore leaves no database in the folder.
    """
    try:
        with tarfile.open(file, "r:") as tar:
            manifest = _read_manifest(tar)
            _check_empty(folder)
            folder.make(restoring=True)
            with folder.hold():
                _check_empty(folder)  # again, under the lock: a server may have started meanwhile
                _restore(tar, manifest, folder, progress)
    except (tarfile.TarError, EOFError) as error:
        raise BackupError(f"{file} is no backup, or is not whole ({error}).") from None
    return manifest


def _check_own(folder: DataFolder) -> None:
    """Raises `BackupError` if the folder's database is in PostgreSQL."""
    if folder.address:
        raise BackupError(
            f"The database is in PostgreSQL: back that up and restore it with its own tools (pg_dump, pg_restore), and "
            f"copy {folder.blobs} after that, see docs/operations.md."
        )


def _check_empty(folder: DataFolder) -> None:
    _check_own(folder)
    if folder.has_database():
        raise BackupError(f"There is a service in {folder.path} already: name another folder with --data.")


def _restore(tar: tarfile.TarFile, manifest: Manifest, folder: DataFolder, progress: Progress) -> None:
    for left in folder.path.glob(f"{_STAGING}*"):  # of a restore that was killed
        shutil.rmtree(left)
    with tempfile.TemporaryDirectory(dir=folder.path, prefix=_STAGING) as beside:
        database = Path(beside, DATABASE)
        found, servers = _unpack(tar, manifest, Path(beside), progress)
        _check_database(database, manifest)
        if len(found) != manifest.blobs:
            raise BackupError(f"The backup is not whole: {len(found)} of {manifest.blobs} contents are in it.")
        if list(servers) != manifest.servers:
            raise BackupError("The backup is not whole: the servers of tools are not those that its manifest names.")
        kept = LocalBlobs(folder.blobs)
        for sha256 in found:
            kept.place(Path(beside, sha256), sha256)
        for ending in ("-wal", "-shm"):  # left by a database that was removed: they would corrupt this one
            Path(f"{folder.database}{ending}").unlink(missing_ok=True)
        if servers:
            OwnServers(folder).restore(servers)
        _sync()
        os.replace(database, folder.database)


def _read_manifest(tar: tarfile.TarFile) -> Manifest:
    first = tar.next()
    content = tar.extractfile(first) if first is not None and first.isreg() and first.name == MANIFEST else None
    if content is None:
        raise BackupError("This is no backup of agentsvc: it does not begin with a manifest.")
    try:
        known = read_json(content.read(JSON_BYTES))
        if known["format"] != FORMAT:
            raise BackupError(f"The backup has format {known['format']}, and this version reads {FORMAT}: upgrade.")
        return TypeAdapter(Manifest).validate_python(known)
    except (KeyError, TypeError, ValueError):
        raise BackupError("The backup's manifest can't be read.") from None


def _unpack(
    tar: tarfile.TarFile, manifest: Manifest, beside: Path, progress: Progress
) -> tuple[set[str], dict[str, Any]]:
    """Write the database and the blobs to the folder `beside`; the blobs' hashes, and the servers of tools. Raises
    `BackupError` for any other member and for a blob with a wrong hash."""
    found: set[str] = set()
    servers: dict[str, Any] = {}
    done = 0
    while member := tar.next():
        sha256 = member.name.removeprefix(BLOBS)
        content = tar.extractfile(member) if member.isreg() else None
        if content is not None and member.name == DATABASE:
            _write_member(content, beside / DATABASE)
        elif content is not None and member.name == BLOBS + sha256 and _HASH.fullmatch(sha256):
            if _write_member(content, beside / sha256) != sha256:
                raise BackupError(f"The backup is damaged: the content {sha256} has another hash.")
            found.add(sha256)
        elif content is not None and member.name == SERVERS:
            servers = _servers(content)
            continue
        else:
            raise BackupError(f"The backup holds {member.name!r}, which no backup of agentsvc does.")
        done += member.size
        progress(done, manifest.total_bytes)
    return found, servers


def _servers(content: IO[bytes]) -> dict[str, Any]:
    try:
        return dict(read_json(content.read(JSON_BYTES)))
    except (TypeError, ValueError):
        raise BackupError("The backup is damaged: its servers of tools can't be read.") from None


def _write_member(content: IO[bytes], target: Path) -> str:
    """Write the content to `target`; its SHA-256."""
    digest = hashlib.sha256()
    with target.open("wb") as file:
        while chunk := content.read(CHUNK_BYTES):
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


def _sync() -> None:
    """Flush everything to disk before the database gets its name: one `sync`, rather than thousands of `fsync`."""
    if hasattr(os, "sync"):  # not on Windows
        os.sync()


def _check_database(database: Path, manifest: Manifest) -> None:
    """Check that the database is complete and undamaged, and bring it to this version's schema.

    Raises `BackupError` and `SchemaTooNew`.
    """
    if not database.exists():
        raise BackupError("The backup is not whole: the database is not in it.")
    with database.open("rb") as content:
        if hashlib.file_digest(content, "sha256").hexdigest() != manifest.database_sha256:
            raise BackupError("The backup is damaged: the database has another hash.")
    try:
        damage = sqlite.damage(database)
        SqliteDatabase(database).open().close()
    except sqlite3.DatabaseError as error:
        damage = str(error)
    if damage is not None:
        raise BackupError(f"The backup's database is damaged ({damage}).")
