"""Contents in an S3 server that is away, cuts transfers or refuses the service: what an operator is told, and what is
read all the same. `tests/nightly/stores` has what is stored and removed when all goes well."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from agentsvc_nb.service.ports import BlobsUnavailable
from agentsvc_nb.service.store import s3 as s3_module
from agentsvc_nb.service.store.s3 import S3Blobs
from tests.faults.proxy import Fault, Proxy
from tests.support.s3_server import S3Server

LARGE: Final = random.Random(5).randbytes(2 * s3_module.PART_BYTES + 7)
NEVER: Final = "0" * 64


class Place:
    """A prefix of the server's bucket, and the store of a service in it."""

    def __init__(self, s3: S3Server, folder: Path) -> None:
        self.address, self.folder = s3.address(), folder
        self.connect()

    def connect(self, address: str = "") -> None:
        """Use the environment as it is now, and another cache."""
        self.cache = self.folder / f"cache{len(list(self.folder.iterdir()))}"
        self.blobs = S3Blobs(address or self.address, self.cache, 100_000_000)

    def put(self, data: bytes) -> str:
        return asyncio.run(self.blobs.store(data)).sha256

    def get(self, name: str, start: int, end: int) -> bytes:
        async def read() -> bytes:
            return b"".join([piece async for piece in await self.blobs.read(name, start, end)])

        return asyncio.run(read())

    def operations(self) -> list[Callable[[], object]]:
        async def file() -> None:
            async with self.blobs.file(NEVER):
                pass

        return [
            lambda: self.put(b"small"),
            lambda: self.put(LARGE),
            lambda: self.get(NEVER, 0, 1),
            lambda: asyncio.run(file()),
        ]


@pytest.fixture
def place(s3: S3Server, tmp_path: Path) -> Place:
    return Place(s3, tmp_path)


@pytest.mark.parametrize("how", ["cut", "reset", "stall"])
def test_a_read_goes_on_where_it_was_cut_off(
    s3: S3Server, place: Place, monkeypatch: pytest.MonkeyPatch, how: Any
) -> None:
    name = place.put(LARGE)
    if how == "stall":
        monkeypatch.setattr(s3_module, "REQUEST_SECONDS", 0.4)
        monkeypatch.setattr(s3_module, "RETRY_SECONDS", 0.1)
    with Proxy(s3.url, [Fault(how, 3_000_000)] * (1 if how == "stall" else 2)) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.base_url)
        place.connect()
        assert place.get(name, 5, len(LARGE)) == LARGE[5:]
        assert proxy.struck > 0


def test_a_server_that_is_away_is_told_at_each_operation(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setattr(s3_module, "RETRY_SECONDS", 0.2)
    place.connect()
    for work in place.operations():
        with pytest.raises(BlobsUnavailable, match="can't be reached") as caught:
            work()
        assert caught.value.passing
    assert not any(place.blobs.incoming.iterdir())
    assert os.environ["AWS_SECRET_ACCESS_KEY"] not in caplog.text


@pytest.mark.parametrize("wrong", ["AWS_SECRET_ACCESS_KEY", "bucket"])
def test_keys_and_buckets_that_are_wrong_are_told_and_not_shown(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, wrong: str
) -> None:
    if wrong == "bucket":
        place.connect("s3://nobodys/contents")
        said = "does not exist"
    else:
        monkeypatch.setenv(wrong, "hidden")
        place.connect()
        said = "refuses the service"
    for work in (place.blobs.check, *([] if wrong == "bucket" else place.operations())):
        with pytest.raises(BlobsUnavailable, match=said) as caught:
            work()
        assert not caught.value.passing
    assert "hidden" not in caplog.text
    assert not any(place.blobs.incoming.iterdir())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:99999"),
        ("AWS_ACCESS_KEY_ID", "hidden\n"),
        ("AWS_SECRET_ACCESS_KEY", None),
        ("AWS_CONDITIONAL_PUT", "hidden"),
    ],
)
def test_variables_that_name_no_store_are_told_and_not_shown(
    place: Place, monkeypatch: pytest.MonkeyPatch, name: str, value: str | None
) -> None:
    monkeypatch.setenv(name, value) if value is not None else monkeypatch.delenv(name)
    with pytest.raises(BlobsUnavailable, match=r"AWS_\* variables") as caught:
        S3Blobs(place.address, place.folder / "cache", 1000).check()
    assert not caught.value.passing
    assert "hidden" not in str(caught.value)
