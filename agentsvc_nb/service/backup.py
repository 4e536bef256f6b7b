"""A service's data in one tar file: a manifest, the database, and every content that it names.

Made while the service runs: the database as it is at one moment, then its contents, which the clean-up may not remove
meanwhile. Never in it: the embedded account's key, the lock and what says where a server listens.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sqlite3
import tarfile
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO, Final

from agentsvc_nb import __version__
from agentsvc_nb.service.engines import snapshot
from agentsvc_nb.service.engines.blobs import LocalBlobs
from agentsvc_nb.service.engines.sqlite import SqliteDatabase
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.records import leftovers
from agentsvc_nb.wire.times import rfc3339

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
DATABASE: Final = "service.sqlite3"
BLOBS: Final = "blobs/"
WAIT_SECONDS: Final = 60.0

Progress = Callable[[int, int], None]
"""Called with the bytes done and the bytes in all."""


class BackupError(Exception):
    """There is no backup, or it can't be restored; the message says why."""


@dataclass(frozen=True)
class Manifest:
    """What a backup holds, as its first member says; sizes in bytes, `database_sha256` of the database file."""

    format: int
    version: str
    created_at: str
    database_sha256: str
    database_bytes: int
    blobs: int
    blob_bytes: int
    missing: int

    @property
    def total_bytes(self) -> int:
        return self.database_bytes + self.blob_bytes


def back_up(folder: DataFolder, file: Path, progress: Progress) -> Manifest:
    """Write a backup of the folder to `file`, which appears when it is whole, for this user alone (0600).

    Raises `BackupError` when `file` exists, the database can't be read or another backup is being made,
    `SchemaTooNew`, and `OSError`.
    """
    if file.exists():
        raise BackupError(f"{file} exists already: name another file.")
    with folder.hold_blobs(WAIT_SECONDS) as held:
        if not held:
            raise BackupError(f"Another backup of {folder.path} is being made: wait for it.")
        with tempfile.TemporaryDirectory(dir=file.absolute().parent, prefix=".agentsvc-backup-") as scratch:
            copy, archive = Path(scratch, DATABASE), Path(scratch, "backup.tar")
            named = _copied(folder, copy)
            blobs = LocalBlobs(folder.blobs)
            present = {sha256: path for sha256 in sorted(named) if (path := blobs.path(sha256)).is_file()}
            manifest = _manifest(copy, list(present.values()), missing=len(named) - len(present))
            with os.fdopen(os.open(archive, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
                _write(target, manifest, copy, present, progress)
                target.flush()
                os.fsync(target.fileno())
            os.replace(archive, file)
    return manifest


def _copied(folder: DataFolder, copy: Path) -> set[str]:
    """Copy the database; the hashes that it names. The copy gets this version's schema, which `leftovers` knows."""
    try:
        snapshot.copy(folder.database, copy)
        damage = snapshot.damage(copy)
        database = SqliteDatabase(copy).open()
    except sqlite3.DatabaseError as error:
        raise BackupError(f"The database {folder.database} can't be read ({error}).") from None
    try:
        if damage is not None:
            raise BackupError(f"The database {folder.database} is damaged ({damage}); nothing was written.")
        return database.read(leftovers.contents)
    finally:
        database.close()


def _manifest(copy: Path, blobs: list[Path], missing: int) -> Manifest:
    with copy.open("rb") as database:
        digest = hashlib.file_digest(database, "sha256").hexdigest()
    sizes = [path.stat().st_size for path in blobs]
    now = rfc3339(time.time_ns() // 1_000_000)
    return Manifest(FORMAT, __version__, now, digest, copy.stat().st_size, len(sizes), sum(sizes), missing)


def _write(target: BinaryIO, manifest: Manifest, copy: Path, blobs: dict[str, Path], progress: Progress) -> None:
    done = 0
    with tarfile.open(fileobj=target, mode="w") as tar:
        text = json.dumps(asdict(manifest), indent=1).encode()
        tar.addfile(_member(MANIFEST, len(text)), io.BytesIO(text))
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
