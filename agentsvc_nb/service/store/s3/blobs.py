"""`ports.Blobs` in a bucket: `contents/SHA256`, and `removed/SHA256/ID` for a day before a content is gone.

No lock spans the processes that share a bucket, so what nobody names is not deleted but moved aside: a process that
found the content there may name it just now. Who misses a content looks there, and puts it back.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

from agentsvc_nb.service.logs import fields
from agentsvc_nb.service.ports import BlobsUnavailable
from agentsvc_nb.service.store.blobs import SpooledBlob
from agentsvc_nb.service.store.s3.bucket import PART_BYTES, Bucket
from agentsvc_nb.service.store.s3.cache import LocalCache

log = logging.getLogger(__name__)
CONTENTS: Final = "contents/"
REMOVED: Final = "removed/"
COPIED_MAX_BYTES: Final = 5_000_000_000
"""What S3 copies at once: a larger content is never moved aside."""


class S3Blobs:
    """The blob store in the bucket `address` (`s3://BUCKET/PREFIX`), with a local cache in `folder`."""

    def __init__(self, address: str, folder: Path, cache_max_bytes: int) -> None:
        self._bucket = Bucket(address)
        self._cache = LocalCache(folder, cache_max_bytes, self._whole)
        self.incoming = self._cache.incoming

    def check(self) -> None:
        """Ask the bucket for something. Raises `BlobsUnavailable`."""
        self._bucket.check()

    def prepare(self) -> None:
        self._cache.clear()

    def create(self) -> NewS3Blob:
        return NewS3Blob(self, self.incoming)

    async def store(self, data: bytes) -> NewS3Blob:
        blob = self.create()
        try:
            await asyncio.to_thread(blob.write, data)
            await blob.stored()
        except BaseException:
            blob.discard()
            raise
        return blob

    def path(self, sha256: str) -> None:
        return None

    def file(self, sha256: str) -> contextlib.AbstractAsyncContextManager[Path]:
        return self._cache.file(sha256)

    async def read(self, sha256: str, start: int, end: int) -> AsyncGenerator[bytes]:
        if self._cache.has(sha256, end):
            return self._from_here(sha256, start, end)
        return await self._from_bucket(sha256, start, end)

    async def _from_here(self, sha256: str, start: int, end: int) -> AsyncGenerator[bytes]:
        """From the cache, and what its file turns out not to have, from the bucket."""
        with contextlib.suppress(OSError):
            async with contextlib.aclosing(await self._cache.read(sha256, start, end)) as pieces:
                async for piece in pieces:
                    start += len(piece)
                    yield piece
        if start < end:
            async with contextlib.aclosing(await self._from_bucket(sha256, start, end)) as rest:
                async for piece in rest:
                    yield piece

    async def _from_bucket(self, sha256: str, start: int, end: int) -> AsyncGenerator[bytes]:
        try:
            return await self._bucket.read(CONTENTS + sha256, start, end)
        except FileNotFoundError:
            if not await self._is_put_back(sha256):
                raise
            return await self._bucket.read(CONTENTS + sha256, start, end)

    async def heads(self, sizes: Mapping[str, int]) -> Mapping[str, bytes]:
        read = await asyncio.gather(*(self._head(*one) for one in sizes.items()))
        return {sha256: head for sha256, head in zip(sizes, read, strict=True) if head is not None}

    async def _head(self, sha256: str, size: int) -> bytes | None:
        with contextlib.suppress(FileNotFoundError, BlobsUnavailable):
            return b"".join([piece async for piece in await self.read(sha256, 0, size)])
        return None

    async def place(self, file: Path, sha256: str, size_bytes: int) -> None:
        """Store a file, whose content has this hash, unless it is there already, and keep it in the cache."""
        key = CONTENTS + sha256
        if size_bytes <= PART_BYTES:
            await self._bucket.create(key, await asyncio.to_thread(file.read_bytes))
        elif not await self._has(key, size_bytes):
            await self._bucket.upload(key, file)
        self._cache.adopt(sha256, file, size_bytes)

    async def names(self) -> set[str]:
        kept = {one.key.removeprefix(CONTENTS) async for one in self._bucket.list(CONTENTS)}
        return kept | {one.key.split("/")[1] async for one in self._bucket.list(REMOVED)}

    async def collect(self, before: int, named: Callable[[], Awaitable[set[str]]]) -> int:
        listed = [one async for one in self._bucket.list(CONTENTS) if one.stored_at < before]
        old = [one.key for one in listed if one.size_bytes <= COPIED_MAX_BYTES]
        aside = [one.key async for one in self._bucket.list(REMOVED) if one.stored_at < before]
        if not old and not aside:
            return 0
        kept = await named()
        for key in aside:
            await self._end(key, key.split("/")[1] in kept)
        removed = [key for key in old if key.removeprefix(CONTENTS) not in kept]
        for key in removed:
            await self._move_aside(key.removeprefix(CONTENTS))
        return len(removed)

    async def _move_aside(self, sha256: str) -> None:
        with contextlib.suppress(FileNotFoundError):  # another process was faster
            await self._bucket.copy(CONTENTS + sha256, f"{REMOVED}{sha256}/{uuid.uuid4().hex}")
            await self._bucket.delete(CONTENTS + sha256)

    async def _end(self, key: str, named: bool) -> None:
        """Delete what was moved aside a day ago. If a row has come to name it, it is put back before."""
        sha256 = key.split("/")[1]
        if named and not await self._has(CONTENTS + sha256):
            await self._bucket.copy(key, CONTENTS + sha256)
        await self._bucket.delete(key)

    async def _is_put_back(self, sha256: str) -> bool:
        """Whether a missing content was found among the removed ones."""
        async for found in self._bucket.list(f"{REMOVED}{sha256}/"):
            await self._bucket.copy(found.key, CONTENTS + sha256)
            log.info("a content that was being removed is named again: it is put back", extra=fields(sha256=sha256))
            return True
        return False

    async def _has(self, key: str, size_bytes: int | None = None) -> bool:
        """Whether there is such an object, of that size."""
        try:
            found = await self._bucket.find(key)
        except FileNotFoundError:
            return False
        return size_bytes in (None, found.size_bytes)

    async def _whole(self, sha256: str) -> AsyncGenerator[bytes]:
        try:
            found = await self._bucket.find(CONTENTS + sha256)
        except FileNotFoundError:
            if not await self._is_put_back(sha256):
                raise
            found = await self._bucket.find(CONTENTS + sha256)
        return await self._bucket.read(found.key, 0, found.size_bytes)


class NewS3Blob(SpooledBlob):
    """`ports.NewBlob` of `S3Blobs`. Its key is its hash, so it is sent once it was received: a local file is read
    faster than a bucket copies an object to another key."""

    def __init__(self, blobs: S3Blobs, folder: Path) -> None:
        super().__init__(folder)
        self._blobs = blobs

    async def stored(self) -> None:
        await self._blobs.place(await asyncio.to_thread(self.close), self.sha256, self.size_bytes)
