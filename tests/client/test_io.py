"""The two backends where they differ from each other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentsvc_nb.client.api import AgentService, AsyncAgentService
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.wire.limits import ANSWER_BYTES, MIB
from tests.client.conftest import KEY, RUN_ID, answer, run


def service(request: httpx.Request) -> httpx.Response:
    """Two pages of files, a download, an upload, a run."""
    path, query = request.url.path, request.url.params
    if path.endswith("/download"):
        return httpx.Response(200, content=Body([b"hel", b"lo"]))
    if path.endswith("/files") and request.method == "POST":
        return answer(200, {"files": [{"id": "upload_1", "size_bytes": request.content.count(b"x")}]})
    if path.endswith("/files"):
        return answer(
            200,
            {
                "files": [{"id": "1", "path": query.get("after", "") + "a"}],
                "next_after": None if "after" in query else "a",
            },
        )
    return answer(200, run("completed"))


class Body(httpx.AsyncByteStream):
    def __init__(self, chunks: list[bytes]) -> None:
        self.chunks = chunks

    async def __aiter__(self) -> Any:
        for chunk in self.chunks:
            yield chunk


class Long(httpx.SyncByteStream, httpx.AsyncByteStream):
    """Mebibytes that are made when they are read."""

    def __init__(self, mebibytes: int) -> None:
        self.mebibytes, self.read = mebibytes, 0

    def __iter__(self) -> Iterator[bytes]:
        while self.read < self.mebibytes:
            self.read += 1
            yield b" " * MIB

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("deadline", [None, 60.0])
@pytest.mark.parametrize("face", ["sync", "async"])
def test_an_answer_that_does_not_end_is_not_all_read(face: str, deadline: float | None, status: int) -> None:
    body = Long(200)
    transport = httpx.MockTransport(lambda _: httpx.Response(status, stream=body))

    async def awaited() -> None:
        async with AsyncAgentService(KEY, transport=transport, max_retries=0) as client:
            await client.runs.get(RUN_ID, deadline=deadline)

    def called() -> None:
        with AgentService(KEY, transport=transport, max_retries=0) as client:
            client.runs.get(RUN_ID, deadline=deadline)

    with pytest.raises(StefanBrainError, match="more than 64 MiB"):
        asyncio.run(awaited()) if face == "async" else called()
    assert body.read == ANSWER_BYTES // MIB + 1


def test_the_async_face_does_it_all(tmp_path: Path) -> None:
    async def use() -> list[Any]:
        async with AsyncAgentService(KEY, transport=httpx.MockTransport(service)) as client:
            (tmp_path / "up.bin").write_bytes(b"x" * 100_000)
            return [
                (await client.runs.wait(RUN_ID)).status,
                [file.path async for file in client.files.list("chat_1")],
                (await client.files.upload(tmp_path / "up.bin"))[0].size_bytes >= 100_000,
                await client.files.download("d", chat="chat_1"),
                await client.files.download("d", chat="chat_1", to=tmp_path),
            ]

    assert asyncio.run(use()) == ["completed", ["a", "aa"], True, b"hello", tmp_path / "d"]
    assert (tmp_path / "d").read_text() == "hello"
