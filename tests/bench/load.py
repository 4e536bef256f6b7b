"""A load generator in a process of its own: many kept connections, one request outstanding on each, answers checked.

Raw sockets, because an HTTP library would be slower than the servers that are measured.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from urllib.parse import urlsplit

END_OF_HEAD = b"\r\n\r\n"
LENGTH = b"content-length: "


@dataclass(frozen=True)
class Load:
    """`requests` times the same `request` over `connections`; a right answer begins `HTTP/1.1 {status}` and its body
    with `body`, or is `body` when `whole`."""

    request: bytes
    status: int
    body: bytes
    whole: bool = True
    connections: int = 32
    requests: int = 5000


@dataclass(frozen=True)
class Measured:
    """What came of a load. Seconds; `latencies` sorted."""

    seconds: float
    latencies: list[float]

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.latencies) / self.seconds

    def quantile(self, share: float) -> float:
        """Seconds within which `share` of the answers came."""
        return self.latencies[min(int(len(self.latencies) * share), len(self.latencies) - 1)]


class WrongAnswer(AssertionError):
    """The server answered something else than it should."""


def request(method: str, path: str, api_key: str, body: bytes = b"", accept: str = "application/json") -> bytes:
    """The bytes of a request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {api_key}", f"Accept: {accept}"]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def address(base_url: str) -> tuple[str, int]:
    """Where to connect."""
    found = urlsplit(base_url)
    assert found.hostname is not None, base_url
    assert found.port is not None, base_url
    return found.hostname, found.port


def measure(base_url: str, load: Load) -> Measured:
    """Run `load` in another process. Raises `WrongAnswer`."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_run, base_url, load).result()


def _run(base_url: str, load: Load) -> Measured:
    return asyncio.run(_generate(base_url, load))


async def _generate(base_url: str, load: Load) -> Measured:
    loop = asyncio.get_running_loop()
    host, port = address(base_url)
    generator = _Generator(load, loop.create_future())
    for _ in range(load.connections):
        await loop.create_connection(lambda: _Connection(generator), host, port)
    begin = time.perf_counter()
    for connection in generator.connections:
        connection.ask()
    await generator.done
    return Measured(time.perf_counter() - begin, sorted(generator.latencies))


class _Generator:
    """What the connections of one load share."""

    def __init__(self, load: Load, done: asyncio.Future[None]) -> None:
        self.load = load
        self.done = done
        self.left = load.requests
        self.latencies: list[float] = []
        self.connections: list[_Connection] = []

    def answered(self, seconds: float, head: bytes, body: bytes) -> None:
        load = self.load
        right = body == load.body if load.whole else body.startswith(load.body)
        if not right or not head.startswith(b"HTTP/1.1 %d " % load.status):
            self.fail(WrongAnswer(f"{head!r} {body[:500]!r}"))
        self.latencies.append(seconds)
        if len(self.latencies) == load.requests and not self.done.done():
            self.done.set_result(None)

    def fail(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class _Connection(asyncio.Protocol):
    """One connection: ask, wait for the whole answer, ask again."""

    def __init__(self, generator: _Generator) -> None:
        self._generator = generator
        self._received = b""
        self._asked_at = 0.0
        self._transport: asyncio.BaseTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._generator.connections.append(self)

    def ask(self) -> None:
        if self._generator.left > 0:
            self._generator.left -= 1
            self._asked_at = time.perf_counter()
            assert isinstance(self._transport, asyncio.WriteTransport)
            self._transport.write(self._generator.load.request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(END_OF_HEAD)
        if end and len(body) >= _length(head):
            self._received = b""
            self._generator.answered(time.perf_counter() - self._asked_at, head, body)
            self.ask()

    def connection_lost(self, error: Exception | None) -> None:
        self._generator.fail(WrongAnswer(f"a connection was lost: {error}"))


def _length(head: bytes) -> int:
    return int(head.lower().partition(LENGTH)[2].partition(b"\r\n")[0])
