"""Garbage collection at start and every hour: expired uploads, old idempotency keys, unreferenced blobs.

Only under the data folder's lock. Each batch is a write of its own, so that requests come in between.
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
"""A start that found an upload just before it expired may still be reading it."""
BLOB_AGE_MS: Final = DAY_MS
"""A content is stored before the row that names it: a new one without a row is on its way to having one."""


class Retention:
    """`unless_backed_up()` holds the blobs for removal, and yields False while a backup is reading them."""

    def __init__(self, storage: Storage, unless_backed_up: Callable[[], AbstractContextManager[bool]]) -> None:
        self._storage = storage
        self._unless_backed_up = unless_backed_up

    async def keep_on(self) -> None:
        """Sweep now and every hour, until cancelled."""
        while True:
            try:
                await self.sweep()
            except Exception:  # a full disk, a locked database: in an hour it may be better
                log.exception("garbage could not be removed; trying again in an hour")
            await asyncio.sleep(EVERY_SECONDS)

    async def sweep(self) -> None:
        """Remove all garbage there is now."""
        now = self._storage.use_case.now
        expired, yesterday = now - UPLOAD_GRACE_MS, utc_day(now - DAY_MS)
        uploads = await self._all(lambda tx: files.expire_uploads(tx, expired, BATCH))
        keys = await self._all(lambda tx: idempotency.forget(tx, yesterday, BATCH))
        blobs = await asyncio.to_thread(self._remove_blobs, now - BLOB_AGE_MS)
        if uploads or keys or blobs:
            log.info("removed %d expired uploads, %d old keys of starts, %d unused contents", uploads, keys, blobs)

    async def _all(self, delete: Callable[[Tx], int]) -> int:
        total = 0
        while deleted := await self._storage.use_case.write(delete, long=True):
            total += deleted
        return total

    def _remove_blobs(self, before: int) -> int:
        with self._unless_backed_up() as free:
            if not free:
                return 0
            # Old ones first, then what is named: a row that comes in between names a content stored just now.
            old = list(self._storage.blobs.stored_before(before))
            named = self._storage.use_case.database.read(files.referenced_contents) if old else set()
            return sum(self._storage.blobs.remove(sha256, before) for sha256 in old if sha256 not in named)
