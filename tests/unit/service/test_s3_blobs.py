"""`S3Blobs` on a real S3 server: what is stored, read, kept in the cache and removed."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from pathlib import Path
from typing import Any, Final

import obstore
import pytest

from agentsvc_nb.service.ports import BlobsUnavailable
from agentsvc_nb.service.store import s3 as s3_module
from agentsvc_nb.service.store.blobs import blob_path
from agentsvc_nb.service.store.s3 import CONTENTS, REMOVED, LocalCache, S3Blobs
from tests.faults.proxy import Fault, Proxy
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


def test_a_missing_content_and_one_that_is_too_short_are_not_found(place: Place) -> None:
    short = place.put(b"short")
    for name, end in ((sha256(b"never stored"), 5), (short, 6)):
        with pytest.raises(FileNotFoundError):
            place.get(name, 0, end)


def test_heads_are_of_what_is_there(place: Place) -> None:
    asked = {place.put(b"words"): 3, place.put(b""): 0, sha256(b"never stored"): 3}
    found = place.run(lambda blobs: blobs.heads(asked))
    assert found == {sha256(b"words"): b"wor", sha256(b""): b""}


def test_the_file_of_a_missing_content_is_a_path_where_nothing_is(place: Place) -> None:
    """As in a folder: its readers then say what they say of a file that is gone."""

    async def there(blobs: S3Blobs) -> bool:
        async with blobs.file(sha256(b"never stored")) as file:
            return file.exists()

    assert not place.run(there)


def test_nothing_that_is_refused_reaches_the_bucket(place: Place) -> None:
    blob = place.blobs.create()
    blob.write(LARGE)
    blob.discard()
    assert place.keys("") == []
    assert not any(place.blobs.incoming.iterdir())


# -- the cache ----------------------------------------------------------------------------------------------------


class Far:
    """Contents that are elsewhere; `asked` counts the downloads, which wait for `go`."""

    def __init__(self, *contents: bytes) -> None:
        self.contents = {sha256(data): data for data in contents}
        self.asked: list[str] = []
        self.go = asyncio.Event()
        self.go.set()

    async def __call__(self, name: str) -> AsyncGenerator[bytes]:
        self.asked.append(name)
        return self._pieces(self.contents[name])

    async def _pieces(self, data: bytes) -> AsyncGenerator[bytes]:
        yield data[:3]
        await self.go.wait()
        yield data[3:]


async def used(cache: LocalCache | S3Blobs, data: bytes) -> bytes:
    async with cache.file(sha256(data)) as file:
        return file.read_bytes()


def test_waiters_share_a_download_and_one_that_goes_does_not_end_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        far = Far(b"one content")
        cache = LocalCache(tmp_path, 1000, far)
        far.go.clear()
        waiters = [asyncio.create_task(used(cache, b"one content")) for _ in range(5)]
        await asyncio.sleep(0.05)
        waiters[0].cancel()
        far.go.set()
        assert await asyncio.gather(*waiters[1:]) == [b"one content"] * 4
        assert await used(cache, b"one content") == b"one content"
        assert len(far.asked) == 1

    asyncio.run(scenario())


def test_a_download_that_nobody_waits_for_ends_and_the_next_begins_anew(tmp_path: Path) -> None:
    async def scenario() -> None:
        far = Far(b"one content")
        cache = LocalCache(tmp_path, 1000, far)
        far.go.clear()
        waiter = asyncio.create_task(used(cache, b"one content"))
        await asyncio.sleep(0.05)
        waiter.cancel()
        far.go.set()
        assert await used(cache, b"one content") == b"one content"
        assert not any(cache.incoming.iterdir())

    asyncio.run(scenario())


def test_the_least_recently_used_go_first_and_none_in_use(tmp_path: Path) -> None:
    held, old, new = (bytes([number]) * 40 for number in range(3))

    def there() -> list[bool]:
        return [blob_path(tmp_path, sha256(data)).exists() for data in (held, old, new)]

    async def scenario() -> None:
        cache = LocalCache(tmp_path, 100, Far(held, old, new))
        async with cache.file(sha256(held)) as file:
            await used(cache, old)
            await used(cache, new)
            assert there() == [True, False, True]
            assert file.read_bytes() == held
        await used(cache, held)
        await used(cache, old)
        assert there() == [True, True, False]

    asyncio.run(scenario())


def test_what_is_larger_than_the_cache_is_there_while_it_is_used(tmp_path: Path) -> None:
    data = bytes(500)

    async def scenario() -> None:
        cache = LocalCache(tmp_path, 100, Far(data))
        assert await used(cache, data) == data
        assert not blob_path(tmp_path, sha256(data)).exists()

    asyncio.run(scenario())


def test_a_content_that_was_just_stored_is_not_downloaded(place: Place) -> None:
    name = place.put(b"a text")
    obstore.delete(place.objects, [CONTENTS + name])
    assert place.run(lambda blobs: used(blobs, b"a text")) == b"a text"


def test_an_altered_content_is_refused_and_not_kept(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    name = sha256(b"right")
    obstore.put(place.objects, CONTENTS + name, b"wrong")
    with pytest.raises(BlobsUnavailable, match="not what was stored"):
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


# -- what nobody names ----------------------------------------------------------------------------------------------


def test_what_nobody_names_is_moved_aside_and_gone_a_day_later(place: Place) -> None:
    named, unnamed = place.put(b"named"), place.put(b"unnamed")
    assert place.collect(named) == 1
    assert place.keys(CONTENTS) == [named]
    assert [key.split("/")[0] for key in place.keys(REMOVED)] == [unnamed]
    assert place.collect(named) == 0
    assert place.keys("") == [CONTENTS + named]


def test_what_is_not_old_stays(place: Place) -> None:
    name = place.put(b"new")

    async def nobody() -> set[str]:
        return set()

    assert place.run(lambda blobs: blobs.collect(time.time_ns() // 1_000_000 - LATER_MS, nobody)) == 0
    assert place.keys(CONTENTS) == [name]


def test_a_content_that_is_too_large_to_be_moved_aside_keeps_no_other_from_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    large, small = place.put(b"larger than S3 copies"), place.put(b"small")
    monkeypatch.setattr(s3_module, "COPY_MAX_BYTES", 10)
    assert place.collect() == 1
    assert place.keys(CONTENTS) == [large]
    assert [key.split("/")[0] for key in place.keys(REMOVED)] == [small]


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


# -- faults ---------------------------------------------------------------------------------------------------------


def through(proxy: Proxy, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.base_url)
    place.blobs = S3Blobs(place.address, place.folder / "other", 100_000_000)


@pytest.mark.parametrize("how", ["cut", "reset"])
def test_a_read_goes_on_where_it_was_cut_off(
    s3: S3Server, place: Place, monkeypatch: pytest.MonkeyPatch, how: Any
) -> None:
    name = place.put(LARGE)
    with Proxy(s3.url, [Fault(how, 3_000_000), Fault(how, 3_000_000)]) as proxy:
        through(proxy, place, monkeypatch)
        assert place.get(name, 5, len(LARGE)) == LARGE[5:]
        assert proxy.struck == 2


def test_a_download_that_stands_still_is_asked_for_again(
    s3: S3Server, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = place.put(LARGE)
    monkeypatch.setattr(s3_module, "REQUEST_SECONDS", 0.4)
    monkeypatch.setattr(s3_module, "RETRY_SECONDS", 0.1)
    with Proxy(s3.url, [Fault("stall", 3_000_000)]) as proxy:
        through(proxy, place, monkeypatch)
        assert place.get(name, 0, len(LARGE)) == LARGE


def test_a_server_that_is_away_is_told_at_each_operation(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setattr(s3_module, "RETRY_SECONDS", 0.2)
    place.blobs = S3Blobs(place.address, place.folder / "cache", 1000)
    for work in operations(place):
        with pytest.raises(BlobsUnavailable, match="can't be reached") as caught:
            work()
        assert caught.value.passing
    assert place.run(lambda blobs: blobs.heads({sha256(b"x"): 1})) == {}
    assert not any(place.blobs.incoming.iterdir())
    assert os.environ["AWS_SECRET_ACCESS_KEY"] not in caplog.text


@pytest.mark.parametrize("wrong", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "bucket"])
def test_keys_and_buckets_that_are_wrong_are_told_in_a_sentence(
    s3: S3Server, place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, wrong: str
) -> None:
    address = "s3://nobodys/contents" if wrong == "bucket" else place.address
    if wrong != "bucket":
        monkeypatch.setenv(wrong, "hidden")
    place.blobs = S3Blobs(address, place.folder / "cache", 1000)
    said = "does not exist" if wrong == "bucket" else "refuses the service"
    for work in (place.blobs.check, *([] if wrong == "bucket" else operations(place))):
        with pytest.raises(BlobsUnavailable, match=said) as caught:
            work()
        assert not caught.value.passing
    assert "hidden" not in caplog.text
    assert not any(place.blobs.incoming.iterdir())


@pytest.mark.parametrize(
    "changed",
    [
        {"AWS_ENDPOINT_URL": "nonsense"},
        {"AWS_ENDPOINT_URL": "http://"},
        {"AWS_ENDPOINT_URL": "http://[::1"},
        {"AWS_ENDPOINT_URL": "http://127.0.0.1:99999"},
        {"AWS_ACCESS_KEY_ID": "hidden\n"},
        {"AWS_REGION": "eu\u2028west"},
        {"AWS_SECRET_ACCESS_KEY": None},
        {"AWS_CONDITIONAL_PUT": "hidden"},
    ],
    ids=str,
)
def test_variables_that_name_no_store_are_told_in_a_sentence(
    place: Place, monkeypatch: pytest.MonkeyPatch, changed: dict[str, str | None]
) -> None:
    for name, value in changed.items():
        monkeypatch.setenv(name, value) if value is not None else monkeypatch.delenv(name)
    with pytest.raises(BlobsUnavailable, match=r"AWS_\* variables") as caught:
        S3Blobs(place.address, place.folder / "cache", 1000).check()
    assert not caught.value.passing
    assert "hidden" not in str(caught.value)


def test_an_endpoint_may_have_a_path(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", os.environ["AWS_ENDPOINT_URL"] + "/storage/v1/s3")
    with pytest.raises(BlobsUnavailable) as caught:
        S3Blobs(place.address, place.folder / "cache", 1000).check()
    assert "AWS_* variables" not in str(caught.value)


def operations(place: Place) -> list[Callable[[], object]]:
    return [
        lambda: place.put(b"small"),
        lambda: place.put(LARGE),
        lambda: place.get(sha256(b"x"), 0, 1),
        lambda: place.run(lambda blobs: used(blobs, b"x")),
        lambda: place.collect(),
    ]
