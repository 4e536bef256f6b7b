"""A deadline holds however long the service says nothing: before an answer, within one, on a stream of pings."""

from __future__ import annotations

import asyncio
import inspect
import json
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import httpx
import pytest

from agentsvc_nb.client.api import AgentService, AsyncAgentService
from agentsvc_nb.client.errors import APIConnectionError, JobTimeoutError, StefanBrainError
from tests.client.conftest import KEY, RUN_ID, run
from tests.client.cutting import events, frames

FAR_SECONDS = 600.0
"""A deadline that no test waits for: the clock is moved."""
JOB = {"job_id": "job_1", "chat": "chat_1", "status": "succeeded"}


def accepted() -> dict[str, Any]:
    return {"type": "tool_job", "family": "echo", "job_id": "job_1", "chat": "chat_1"}


class StallingServer:
    """Answers well, but for the requests whose first line has `stalls` in it: begins, and says nothing more.

    It stalls `after` its own head, what its body begins with, or the head of the request, whose body it does not read.
    With `pinged` set it says one thing more, which ends nothing: a ping, a space, another header.
    """

    def __init__(self, stalls: str, after: str = "head") -> None:
        self.stalls, self.after = stalls, after
        self.stalled, self.pinged, self.left = threading.Event(), threading.Event(), threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connections: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *ended: object) -> None:
        self.pinged.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join()
        for connection in self._connections:
            with suppress(OSError):  # it is closed already
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            self._threads.append(threading.Thread(target=self._serve, args=(connection,)))
            self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as reader:
            try:
                while self._answer(connection, reader):
                    pass
            except OSError:
                pass  # the client hung up

    def _answer(self, connection: socket.socket, reader: Any) -> bool:
        first, length = reader.readline().decode(), 0
        while (line := reader.readline().decode().lower()).strip():
            length = int(line.split(":")[1]) if line.startswith("content-length") else length
        if self.after != "request":  # else it takes no more of it than the connection holds
            reader.read(length)
        if not first:
            return False
        if self.stalls in first:
            self._stall(connection)
            self.left.set()
            return False
        body = json.dumps(_answer_to(first)).encode()
        status = b"202 Accepted" if first.startswith("POST") else b"200 OK"
        connection.sendall(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))
        return True

    def _stall(self, connection: socket.socket) -> None:
        if self.after == "request":
            self.stalled.set()
            self.pinged.wait()
            return
        kind = b"text/event-stream" if "events" in self.stalls else b"application/json"
        begun = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\n" % kind
        first = frames(events(2)[:1]) if "events" in self.stalls else b'{"run_id":'
        connection.sendall(begun if self.after == "head" else begun + b"\r\n" + first)
        self.stalled.set()
        self.pinged.wait()
        connection.sendall(b"X-More: 1\r\n" if self.after == "head" else b": ping\n\n" if b"stream" in kind else b" ")
        connection.recv(1)  # until the client hangs up


def _answer_to(first: str) -> dict[str, Any]:
    if first.startswith("POST") and ("/jobs" in first or "/invoke" in first):
        return accepted()
    return JOB if "/jobs/" in first else run("running")


async def read_all(client: Any, **options: Any) -> None:
    stream = client.runs.attach(RUN_ID, **options)
    stream = await stream if inspect.isawaitable(stream) else stream
    status = stream.final_status()
    await status if inspect.isawaitable(status) else status


async def start_and_read(client: Any, **options: Any) -> None:
    stream = client.runs.start_and_stream("x", **options)
    stream = await stream if inspect.isawaitable(stream) else stream
    status = stream.final_status()
    await status if inspect.isawaitable(status) else status


Operation = Callable[[Any, float], Any]
CASES: dict[str, tuple[str, str, Operation, type[StefanBrainError]]] = {
    "a read, before its answer": (
        "/runs/", "head", lambda client, most: client.runs.get(RUN_ID, deadline=most), APIConnectionError
    ),
    "a read, within its answer": (
        "/runs/", "body", lambda client, most: client.runs.get(RUN_ID, deadline=most), APIConnectionError
    ),
    "a download": (
        "/files", "body", lambda client, most: client.files.download("a", chat="c", deadline=most), APIConnectionError
    ),
    "a stream": (
        "/events", "body", lambda client, most: read_all(client, deadline=most), JobTimeoutError
    ),
    "a stream without retries": (
        "/events", "body", lambda client, most: read_all(client, deadline=most, max_retries=0), JobTimeoutError
    ),
    "a stream, before its answer": (
        "/events", "head", lambda client, most: read_all(client, deadline=most, max_retries=0), JobTimeoutError
    ),
    "start_and_stream": (
        "/events", "body", lambda client, most: start_and_read(client, timeout=most), JobTimeoutError
    ),
    "start_and_stream, its start": (
        "POST", "head", lambda client, most: start_and_read(client, timeout=most), JobTimeoutError
    ),
    "runs.wait, its look": (
        "/runs/", "head", lambda client, most: client.runs.wait(RUN_ID, timeout=most), JobTimeoutError
    ),
    "runs.wait": (
        "/events", "body", lambda client, most: client.runs.wait(RUN_ID, timeout=most), JobTimeoutError
    ),
    "ask": (
        "/invoke", "head", lambda client, most: client.ask("x", timeout=most), JobTimeoutError
    ),
    "ask, its job": (
        "/jobs/", "head", lambda client, most: client.ask("x", timeout=most), JobTimeoutError
    ),
    "ask, its result": (
        "/result", "body", lambda client, most: client.ask("x", timeout=most), JobTimeoutError
    ),
    "jobs.wait": (
        "/jobs/", "body", lambda client, most: client.jobs.wait("job_1", chat="c", timeout=most), JobTimeoutError
    ),
    "jobs.submit_and_wait": (
        "/result", "head", lambda client, most: client.jobs.submit_and_wait("echo", {}, timeout=most), JobTimeoutError
    ),
}  # fmt: skip


