"""The contents of a folder's files in a bucket: each is sent unless it is there, read back and hashed."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agentsvc_nb.service.store.blobs import LocalBlobs, is_intact
from agentsvc_nb.service.store.s3 import CONTENTS, PART_BYTES, Bucket

AT_ONCE: Final = 4


class ContentDiffers(Exception):
    """An object is not the content of its name; the message says which."""


@dataclass
class Copied:
    """How many contents are in the bucket, their bytes, and those that are nowhere: lost in the folder or altered."""

    contents: int = 0
    size_bytes: int = 0
    missing: list[str] = field(default_factory=list)


async def has_any(bucket: Bucket) -> bool:
    """Whether the bucket holds contents below its prefix."""
    async for _ in bucket.list(CONTENTS):
        return True
    return False


async def copy(
    source: LocalBlobs, bucket: Bucket, names: Iterable[str], progress: Callable[[int, int], None]
) -> Copied:
    """Bring the contents of these names into the bucket. Raises `ContentDiffers` and `BlobsUnavailable`."""
    waiting = sorted(names)
    sizes = {sha256: path.stat().st_size for sha256 in waiting if (path := source.path(sha256)).exists()}
    copied, done, total = Copied(), 0, sum(sizes.values())

    async def work() -> None:
        nonlocal done
        while waiting:
            sha256 = waiting.pop()
            if (size := await _stored(bucket, sha256, source.path(sha256))) is None:
                copied.missing.append(sha256)
            else:
                copied.contents, copied.size_bytes = copied.contents + 1, copied.size_bytes + size
            done += sizes.get(sha256, 0)
            progress(done, total)

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return copied


async def _stored(bucket: Bucket, sha256: str, file: Path) -> int | None:
    """Store a content and compare it; its size, or None if it is nowhere."""
    key = CONTENTS + sha256
    size = await _size(bucket, key)
    here = await asyncio.to_thread(_intact_size, file)
    if here is not None and size != here:
        size = here
        if size <= PART_BYTES:
            await bucket.create(key, await asyncio.to_thread(file.read_bytes))
        else:
            await bucket.upload(key, file)
    if size is None:
        return None
    digest = hashlib.sha256()
    try:
        async for piece in await bucket.read(key, 0, size):
            await asyncio.to_thread(digest.update, piece)
    except FileNotFoundError:  # it is shorter
        digest.update(b"\0")
    if digest.hexdigest() != sha256:
        raise ContentDiffers(
            f"{key} is in the bucket with another content: remove that object, then do the same again."
        )
    return size


def _intact_size(file: Path) -> int | None:
    return file.stat().st_size if is_intact(file) else None


async def _size(bucket: Bucket, key: str) -> int | None:
    try:
        return (await bucket.find(key)).size_bytes
    except FileNotFoundError:
        return None
