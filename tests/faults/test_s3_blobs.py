"""Contents in an S3 server that cuts transfers. `tests/nightly/stores` has what happens when all goes well."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Final

import pytest

from agentsvc_nb.service.store import s3 as s3_module
from agentsvc_nb.service.store.s3 import S3Blobs
from tests.faults.proxy import Fault, How, Proxy
from tests.support.s3_server import S3Server

# The proxy leaves sockets of a read that is given up to the garbage collection.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
LARGE: Final = random.Random(5).randbytes(2 * s3_module.PART_BYTES + 7)


@pytest.mark.parametrize(("how", "times"), [("reset", 2), ("stall", 1)])
def test_a_read_goes_on_where_it_was_cut_off(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: How, times: int
) -> None:
    address = s3.address()
    name = asyncio.run(S3Blobs(address, tmp_path / "writer", 100_000_000).store(LARGE)).sha256
    monkeypatch.setattr(s3_module, "REQUEST_SECONDS", 2.0 if how == "stall" else s3_module.REQUEST_SECONDS)
    monkeypatch.setattr(s3_module, "RETRY_SECONDS", 0.1 if how == "stall" else s3_module.RETRY_SECONDS)
    with Proxy(s3.url, [Fault(how, 3_000_000)] * times) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.base_url)
        blobs = S3Blobs(address, tmp_path / "reader", 100_000_000)

        async def read() -> bytes:
            return b"".join([piece async for piece in await blobs.read(name, 5, len(LARGE))])

        assert asyncio.run(read()) == LARGE[5:]
        assert proxy.struck > 0