def outcome(face: Any, base_url: str, call: Callable[[Any], Any]) -> Any:
    """What a call raised, in either face."""

    async def called() -> None:
        client = face(KEY, base_url)
        try:
            given = call(client)
            await given if inspect.isawaitable(given) else given
        finally:
            closed = client.close()
            await closed if inspect.isawaitable(closed) else closed

    try:
        asyncio.run(called())
    except StefanBrainError as error:
        return error
    return None


@pytest.mark.parametrize("face", [AgentService, AsyncAgentService], ids=["sync", "async"])
@pytest.mark.parametrize("case", CASES)
def test_it_ends_a_call_to_a_silent_service(face: Any, case: str) -> None:
    stalls, after, operation, raised = CASES[case]
    with StallingServer(stalls, after) as server:
        failed = outcome(face, server.base_url, lambda client: operation(client, 0.3))
        assert type(failed) is raised
        assert failed.late or raised is JobTimeoutError
        assert getattr(failed, "job_id", None) in (None, "job_1", RUN_ID)


@pytest.mark.parametrize("face", [AgentService, AsyncAgentService], ids=["sync", "async"])
@pytest.mark.parametrize("kind", ["bytes", "path"])
def test_it_ends_an_upload_that_nobody_takes(face: Any, kind: str, tmp_path: Path) -> None:
    content = bytes(30_000_000)
    (tmp_path / "a.bin").write_bytes(content)
    given = content if kind == "bytes" else tmp_path / "a.bin"
    with StallingServer("POST", "request") as server:
        failed = outcome(face, server.base_url, lambda client: client.files.upload(("a", given), deadline=0.3))
        assert server.stalled.is_set()
        assert type(failed) is APIConnectionError
        assert failed.late


@pytest.mark.parametrize("case", CASES)
def test_what_still_comes_does_not_put_it_off(case: str) -> None:
    """Something comes just before it, which proves that the service is there. The wait for more is the short rest."""
    stalls, after, operation, raised = CASES[case]
    failed: list[Any] = []
    moved = [0.0]

    def call(client: Any) -> Any:
        client._core.io.now = lambda: time.monotonic() + moved[0]
        return operation(client, FAR_SECONDS)

    with StallingServer(stalls, after) as server:
        caller = threading.Thread(target=lambda: failed.append(outcome(AgentService, server.base_url, call)))
        caller.start()
        assert server.stalled.wait(10)
        moved[0] = FAR_SECONDS - 0.5
        server.pinged.set()
        assert server.left.wait(10), "it still waits"
        caller.join()
    assert [type(error) for error in failed] == [raised]


@pytest.mark.parametrize("own", ["client", "transport"])
def test_a_client_of_ones_own_keeps_it_too(own: str) -> None:
    failed: list[Any] = []
    moved = [0.0]

    def follow(base_url: str) -> None:
        with httpx.Client() as http, httpx.HTTPTransport() as transport:
            given: dict[str, Any] = {"http_client": http} if own == "client" else {"transport": transport}
            client = AgentService(KEY, base_url, **given)
            client._core.io.now = lambda: time.monotonic() + moved[0]  # type: ignore[method-assign]
            try:
                client.runs.wait(RUN_ID, timeout=FAR_SECONDS)
            except StefanBrainError as error:
                failed.append(error)

    with StallingServer("/events", "body") as server:
        caller = threading.Thread(target=follow, args=(server.base_url,))
        caller.start()
        assert server.stalled.wait(10)
        moved[0] = FAR_SECONDS - 0.5
        server.pinged.set()
        assert server.left.wait(10), "it still waits"
        caller.join()
    assert [type(error) for error in failed] == [JobTimeoutError]


# -- what is sent, and to where ------------------------------------------------------------------------------------


def test_a_unix_socket_is_reached_in_both_faces(tmp_path: Path) -> None:
    place = str(tmp_path / "s")
    transports = {AgentService: httpx.HTTPTransport(uds=place), AsyncAgentService: httpx.AsyncHTTPTransport(uds=place)}
    for face, transport in transports.items():
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(place)
        listener.listen()
        threading.Thread(target=_answer_once, args=(listener,), daemon=True).start()
        got: list[Any] = []

        async def read(face: Any = face, transport: Any = transport, got: list[Any] = got) -> None:
            client = face(KEY, "http://service.test", transport=transport)
            answered = client.runs.get(RUN_ID, deadline=30)
            got.append(await answered if inspect.isawaitable(answered) else answered)
            closed = client.close()
            await closed if inspect.isawaitable(closed) else closed

        asyncio.run(read())
        assert [run.run_id for run in got] == [RUN_ID]
        Path(place).unlink()


def _answer_once(listener: socket.socket) -> None:
    with listener, listener.accept()[0] as connection:
        connection.recv(4_096)
        body = json.dumps(run()).encode()
        connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
