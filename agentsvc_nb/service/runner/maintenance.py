"""Remove expired data from the data folder, and check the stored data for damage, while the service runs.

The service removes expired uploads, old idempotency keys and unreferenced blobs at its start and every hour. It checks
the database and all blobs slowly, so that it never sends a blob that was altered on the disk. The caller must hold the
data folder's lock.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Final, Protocol

from agentsvc_nb import clock
from agentsvc_nb.service.accounts import idempotency
from agentsvc_nb.service.files import file_records
from agentsvc_nb.service.logs import fields
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.service.store.blobs import LocalBlobs
from agentsvc_nb.service.store.sqlite import DamageSearch
from agentsvc_nb.service.times import utc_day

log = logging.getLogger(__name__)

SWEEP_SECONDS: Final = 3600.0
BATCH: Final = 500
HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
UPLOAD_GRACE_MS: Final = HOUR_MS
"""How long an upload is kept after it expires. A start request that found the upload just before may still read it."""
BLOB_AGE_MS: Final = DAY_MS
"""The age at which an unreferenced blob is removed. A younger blob stays, because its row may not be written yet."""


class Retention:
    """Removes expired data. Each batch is a separate write, so that the service can serve requests between batches.

    Blobs are removed within the context `unless_backed_up()`, which prevents the start of a backup. The context yields
    False if a backup is reading the blobs. Then no blob is removed.
    """

    def __init__(self, storage: Storage, unless_backed_up: Callable[[], AbstractContextManager[bool]]) -> None:
        self._storage = storage
        self._unless_backed_up = unless_backed_up

    async def run_forever(self) -> None:
        """Remove expired data now and every hour, until cancelled."""
        while True:
            try:
                await self.sweep()
            except Exception:  # within the hour, a full disk may have room again, or a locked database may be free
                log.exception("expired data could not be removed; the service tries again in an hour")
            await asyncio.sleep(SWEEP_SECONDS)

    async def sweep(self) -> None:
        """Remove all data that has expired by now."""
        now = self._storage.use_case.now
        expired, yesterday = now - UPLOAD_GRACE_MS, utc_day(now - DAY_MS)
        uploads = await self._delete_all(lambda tx: file_records.expire_uploads(tx, expired, BATCH))
        keys = await self._delete_all(lambda tx: idempotency.forget(tx, yesterday, BATCH))
        await asyncio.to_thread(self._storage.tables.sweep)
        # last, because the blob store may be unavailable for a long time
        blobs = await self._remove_blobs(now - BLOB_AGE_MS)
        if uploads or keys or blobs:
            log.info("removed %d expired uploads, %d old idempotency keys, %d unused blobs", uploads, keys, blobs)

    async def _delete_all(self, delete: Callable[[Tx], int]) -> int:
        """Call `delete` in new transactions until it deletes nothing. Return the total number of deleted rows."""
        total = 0
        while deleted := await self._storage.use_case.write(delete, long=True):
            total += deleted
        return total

    async def _remove_blobs(self, before: int) -> int:
        database = self._storage.use_case.database

        async def named() -> set[str]:
            return await asyncio.to_thread(database.read, file_records.referenced_contents)

        with self._unless_backed_up() as free:
            return await self._storage.blobs.collect(before, named) if free else 0


class DatabaseCheck:
    """Checks the SQLite file for damage: first when the service starts, and then again and again.

    The checks take at most 1 % of the time. `fault` describes the damage found, or is None.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.fault: str | None = None

    async def run_forever(self) -> None:
        """Check repeatedly until cancelled. Stop after damage was found, because damage is permanent."""
        while self.fault is None:
            began = clock.monotonic()
            await self.check()
            await asyncio.sleep(max(CHECK_SECONDS, 100 * (clock.monotonic() - began)))

    async def check(self) -> None:
        """Check the database once. Return soon after a cancellation, so that a stopping service need not wait."""
        search = DamageSearch(self._path)
        try:
            self.fault = await asyncio.to_thread(search.fault)
        except asyncio.CancelledError:
            search.end()
            raise
        if self.fault is not None:
            log.error("the database %s is damaged: %s", self._path, self.fault)


CHECK_SECONDS: Final = 300.0
BYTES_PER_SECOND: Final = 2_000_000
PIECE_BYTES: Final = 256 * 1024
BLOB_SECONDS: Final = 0.01
"""The pause after each blob, so that a check of many small blobs causes little load."""
ROUND_SECONDS: Final = 3600.0
"""The pause between two checks of all blobs."""


class _Digest(Protocol):
    def update(self, data: bytes, /) -> None: ...


class BlobCheck:
    """Compares each blob's content with the hash in its name, and reads at most `BYTES_PER_SECOND`.

    The order is random, so that every blob has its turn even if the service often restarts.
    """

    def __init__(self, blobs: LocalBlobs) -> None:
        self._blobs = blobs

    async def run_forever(self) -> None:
        """Check all blobs again and again, until cancelled."""
        while True:
            try:
                await self.check_all()
            except OSError as error:  # for example, because too many files are open
                log.warning("the blobs could not be checked: %s; the service tries again in an hour", error)
            await asyncio.sleep(ROUND_SECONDS)

    async def check_all(self) -> None:
        names = await asyncio.to_thread(lambda: list(self._blobs.stored_before(clock.now_ms())))
        random.shuffle(names)
        for sha256 in names:
            await self._check(sha256)
            await asyncio.sleep(BLOB_SECONDS)

    async def _check(self, sha256: str) -> None:
        """Check a blob, and rename it if its content does not match its name. Ignore a blob that no longer exists."""
        try:
            with self._blobs.path(sha256).open("rb") as file:
                digest = hashlib.sha256()
                read = PIECE_BYTES
                while read == PIECE_BYTES:
                    read = await asyncio.to_thread(_hash_piece, digest, file)
                    await asyncio.sleep(read / BYTES_PER_SECOND)
                checked = os.fstat(file.fileno())
            altered = digest.hexdigest() != sha256 and self._blobs.put_aside(sha256, checked)
        except FileNotFoundError:
            return
        except OSError as error:
            log.error("a blob can't be read: %s", error, extra=fields(sha256=sha256))
            return
        if altered:
            log.error(
                "a blob was altered on the disk: its file is renamed to *.altered; restore the blob from a backup",
                extra=fields(sha256=sha256),
            )


def _hash_piece(digest: _Digest, file: IO[bytes]) -> int:
    """Read and hash the next piece of the file. Return its size, which is less than `PIECE_BYTES` at the end."""
    piece = file.read(PIECE_BYTES)
    digest.update(piece)
    return len(piece)
