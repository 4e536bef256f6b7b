"""The only module that knows the HTTP library: two backends of the same verbs (docs/decisions/0001).

The core awaits nothing but these verbs. Under `SyncIO` they never suspend, so that `step` can run a core coroutine
to its end with no event loop and no thread; under `AsyncIO` they are awaited as usual.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import socket
import ssl
import time
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, BinaryIO, Final, Protocol, TypeVar

import httpx

from agentsvc_nb.client.errors import APIConnectionError

T = TypeVar("T")
SyncTransport = httpx.BaseTransport
AsyncTransport = httpx.AsyncBaseTransport

CONNECT_SECONDS: Final = 10.0
_FAILURES: Final = (httpx.RequestError, httpx.StreamError, ssl.SSLError)
_UNSENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
_LIMITS: Final = httpx.Limits(
    max_connections=None,  # a stream holds its connection; requests must not queue behind streams
    keepalive_expiry=4.0,  # uvicorn closes idle connections after 5 s: be first, or a start runs into the closing
)
_LOOPBACK: Final = ("all://127.0.0.1", "all://localhost", "all://[::1]")


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. `seconds` bounds each wait for the service, not the whole."""

    method: str
    url: str
    seconds: float
    key: str = field(repr=False)
    headers: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] | None = None
    files: list[tuple[str, bytes | BinaryIO]] | None = None
    stream: bool = False


@dataclass(slots=True)
class Answer:
    """An answer; `headers` in lower case. A successful streamed one is read with `io.read` and has no `body`."""

    status: int
    headers: dict[str, str]
    body: bytes = b""
    response: Any = field(default=None, repr=False)
    chunks: Any = field(default=None, repr=False)


class IO(Protocol):
    """What the core may await, and its clocks."""

    async def send(self, request: Request) -> Answer:
        """Raises `APIConnectionError` when no answer comes."""
        ...

    async def read(self, answer: Answer) -> bytes | None:
        """The next chunk as it came, None at the end. Raises `APIConnectionError`."""
        ...

    async def sleep(self, seconds: float) -> None: ...
    async def call(self, function: Callable[[], T]) -> T:
        """Run a function that may block."""
        ...

    async def close(self, answer: Answer | None = None) -> None:
        """Close one streamed answer, or everything."""
        ...

    def drop(self, answer: Answer) -> None:
        """Close an answer that nobody can await any more (garbage collection)."""
        ...

    def now(self) -> float:
        """Seconds, monotonic."""
        ...

    def today(self) -> date:
        """The UTC day: idempotency keys end with it."""
        ...


