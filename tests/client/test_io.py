"""The two backends where they differ from each other."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentsvc_nb.client.api import AgentService, AsyncAgentService
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.transport.aio import AsyncIO
from agentsvc_nb.client.transport.http import SyncIO
from agentsvc_nb.client.transport.io import PieceSize
from agentsvc_nb.client.transport.messages import _no_tls, _options, _ssl_context
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


def test_a_forked_child_has_connections_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    io = SyncIO(httpx.MockTransport(service))
    parent = io._client()
    assert io._client() is parent
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert io._client() is not parent


def test_each_event_loop_has_a_client_and_closed_loops_are_forgotten() -> None:
    io = AsyncIO(httpx.MockTransport(service))

    async def client() -> httpx.AsyncClient:
        assert io._client() is io._client()
        return io._client()

    loops = [asyncio.new_event_loop() for _ in range(3)]
    clients = [loop.run_until_complete(client()) for loop in loops[:2]]
    assert clients[0] is not clients[1]
    loops[0].close()
    loops[2].run_until_complete(client())
    assert set(io._clients) == set(loops[1:])
    for loop in loops[1:]:
        loop.close()


def test_one_ssl_context_for_all_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    far, near = "https://far.test", "http://far.test"
    assert _options(None, far)["verify"] is _options(None, far)["verify"] is _ssl_context()
    assert _options(None, near)["verify"] is _no_tls() is not _ssl_context()


def test_only_an_address_with_tls_trusts_anybody() -> None:
    assert bool(_ssl_context().get_ca_certs())
    assert not _no_tls().get_ca_certs()
    assert _no_tls().verify_mode == ssl.CERT_REQUIRED


def test_a_set_cookie_is_not_kept() -> None:
    transport = httpx.MockTransport(lambda request: answer(200, run("completed"), set_cookie="a=b; Path=/"))
    io = SyncIO(transport)
    client = AgentService(KEY, transport=transport)
    client.runs.get(RUN_ID)
    assert not io._client().cookies
    assert not client._core.io._client().cookies  # type: ignore[attr-defined]


def test_what_comes_fast_is_read_in_large_pieces() -> None:
    pieces, found = PieceSize(), []
    for came in (10, 100, 400, 99, 20):
        found.append(pieces.most(100))
        pieces.came = came
    assert found == [100, 100, 400, 400, 100]


@pytest.mark.parametrize("face", ["sync", "async"])
def test_a_file_is_sent_in_large_pieces(tmp_path: Path, face: str) -> None:
    (tmp_path / "up.bin").write_bytes(b"x" * 1_000_000)
    sent: list[int] = []

    def note(done: int, total: int | None) -> None:
        sent.append(done)

    if face == "sync":
        with AgentService(KEY, transport=httpx.MockTransport(service)) as client:
            client.files.upload(tmp_path / "up.bin", on_progress=note)
    else:
        asyncio.run(_upload(tmp_path / "up.bin", note))
    assert sent[-1] > 1_000_000
    assert len(sent) < 12


async def _upload(file: Path, note: Any) -> None:
    async with AsyncAgentService(KEY, transport=httpx.MockTransport(service)) as client:
        await client.files.upload(file, on_progress=note)
