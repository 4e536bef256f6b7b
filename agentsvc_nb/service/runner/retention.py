"""Garbage collection at start and every hour: expired uploads, old idempotency keys, unreferenced blobs.

Requires the data folder's lock. Each batch is a write of its own, so that requests are answered in between.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.records import files, idempotency
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.wire.times import utc_day

log = logging.getLogger(__name__)

EVERY_SECONDS: Final = 3600.0
BATCH: Final = 500
HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
UPLOAD_GRACE_MS: Final = HOUR_MS
"""How long an expired upload is kept: a start that found it just before it expired may still be reading it."""
BLOB_AGE_MS: Final = DAY_MS
"""The age at which an unreferenced blob is garbage: a blob is stored before the row that names it, so a new one may
still get its row."""


class Retention:
    """Garbage collection. `unless_backed_up()` locks the blobs for removal; False while a backup reads them."""

    def __init__(self, storage: Storage, unless_backed_up: Callable[[], AbstractContextManager[bool]]) -> None:
        self._storage = storage
        self._unless_backed_up = unless_backed_up

    async def keep_on(self) -> None:
        """Sweep now and every hour, until cancelled."""
        while True:
            try:
                await self.sweep()
            except Exception:  # a full disk or a locked database may pass within the hour
                log.exception("garbage could not be removed; trying again in an hour")
            await asyncio.sleep(EVERY_SECONDS)

    async def sweep(self) -> None:
        """Remove all present garbage."""
        now = self._storage.use_case.now
        expired, yesterday = now - UPLOAD_GRACE_MS, utc_day(now - DAY_MS)
        uploads = await self._all(lambda tx: files.expire_uploads(tx, expired, BATCH))
        keys = await self._all(lambda tx: idempotency.forget(tx, yesterday, BATCH))
        blobs = await asyncio.to_thread(self._remove_blobs, now - BLOB_AGE_MS)
        await asyncio.to_thread(self._storage.tables.sweep)
        if uploads or keys or blobs:
            log.info("removed %d expired uploads, %d old keys of starts, %d unused contents", uploads, keys, blobs)

    async def _all(self, delete: Callable[[Tx], int]) -> int:
        """Repeat `delete`, each time in a transaction of its own, until it deletes nothing; the number deleted."""
        total = 0
        while deleted := await self._storage.use_case.write(delete, long=True):
            total += deleted
        return total

    def _remove_blobs(self, before: int) -> int:
        with self._unless_backed_up() as free:
            if not free:
                return 0
            # List old blobs before reading references: a row written in between names a blob stored after `before`,
            # and `remove` spares that.
            old = list(self._storage.blobs.stored_before(before))
            named = self._storage.use_case.database.read(files.referenced_contents) if old else set()
            return sum(self._storage.blobs.remove(sha256, before) for sha256 in old if sha256 not in named)
