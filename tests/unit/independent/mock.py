"""A service on plain sockets. What it answers is a function; how it fails is scripted, down to the single byte."""

import contextlib
import json
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

PREFIX = "/api/developers/v1"


@dataclass
class Seen:
    """A request as it came."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    connection: int
    body: bytes = b""
    at: float = field(default_factory=time.monotonic)

    @property
    def path(self) -> str:
        return unquote(urlsplit(self.target).path).removeprefix(PREFIX)

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)

    @property
    def same(self) -> tuple[object, ...]:
        """What must be alike in a request that is sent again."""
        kind = self.header("content-type") or ""
        body = self.body
        if "boundary=" in kind:
            body = body.replace(kind.split("boundary=")[1].encode(), b"boundary")
        return self.method, self.target, self.header("authorization"), self.header("idempotency-key"), body


@dataclass
class Reply:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)

    def head(self, **more: str) -> bytes:
        headers = {"Content-Type": "application/json", "X-Request-Id": "req_1", **self.headers}
        headers.update({name.replace("_", "-"): value for name, value in more.items()})
        lines = [f"HTTP/1.1 {self.status} Status", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode()

    @property
    def whole(self) -> bytes:
        return self.head(Content_Length=str(len(self.body))) + self.body


def answer(document: object, status: int = 200, **headers: str) -> Reply:
    return Reply(status, json.dumps(document).encode(), {k.replace("_", "-"): v for k, v in headers.items()})


def problem(status: int, code: str | None, type_: str = "api_error", **more: Any) -> Reply:
    """An error envelope. `headers` are the answer's, `top` stands beside `error`, the rest inside."""
    headers, top = more.pop("headers", {}), more.pop("top", {})
    error = {"message": f"It says {code}.", "type": type_, **({"code": code} if code else {}), **more}
    return Reply(status, json.dumps({"error": error, **top}).encode(), headers)


class Wire:
    """The service's end of a connection."""

    def __init__(self, mock: "Mock", sock: socket.socket, number: int) -> None:
        self.mock, self.sock, self.number = mock, sock, number
        self._buffer = bytearray()

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def reset(self) -> None:
        """End it as a crash does, without the good manners of TCP."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def rest(self, seconds: float) -> None:
        """Do nothing for so long, or until the client has gone."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self.mock.stopping.is_set():
            if select.select([self.sock], [], [], min(left, 0.1))[0] and not self.sock.recv(1, socket.MSG_PEEK):
                return

    def _more(self) -> bool:
        try:
            data = self.sock.recv(1 << 16)
        except OSError:
            data = b""
        self._buffer += data
        return bool(data)

    def head(self) -> Seen | None:
        while b"\r\n\r\n" not in self._buffer:
            if not self._more():
                return None
        head = self._line(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ")
        headers = [(name, value.strip()) for name, value in (line.split(":", 1) for line in lines)]
        return Seen(method, target, headers, self.number)

    def body(self, seen: Seen) -> bytes:
        return self._exactly(int(seen.header("content-length") or 0))

    def _line(self, end: bytes = b"\r\n") -> bytes:
        while end not in self._buffer and self._more():
            pass
        line, _, self._buffer = self._buffer.partition(end)
        return bytes(line)

    def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size and self._more():
            pass
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken


@dataclass(frozen=True)
class Fault:
    """What happens in place of a good answer. An `early` one does not wait for the request's body."""

    name: str
    act: Callable[[Wire, Seen, Reply], None]
    early: bool = False
    keeps: bool = False


Answers = Callable[[Seen], "Reply | Fault"]


class Mock:
    """A service. `script` has what happens to the next requests that `counts` is true of; then all is well."""

    def __init__(self, answers: Answers, script: list[Fault] | None = None, *, listening: bool = True) -> None:
        self.answers, self.script = answers, list(script or [])
        self.counts: Callable[[Seen], bool] = lambda seen: True
        self.seen: list[Seen] = []
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.origin = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._accepting: threading.Thread | None = None
        if listening:
            self.listen()

    def listen(self) -> None:
        if self._accepting is None:
            self._socket.listen(64)
            self._accepting = threading.Thread(target=self._accept, daemon=True)
            self._accepting.start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._socket.accept()
            except OSError:
                return
            if self.stopping.is_set():
                sock.close()
                return
            with self._lock:
                self._sockets.append(sock)
                thread = threading.Thread(target=self._serve, args=(sock, len(self._threads)), daemon=True)
                thread.start()
                self._threads.append(thread)

    def _serve(self, sock: socket.socket, number: int) -> None:
        wire = Wire(self, sock, number)
        with contextlib.suppress(OSError), sock:
            while (seen := wire.head()) and self._exchange(wire, seen):
                pass

    def _exchange(self, wire: Wire, seen: Seen) -> bool:
        with self._lock:
            fault = self.script.pop(0) if self.script and self.counts(seen) else None
            self.seen.append(seen)
        if fault and fault.early:
            fault.act(wire, seen, Reply())
            return fault.keeps
        seen.body = wire.body(seen)
        reply = self.answers(seen)
        if isinstance(reply, Fault):
            fault, reply = fault or reply, Reply()
        if fault:
            fault.act(wire, seen, reply)
            return fault.keeps
        wire.send(reply.whole)
        return True

    def counted(self) -> list[Seen]:
        return [seen for seen in self.seen if self.counts(seen)]

    def left(self, seconds: float = 5.0) -> bool:
        """Whether the client has let go of every connection."""
        until = time.monotonic() + seconds
        for thread in list(self._threads):
            thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        self.stopping.set()
        if self._accepting:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._accepting.join(5)
        self._socket.close()
        for sock in self._sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        self.left()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def saying(name: str, reply: Reply) -> Fault:
    """Make a whole answer in place of the good one; the connection stays."""
    return Fault(name, lambda wire, seen, good: wire.send(reply.whole), keeps=True)


def frames(*events: dict[str, Any], end: str = "\n") -> bytes:
    """Events as a stream has them."""

    lines = [
        line
        for event in events
        for line in (f"id: {event['id']}", f"event: {event['type']}", f"data: {json.dumps(event)}", "")
    ]
    return "".join(line + end for line in lines).encode()
