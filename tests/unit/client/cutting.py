"""Event streams: their bytes, and a real server that stalls where it is told to."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import httpx

from tests.support.waiting import until
from tests.unit.client.conftest import V1, run

TEXTS = ("plain", "ünïcödé", "line\nbreak", "data: id: 9", "\u2028", "x" * 300)
STALL_SECONDS = 10.0
"""A stall ends after this time: what should have ended before by itself then fails."""


def events(count: int) -> list[dict[str, Any]]:
    """Make the events of a run; the last of `count` is `run.ended`."""
    spoken = [(number, "text.delta", {"text": TEXTS[number % len(TEXTS)]}) for number in range(1, count)]
    ended = (count, "run.ended", {"run": run("completed", output="done")})
    return [{"id": n, "type": kind, "created_at": "", "payload": payload} for n, kind, payload in (*spoken, ended)]


def frames(given: list[dict[str, Any]]) -> bytes:
    lines = (f"id: {event['id']}\nevent: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in given)
    return "".join(lines).encode()


class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that comes in pieces; a piece that is an exception is raised."""

    def __init__(self, *pieces: bytes | BaseException) -> None:
        self._pieces = pieces
        self.closed = False

    def __iter__(self) -> Any:
        for piece in self._pieces:
            if isinstance(piece, BaseException):
                raise piece
            yield piece

    async def __aiter__(self) -> Any:
        for piece in self:
            yield piece

    def close(self) -> None:
        self.closed = True

    async def aclose(self) -> None:
        self.closed = True


def sse(*pieces: bytes | BaseException, **headers: str) -> httpx.Response:
    """Make a streamed answer whose body comes in these pieces."""
    more = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(
        200, stream=Body(*pieces), headers={"content-type": "text/event-stream; charset=utf-8", **more}
    )


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

    def setup(self) -> None:
        super().setup()
        self.server.open.add(self)

    def finish(self) -> None:
        try:
            super().finish()
        finally:
            self.server.open.discard(self)

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:  # the client has gone
            self.close_connection = True

    def read_body(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))

    def json(self, document: Any, status: int = 200) -> None:
        self.read_body()
        body = json.dumps(document).encode()
        self.begin("application/json", status, content_length=str(len(body)), x_request_id="req_1")
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
        for _ in range(int(STALL_SECONDS / 0.02)):
            if self.server.stopping.is_set():
                return
            if select.select([self.connection], [], [], 0.02)[0] and not self.connection.recv(1, socket.MSG_PEEK):
                return
            self.wfile.write(drip)


class Server(ThreadingHTTPServer):
    """A service on a real port that answers as its function says; use it in a `with` statement."""

    daemon_threads = True

    def __init__(self, answers: Callable[[Exchange], Any]) -> None:
        self.answers, self.seen, self.open = answers, list[str](), set[Exchange]()
        self.stopping = threading.Event()
        super().__init__(("127.0.0.1", 0), Exchange)
        self.origin = f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stopping.set()
        self.shutdown()
        self.server_close()

    def asked(self, where: str) -> None:
        """Wait until a request with `where` in its first line has come."""
        until(lambda: any(where in seen for seen in self.seen), patience=20)

    def left(self) -> None:
        """Wait until the client has let go of every connection."""
        until(lambda: not self.open, patience=5)


def silent_run(exchange: Exchange) -> None:
    """Answer for a run of two events that goes on without a word; the run `silent` is not answered at all."""
    if "/runs/silent" in exchange.path:
        exchange.stall()
    elif "event-stream" in exchange.headers.get("accept", ""):
        exchange.begin("text/event-stream")
        after = int(exchange.headers.get("last-event-id", 0))
        exchange.wfile.write(b"retry: 0\n\n" + frames(events(3)[after:2]))
        exchange.stall()
    else:
        exchange.json(run("running"))
