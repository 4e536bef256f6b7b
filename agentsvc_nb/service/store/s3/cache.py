"""Local copies of contents that lie elsewhere, for what reads files, and for what reads bytes of those that are here:
least recently used ones go first."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
from collections import Counter, OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Final

from agentsvc_nb.service.logs import fields
from agentsvc_nb.service.ports import BlobsUnavailable
from agentsvc_nb.service.store.blobs import LocalBlobs, SpooledBlob

log = logging.getLogger(__name__)
_ALTERED: Final = "A content in the store (S3) is not what was stored there: its operator brings it back from a backup."

Download = Callable[[str], Awaitable[AsyncGenerator[bytes]]]
"""All bytes of a content, in pieces."""


class LocalCache:
    """Files of at most `max_bytes` in all, but for those in use, which are never removed. For one event loop."""

    def __init__(self, folder: Path, max_bytes: int, download: Download) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._download = download
        self._sizes: OrderedDict[str, int] = OrderedDict()  # the last used one is last
        self._bytes = 0
        self._users: Counter[str] = Counter()
        self._coming: dict[str, asyncio.Task[None]] = {}
        self._files = LocalBlobs(folder)
        self.incoming = self._files.incoming

    def clear(self) -> None:
        """Remove all files: after a crash of the machine, nobody knows whether they are whole."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self.incoming.mkdir(parents=True, exist_ok=True)
        self._sizes.clear()
        self._bytes = 0

    @contextlib.asynccontextmanager
    async def file(self, sha256: str) -> AsyncGenerator[Path]:
        """The content's file, which stays while it is in use; nothing is at its path if the content is missing. Raises
        `BlobsUnavailable`, also for a content with another hash, and `OSError`."""
        self._users[sha256] += 1
        try:
            with contextlib.suppress(FileNotFoundError):
                while sha256 not in self._sizes:
                    await self._downloaded(sha256)
                self._sizes.move_to_end(sha256)
            yield self._files.path(sha256)
        finally:
            self._users[sha256] -= 1
            if not self._users[sha256]:
                del self._users[sha256]
                self._shrink()

    def has(self, sha256: str, size_bytes: int) -> bool:
        """Whether so many bytes of the content can be read from its file. One that somebody cut or removed is
        forgotten."""
        size = self._sizes.get(sha256)
        if size is None or size < size_bytes:
            return False
        with contextlib.suppress(OSError):
            if self._files.path(sha256).stat().st_size == size:
                self._sizes.move_to_end(sha256)
                return True
        self._bytes -= self._sizes.pop(sha256)
        return False

    async def read(self, sha256: str, start: int, end: int) -> AsyncGenerator[bytes]:
        """The bytes from `start` to before `end` of the content's file, or as many of them as there are. Once the first
        piece is there the file is open, and read to its end whoever removes it. Raises `OSError`."""
        return await self._files.read(sha256, start, end)

    def adopt(self, sha256: str, file: Path, size_bytes: int) -> None:
        """Take a file with this content from its folder: what was just written is often read at once."""
        if sha256 in self._sizes or (size_bytes > self._max_bytes and sha256 not in self._users):
            file.unlink(missing_ok=True)
            return
        path = self._files.path(sha256)
        path.parent.mkdir(parents=True, exist_ok=True)
        os.replace(file, path)
        self._sizes[sha256] = size_bytes
        self._bytes += size_bytes
        self._shrink()

    async def _downloaded(self, sha256: str) -> None:
        """Wait for the content's download, which all who wait share; it ends with the last of them."""
        task = self._coming.get(sha256)
        if task is None:
            task = self._coming[sha256] = asyncio.create_task(self._fetch(sha256), name="download of a content")
            task.add_done_callback(lambda done: self._forget(sha256, done))
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if self._users[sha256] == 1:
                self._forget(sha256, task)
                task.cancel()
            raise

    def _forget(self, sha256: str, task: asyncio.Task[None]) -> None:
        if self._coming.get(sha256) is task:
            del self._coming[sha256]

    async def _fetch(self, sha256: str) -> None:
        pieces = await self._download(sha256)
        spool = SpooledBlob(self.incoming)
        try:
            async with contextlib.aclosing(pieces):
                async for piece in pieces:
                    await asyncio.to_thread(spool.write, piece)
            if spool.sha256 != sha256:
                log.error("a content was altered in the store", extra=fields(sha256=sha256))
                raise BlobsUnavailable(_ALTERED, passing=False)
            self.adopt(sha256, spool.close(), spool.size_bytes)
        except BaseException:
            spool.discard()
            raise

    def _shrink(self) -> None:
        """Remove what is not in use, until the rest is within the limit."""
        for sha256 in [one for one in self._sizes if one not in self._users]:
            if self._bytes <= self._max_bytes:
                return
            with contextlib.suppress(OSError):  # on Windows, somebody may still have it open
                self._files.path(sha256).unlink(missing_ok=True)
            self._bytes -= self._sizes.pop(sha256)
