"""`S3Blobs` on a real S3 server: what is stored, read, kept in the cache and removed."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

import obstore
import pytest

from agentsvc_nb.service.ports import BlobsUnavailable
from agentsvc_nb.service.store import s3 as s3_module
from agentsvc_nb.service.store.blobs import blob_path
from agentsvc_nb.service.store.s3 import CONTENTS, REMOVED, S3Blobs
from tests.support.s3_server import S3Server

LARGE: Final = random.Random(5).randbytes(2 * s3_module.PART_BYTES + 7)
LATER_MS: Final = 3_600_000


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Place:
    """A prefix of the server's bucket, with the store of a service in it."""

    def __init__(self, s3: S3Server, folder: Path, cache_bytes: int = 100_000_000) -> None:
        self.address = s3.address()
        self.objects = s3.store(self.address)
        self.folder = folder
        self.blobs = S3Blobs(self.address, folder / "cache", cache_bytes)

    def keys(self, prefix: str) -> list[str]:
        return [one["path"].removeprefix(prefix) for one in obstore.list(self.objects, prefix=prefix).collect()]

    def run(self, work: Callable[[S3Blobs], Coroutine[Any, Any, Any]]) -> Any:
        return asyncio.run(work(self.blobs))

    def put(self, data: bytes) -> str:
        self.run(lambda blobs: blobs.store(data))
        return sha256(data)

    def get(self, name: str, start: int, end: int) -> bytes:
        async def read(blobs: S3Blobs) -> bytes:
            return b"".join([piece async for piece in await blobs.read(name, start, end)])

        found: bytes = self.run(read)
        return found

    def collect(self, *named: str) -> int:
        """Remove what is not named, as if all of it were old."""

        async def kept() -> set[str]:
            return set(named)

        removed: int = self.run(lambda blobs: blobs.collect(time.time_ns() // 1_000_000 + LATER_MS, kept))
        return removed


@pytest.fixture
def place(s3: S3Server, tmp_path: Path) -> Place:
    return Place(s3, tmp_path)


@pytest.mark.parametrize("data", [b"", b"small", LARGE], ids=["empty", "small", "in parts"])
def test_a_content_is_stored_once_and_read_in_ranges(place: Place, data: bytes) -> None:
    name, size = place.put(data), len(data)
    first = obstore.head(place.objects, CONTENTS + name)
    assert place.get(name, 0, size) == data
    for start, end in ((0, size // 2), (size // 2, size), (size, size)):
        assert place.get(name, start, end) == data[start:end]
    assert place.put(data) == name
    assert obstore.head(place.objects, CONTENTS + name) == first
    assert place.keys("") == [CONTENTS + name]
    assert not any(place.blobs.incoming.iterdir())


async def used(blobs: S3Blobs, data: bytes) -> bytes:
    async with blobs.file(sha256(data)) as file:
        return file.read_bytes()


def test_an_altered_content_is_refused_and_not_kept(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    name = sha256(b"right")
    obstore.put(place.objects, CONTENTS + name, b"wrong")
    with pytest.raises(BlobsUnavailable, match="does not match its hash"):
        place.run(lambda blobs: used(blobs, b"right"))
    assert not any(path.is_file() for path in (place.folder / "cache").rglob("*"))
    assert "altered" in caplog.text


def test_what_is_in_the_cache_is_read_there(place: Place) -> None:
    """It does not need the bucket, whatever range is asked for; more than it has is asked for there."""
    name = place.put(LARGE)
    obstore.delete(place.objects, [CONTENTS + name])
    for start, end in ((0, len(LARGE)), (7, len(LARGE) - 7), (5, 5)):
        assert place.get(name, start, end) == LARGE[start:end]
    with pytest.raises(FileNotFoundError):
        place.get(name, 0, len(LARGE) + 1)


@pytest.mark.parametrize("left", [None, 3_000_000], ids=["removed", "cut"])
@pytest.mark.parametrize("when", ["before", "after the beginning"])
def test_a_copy_that_is_cut_or_removed_is_read_on_in_the_bucket(place: Place, when: str, left: int | None) -> None:
    name = place.put(LARGE)
    copy = blob_path(place.folder / "cache", name)

    def lessen() -> None:
        if left is None:
            copy.unlink()
        else:
            os.truncate(copy, left)

    async def read(blobs: S3Blobs) -> bytes:
        if when == "before":
            lessen()
        pieces = await blobs.read(name, 10, len(LARGE))
        found = await anext(pieces)
        if when != "before":
            lessen()
        return found + b"".join([piece async for piece in pieces])

    assert place.run(read) == LARGE[10:]
    assert place.get(name, 10, len(LARGE)) == LARGE[10:]


def test_a_copy_that_makes_room_is_read_to_its_end(s3: S3Server, tmp_path: Path) -> None:
    place = Place(s3, tmp_path, cache_bytes=len(LARGE) + 10)
    name = place.put(LARGE)
    obstore.delete(place.objects, [CONTENTS + name])

    async def read(blobs: S3Blobs) -> bytes:
        pieces = await blobs.read(name, 0, len(LARGE))
        found = await anext(pieces)
        await blobs.store(bytes(100))
        assert not blob_path(tmp_path / "cache", name).exists()
        return found + b"".join([piece async for piece in pieces])

    assert place.run(read) == LARGE
    with pytest.raises(FileNotFoundError):
        place.get(name, 0, len(LARGE))


def test_what_nobody_names_is_moved_aside_and_gone_a_day_later(place: Place) -> None:
    named, unnamed = place.put(b"named"), place.put(b"unnamed")
    assert place.collect(named) == 1
    assert place.keys(CONTENTS) == [named]
    assert [key.split("/")[0] for key in place.keys(REMOVED)] == [unnamed]
    assert place.collect(named) == 0
    assert place.keys("") == [CONTENTS + named]


@pytest.mark.parametrize("found_by", ["a read", "a file", "the sweep", "storing"])
def test_what_is_named_while_it_is_removed_is_put_back(s3: S3Server, tmp_path: Path, found_by: str) -> None:
    """One process finds a content stored and names it; another listed the names just before."""
    place = Place(s3, tmp_path, cache_bytes=0)
    name = place.put(b"words")
    assert place.collect() == 1
    match found_by:
        case "a read":
            assert place.get(name, 0, 5) == b"words"
        case "a file":
            assert place.run(lambda blobs: used(blobs, b"words")) == b"words"
        case "the sweep":
            assert place.collect(name) == 0
        case "storing":
            place.put(b"words")
    assert place.keys(CONTENTS) == [name]
    place.collect(name)
    assert place.keys("") == [CONTENTS + name]
