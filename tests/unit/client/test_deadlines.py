"""A deadline ends a call whatever the service does: says nothing, or goes on to say something that ends nothing."""

from __future__ import annotations

import json
import select
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import pytest

from agentsvc_nb import APIConnectionError, JobTimeoutError
from tests.support.waiting import until
from tests.unit.client.conftest import FACES, RUN_ID, V1, run
from tests.unit.client.streams import events, frames

SECONDS = 0.1
"""Of real time: only a real socket shows what a silent peer does to a wait."""


class Exchange(BaseHTTPRequestHandler):
    """A request to a `Server`, and the ways to answer it."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.server.seen.append(f"{self.command} {self.path.removeprefix(V1)}")
        self.server.answers(self)

    do_POST = do_CONNECT = do_GET

    def log_message(self, *_: Any) -> None:
        pass

    def read_body(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))

    def json(self, document: Any, status: int = 200) -> None:
        self.read_body()
        body = json.dumps(document).encode()
        self.begin("application/json", status, content_length=str(len(body)))
        self.wfile.write(body)

    def begin(self, kind: str, status: int = 200, **headers: str) -> None:
        """Send the head of an answer. Without a length the connection ends with the answer."""
        self.send_response(status)
        for name, value in {"content_type": kind, **(headers or {"connection": "close"})}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def stall(self, drip: bytes = b"") -> None:
        """Say nothing, or `drip` now and then, until the client has gone."""
        self.close_connection = True
        self.read_body()
        while not select.select([self.connection], [], [], 0.02)[0]:
            self.wfile.write(drip)


class Server(ThreadingHTTPServer):
    """A service on a real port that answers as its function says; use it in a `with` statement."""

    daemon_threads = True

    def __init__(self, answers: Callable[[Exchange], Any]) -> None:
        self.answers, self.seen, self.open = answers, list[str](), set[Any]()
        super().__init__(("127.0.0.1", 0), Exchange)
        self.origin = f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.open.discard(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that has gone."""

    def left(self) -> None:
        """Wait until the client has let go of every connection."""
        until(lambda: not self.open, patience=5)


def silence(exchange: Exchange) -> None:
    exchange.stall()


def endless_head(exchange: Exchange) -> None:
    exchange.wfile.write(b"HTTP/1.1 200 OK\r\nX-A: b")
    exchange.stall(b"b")


def endless_body(exchange: Exchange) -> None:
    streams = "event-stream" in exchange.headers.get("accept", "")
    exchange.begin("text/event-stream" if streams else "application/json")
    exchange.wfile.write(frames(events(2)[:1]) if streams else b'{"run_id":')
    exchange.stall(b": ping\n\n" if streams else b" ")


def stalling(where: str, how: Callable[[Exchange], None]) -> Server:
    """Make a service that answers well, but stalls at requests with `where` in their first line."""

    def answers(exchange: Exchange) -> None:
        if where in f"{exchange.command} {exchange.path}":
            how(exchange)
        else:
            exchange.json(run("running"))

    return Server(answers)


Operation = Callable[[Any, float], Any]
READ: Operation = lambda c, most: c.runs.get(RUN_ID, deadline=most)  # noqa: E731
FOLLOW: Operation = lambda c, most: c.runs.attach(RUN_ID, deadline=most)  # noqa: E731
CASES: list[tuple[str, Callable[[Exchange], None], Operation]] = [
    ("/runs/", silence, READ),
    ("/runs/", endless_head, READ),
    ("/runs/", endless_body, READ),
    ("/events", silence, FOLLOW),
    ("/events", endless_body, FOLLOW),
    ("/files", endless_body, lambda c, most: c.files.download("a", chat="c", deadline=most)),
    ("/events", endless_body, lambda c, most: c.runs.wait(RUN_ID, timeout=most)),
]


@pytest.mark.rule("A deadline ends a call to a service that stalls.")
@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(("where", "how", "operation"), CASES)
def test_it_ends_a_call_to_a_service_that_stalls(
    face: str, where: str, how: Callable[[Exchange], None], operation: Operation
) -> None:
    with stalling(where, how) as server:
        with pytest.raises((APIConnectionError, JobTimeoutError)) as caught:
            FACES[face](server.origin, lambda client: operation(client, SECONDS))
        server.left()
    error: Any = caught.value
    assert isinstance(error, JobTimeoutError) or error.late


@pytest.mark.parametrize("face", FACES)
def test_it_ends_an_upload_that_nobody_takes(face: str, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(30_000_000))
    done = threading.Event()

    def take_nothing(exchange: Exchange) -> None:
        exchange.close_connection = True
        done.wait(10)

    with Server(take_nothing) as server:
        with pytest.raises(APIConnectionError) as caught:
            FACES[face](server.origin, lambda client: client.files.upload(tmp_path / "a.bin", deadline=SECONDS))
        done.set()
        assert caught.value.late
        assert len(server.seen) <= 1, "it is not sent again"
