"""The cache of contents that are elsewhere, without a server: one download for all, and the least used goes first."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from agentsvc_nb.service.store.blobs import blob_path
from agentsvc_nb.service.store.s3 import LocalCache


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Far:
    """Contents that are elsewhere. `asked` has the downloads; each begins and then waits for `go`."""

    def __init__(self, *contents: bytes) -> None:
        self.contents = {sha256(data): data for data in contents}
        self.asked: list[str] = []
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    async def __call__(self, name: str) -> AsyncGenerator[bytes]:
        self.asked.append(name)
        return self._pieces(self.contents[name])

    async def _pieces(self, data: bytes) -> AsyncGenerator[bytes]:
        self.begun.set()
        yield data[:3]
        await self.go.wait()
        yield data[3:]


async def used(cache: LocalCache, data: bytes) -> bytes:
    async with cache.file(sha256(data)) as file:
        return file.read_bytes()


@pytest.mark.parametrize(("waiters", "downloads"), [(3, 1), (1, 2)])
def test_waiters_share_a_download_that_ends_with_the_last_of_them(tmp_path: Path, waiters: int, downloads: int) -> None:
    async def scenario() -> None:
        far = Far(b"one content")
        cache = LocalCache(tmp_path, 1000, far)
        first, *others = [asyncio.create_task(used(cache, b"one content")) for _ in range(waiters)]
        await far.begun.wait()
        first.cancel()
        await asyncio.wait([first])
        far.go.set()
        assert await asyncio.gather(*others) == [b"one content"] * (waiters - 1)
        assert await used(cache, b"one content") == b"one content"
        assert len(far.asked) == downloads
        assert not any(cache.incoming.iterdir())

    asyncio.run(scenario())


def test_the_least_recently_used_go_first_and_none_in_use(tmp_path: Path) -> None:
    held, old, new, large = (bytes([number]) * size for number, size in enumerate((40, 40, 40, 500)))

    def there() -> list[bool]:
        return [blob_path(tmp_path, sha256(data)).exists() for data in (held, old, new, large)]

    async def scenario() -> None:
        far = Far(held, old, new, large)
        far.go.set()
        cache = LocalCache(tmp_path, 100, far)
        async with cache.file(sha256(held)) as file:
            await used(cache, old)
            await used(cache, new)
            assert there() == [True, False, True, False]
            assert file.read_bytes() == held
        await used(cache, held)
        await used(cache, old)
        assert there() == [True, True, False, False]
        assert await used(cache, large) == large
        assert not there()[3]

    asyncio.run(scenario())
