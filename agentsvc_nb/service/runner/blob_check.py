"""The slow check of all blobs: each content is hashed now and then, and one that was altered is put aside, so that
nobody is served it (docs/decisions/0038)."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import random
import time
from typing import IO, Final, Protocol

from agentsvc_nb.service.logs import fields
from agentsvc_nb.service.store.blobs import LocalBlobs

log = logging.getLogger(__name__)

BYTES_PER_SECOND: Final = 2_000_000
PIECE_BYTES: Final = 256 * 1024
BLOB_SECONDS: Final = 0.01
"""Pause after each blob, so that many small ones are no load either."""
ROUND_SECONDS: Final = 3600.0
"""Pause between two rounds."""


class _Digest(Protocol):
    def update(self, data: bytes, /) -> None: ...


class BlobCheck:
    """Compares all blobs with their names, at `bytes_per_second`.

    In random order: a service that is often stopped early gets to each of them some day.
    """

    def __init__(self, blobs: LocalBlobs, bytes_per_second: float = BYTES_PER_SECOND) -> None:
        self._blobs = blobs
        self._rate = bytes_per_second

    async def keep_on(self) -> None:
        """Check all blobs, again and again, until cancelled."""
        while True:
            try:
                await self.check_all()
            except OSError as error:  # such as too many open files
                log.warning("the contents could not be checked: %s; trying again in an hour", error)
            await asyncio.sleep(ROUND_SECONDS)

    async def check_all(self) -> None:
        names = await asyncio.to_thread(lambda: list(self._blobs.stored_before(time.time_ns() // 1_000_000)))
        random.shuffle(names)
        for sha256 in names:
            await self._check(sha256)
            await asyncio.sleep(BLOB_SECONDS)

    async def _check(self, sha256: str) -> None:
        """Put the blob aside if its content is not that of its name; do nothing if it is gone."""
        try:
            with self._blobs.path(sha256).open("rb") as file:
                digest = hashlib.sha256()
                read = PIECE_BYTES
                while read == PIECE_BYTES:
                    read = await asyncio.to_thread(_feed, digest, file)
                    await asyncio.sleep(read / self._rate)
                checked = os.fstat(file.fileno())
            altered = digest.hexdigest() != sha256 and self._blobs.put_aside(sha256, checked)
        except FileNotFoundError:
            return
        except OSError as error:
            log.error("a content can't be read: %s", error, extra=fields(sha256=sha256))
            return
        if altered:
            log.error("a content was altered on the disk: it is put aside", extra=fields(sha256=sha256))


def _feed(digest: _Digest, file: IO[bytes]) -> int:
    """Hash the next piece of the file; its size, less than `PIECE_BYTES` at the end."""
    piece = file.read(PIECE_BYTES)
    digest.update(piece)
    return len(piece)