def step(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, because all that it awaits is `SyncIO`."""
    try:
        work.send(None)
    except StopIteration as stop:
        value: T = stop.value
        return value
    finally:
        work.close()
    raise RuntimeError("the client's core awaited something other than its I/O; please report this")


class _Clocks:
    def now(self) -> float:
        return time.monotonic()

    def today(self) -> date:
        return datetime.now(UTC).date()


class SyncIO(_Clocks):
    """Blocking I/O. Clients are kept by process id: a forked child must not talk on its parent's sockets."""

    def __init__(self, transport: SyncTransport | None = None) -> None:
        self._transport = transport
        self._clients: dict[int, httpx.Client] = {}

    def _client(self) -> httpx.Client:
        pid = os.getpid()
        return self._clients.get(pid) or self._clients.setdefault(pid, httpx.Client(**_options(self._transport)))

    async def send(self, request: Request) -> Answer:
        client = self._client()
        try:
            response = client.send(_build(client, request), stream=request.stream)
            if request.stream and response.is_success:
                return _answer(response, response.iter_raw())
            response.read()
        except _FAILURES as error:
            raise _failure(error) from None
        return _answer(response)

    async def read(self, answer: Answer) -> bytes | None:
        chunks: Iterator[bytes] = answer.chunks
        try:
            return next(chunks, None)
        except _FAILURES as error:
            raise _failure(error) from None

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: ASYNC251 - blocking is what this backend is for

    async def call(self, function: Callable[[], T]) -> T:
        return function()

    async def close(self, answer: Answer | None = None) -> None:
        if answer:
            self.drop(answer)
        elif client := self._clients.pop(os.getpid(), None):
            client.close()

    def drop(self, answer: Answer) -> None:
        if answer.response and not answer.response.is_closed:
            _wake_reader(answer.response)
            answer.response.close()


class AsyncIO(_Clocks):
    """I/O on asyncio, with one HTTP client per event loop: two `asyncio.run` in a row just work."""

    def __init__(self, transport: AsyncTransport | None = None) -> None:
        self._transport = transport
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient]
        self._clients = weakref.WeakKeyDictionary()
        self._closing: set[asyncio.Task[None]] = set()

    def _client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            for ended in [known for known in self._clients if known.is_closed()]:
                del self._clients[ended]
            self._clients[loop] = httpx.AsyncClient(**_options(self._transport))
        return self._clients[loop]

    async def send(self, request: Request) -> Answer:
        client = self._client()
        try:
            response = await client.send(_build(client, request), stream=request.stream)
            if request.stream and response.is_success:
                return _answer(response, response.aiter_raw())
            await response.aread()
        except _FAILURES as error:
            raise _failure(error) from None
        return _answer(response)

    async def read(self, answer: Answer) -> bytes | None:
        chunks: AsyncIterator[bytes] = answer.chunks
        try:
            return await anext(chunks, None)
        except _FAILURES as error:
            raise _failure(error) from None

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def call(self, function: Callable[[], T]) -> T:
        return await asyncio.to_thread(function)

    async def close(self, answer: Answer | None = None) -> None:
        if answer:
            await answer.response.aclose()
        elif client := self._clients.pop(asyncio.get_running_loop(), None):
            await client.aclose()

    def drop(self, answer: Answer) -> None:
        with suppress(RuntimeError):  # no loop is running: its end closes the connection
            closing = asyncio.get_running_loop().create_task(self.close(answer))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """One for the process: building it takes 14 ms, the rest of a client 0.05 ms."""
    return httpx.create_ssl_context()


def _options(transport: Any) -> dict[str, Any]:
    # A proxy cannot reach this machine's loopback, whatever HTTP_PROXY says.
    direct = dict.fromkeys(_LOOPBACK)
    shared = {"verify": _ssl_context(), "follow_redirects": False, "limits": _LIMITS}
    return {**shared, "transport": transport, "mounts": None if transport else direct}


def _build(client: httpx.Client | httpx.AsyncClient, request: Request) -> httpx.Request:
    sends: dict[str, Any] = {"json": request.body} if request.body is not None else {}
    if request.files is not None:
        data = (
            {} if request.body is None else {"payload": json.dumps(request.body, ensure_ascii=False, allow_nan=False)}
        )
        sends = {"data": data, "files": [("files", file) for file in request.files]}
    headers = {"user-agent": "agentsvc-nb", **request.headers, "authorization": f"Bearer {request.key}"}
    if request.stream:
        headers["accept-encoding"] = "identity"
    timeout = httpx.Timeout(request.seconds, connect=min(request.seconds, CONNECT_SECONDS))
    return client.build_request(
        request.method, request.url, params=request.query or None, headers=headers, timeout=timeout, **sends
    )


def _answer(response: httpx.Response, chunks: Any = None) -> Answer:
    headers = {name.lower(): value for name, value in response.headers.items()}
    if chunks is not None:
        return Answer(response.status_code, headers, response=response, chunks=chunks)
    return Answer(response.status_code, headers, response.content)


def _failure(error: Exception) -> APIConnectionError:
    timed_out = isinstance(error, httpx.TimeoutException)
    why = str(error) or ("it took too long" if timed_out else type(error).__name__)
    return APIConnectionError(
        f"The service did not answer: {why}.", sent=not isinstance(error, _UNSENT), timed_out=timed_out
    )


def _wake_reader(response: httpx.Response) -> None:
    """Closing a socket does not end a `recv` in another thread; shutting it down does."""
    stream = response.extensions.get("network_stream")
    connection = stream.get_extra_info("socket") if stream else None
    if isinstance(connection, socket.socket):
        with suppress(OSError):
            socket.socket.shutdown(connection, socket.SHUT_RDWR)
