"""Downloads and uploads of the client, from a real service over a network that breaks."""

from __future__ import annotations

import hashlib
import itertools
import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.limits import MIB
from tests.service.api.conftest import Wire

CONTENT = random.Random(4).randbytes(5 * MIB + 7)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
BIG = "uploads/big.bin"


class Cuts(httpx.HTTPTransport):
    """Cuts the answers of downloads after as many bytes as it is told, one after the other."""

    def __init__(self, *after: int) -> None:
        super().__init__()
        self.after, self.ranges = list(after), list[str | None]()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        if request.url.path.endswith("/download"):
            self.ranges.append(request.headers.get("range"))
            if self.after:
                response.stream = Cut(response.stream, self.after.pop(0))
        return response


class Cut(httpx.SyncByteStream):
    def __init__(self, stream: Any, after: int) -> None:
        self.stream, self.left = stream, after

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self.stream:
            yield chunk[: self.left]
            self.left -= len(chunk[: self.left])
            if not self.left:
                raise httpx.ReadError("reset")

    def close(self) -> None:
        self.stream.close()


@pytest.fixture
def chat(wire: Wire) -> str:
    chat = wire.new_chat()
    wire("POST", "/files", params={"chat_id": chat}, files=[("files", ("big.bin", CONTENT))])
    return chat


def over(service: RunningService, cuts: Cuts) -> AgentService:
    return AgentService(service.api_key, service.base_url, transport=cuts)


@pytest.mark.rule("The client continues a broken download where it broke.")
def test_a_download_goes_on_where_it_broke(service: RunningService, chat: str, tmp_path: Path) -> None:
    """More cuts than there are retries: each brought something."""
    cuts = Cuts(*[MIB + 1] * 4)
    told: list[tuple[int, int]] = []
    with over(service, cuts) as client:
        client.files.download(BIG, chat=chat, to=tmp_path, on_progress=lambda *at: told.append(at))
    assert (tmp_path / "big.bin").read_bytes() == CONTENT
    assert cuts.ranges == [None, *[f"bytes={n * (MIB + 1)}-" for n in range(1, 5)]]
    assert told[-1] == (len(CONTENT), len(CONTENT))
    steps = [later - earlier for (earlier, _), (later, _) in itertools.pairwise([(0, 0), *told])]
    assert 0 < min(steps) <= max(steps) <= MIB  # after each half megabyte, and at most a chunk more
    assert [path.name for path in tmp_path.iterdir()] == ["big.bin"]


@pytest.mark.parametrize("left", [b"something else", b"x" * (len(CONTENT) + 5)], ids=["other", "longer"])
def test_what_lies_there_as_part_is_not_believed(client: AgentService, chat: str, tmp_path: Path, left: bytes) -> None:
    (tmp_path / f"big.bin.{SHA256[:16]}.part").write_bytes(left)
    assert client.files.download(BIG, chat=chat, to=tmp_path).read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["big.bin"]


def test_a_file_is_never_whole_in_memory(client: AgentService, chat: str, tmp_path: Path) -> None:
    client.files.download(BIG, chat=chat)  # what the first call imports is no part of it
    told: list[tuple[int, int]] = []
    tracemalloc.start()
    try:
        place = client.files.download(BIG, chat=chat, to=tmp_path)
        [staged] = client.files.upload(place, on_progress=lambda *at: told.append(at))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3.5 * MIB < len(CONTENT)
    assert staged.sha256 == SHA256
    assert told[-1][0] == told[-1][1] > len(CONTENT)
    assert told == sorted(told)
    assert len(told) > 10


@pytest.mark.rule("`jobs.download_artifacts` downloads a job's files into a folder.")
def test_the_files_of_a_job(client: AgentService, tmp_path: Path) -> None:
    request = {"request": {"brief": "Headline: Autumn sale", "outputs": {"count": 2}}}
    job = client.jobs.submit_and_wait("create_images", request)
    places = client.jobs.download_artifacts(job, to=tmp_path / "new" / "folder")
    assert job.files is not None
    assert len(set(places)) == len(job.files) > 1
    assert [hashlib.sha256(place.read_bytes()).hexdigest() for place in places] == [file.id for file in job.files]
    by_id = client.jobs.download_artifacts(job.job_id, chat=job.chat, to=tmp_path / "more")
    assert [place.name for place in by_id] == [place.name for place in places]
