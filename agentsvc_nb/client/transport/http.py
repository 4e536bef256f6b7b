"""The two implementations of `io.IO`, blocking and on asyncio.

Of the client only this module, `messages`, `connections` and `deadlines` use the HTTP library.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import math
import os
import socket
import sys
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import aclosing, closing, contextmanager, suppress
from datetime import UTC, date, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from agentsvc_nb.client.errors import deadline_passed
from agentsvc_nb.client.transport import deadlines, messages
from agentsvc_nb.client.transport.health import Secret
from agentsvc_nb.client.transport.io import CLOCK_SLACK, HttpRequest, Response, TaskPool, ThreadPool, step
from agentsvc_nb.client.transport.messages import Library, build, failure, httpx, is_usable, library_of, to_response

__all__ = ["AsyncClient", "AsyncIO", "AsyncTransport", "SyncClient", "SyncIO", "SyncTransport", "is_usable"]

T = TypeVar("T")
Meanwhile = Callable[[], Coroutine[Any, Any, None]]
SyncTransport = httpx.BaseTransport
AsyncTransport = httpx.AsyncBaseTransport
if TYPE_CHECKING:
    import httpx2

    SyncClient = httpx.Client | httpx2.Client
    AsyncClient = httpx.AsyncClient | httpx2.AsyncClient
else:
    SyncClient, AsyncClient = httpx.Client, httpx.AsyncClient
_ByLoop = weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient]


class _Clocks:
    """The clocks of both implementations."""

    def now(self) -> float:
        return time.monotonic()

    def today(self) -> date:
        return datetime.now(UTC).date()

    def in_time(self, ends: float) -> None:
        if self.now() >= ends:
            raise deadline_passed()


class SyncIO(_Clocks):
    """Blocking I/O. HTTP clients are stored by process id, because a forked child must not use its parent's sockets.

    With a `secret`, each connection must prove that the embedded service at its other end holds it. Raises `TypeError`
    for a `transport` or `client` of the wrong type, and for one together with a `secret`.
    """

    def __init__(
        self,
        transport: SyncTransport | None = None,
        client: SyncClient | None = None,
        tls: bool = True,
        secret: Secret | None = None,
    ) -> None:
        _check("transport", transport, SyncTransport)
        _check("http_client", client, httpx.Client)
        _check_proved(secret, transport or client)
        self._transport = transport
        self._own: Any = client
        self._library = library_of(client)
        self._inherited = _Inherited(client or transport)
        if client:
            deadlines.bounded(client)
        self._tls = tls
        self._secret = secret
        self._clients: dict[int, httpx.Client] = {}

    def _client(self) -> httpx.Client:
        self._inherited.forget_parents()
        if self._own:
            return cast(httpx.Client, self._own)
        pid = os.getpid()
        if (client := self._clients.get(pid)) is None:
            client = self._clients.setdefault(pid, messages.blocking(self._transport, self._tls, self._secret))
            # In a notebook clients are rarely closed, so garbage collection closes them. Not at exit, where open
            # streams end by themselves.
            weakref.finalize(self, _close_in, pid, client).atexit = False
        return client

    async def send(self, request: HttpRequest) -> Response:
        client = self._client()
        built = build(request, self._own)
        if request.ends < math.inf:
            body = _timely_body(self._library.module)
            built.stream = cast(Any, body(built.stream, self, request.ends))
        with self._until(request.ends):
            response = client.send(built, stream=True, auth=None, follow_redirects=False)
            if request.stream and response.is_success:
                return to_response(response, request, chunks=response.iter_raw())
            return to_response(response, request, self._whole(response, request.ends))

    def _whole(self, response: httpx.Response, ends: float) -> bytes:
        """Read the whole body. Checks the deadline between chunks, because each byte restarts the read timeout."""
        with closing(response):
            if ends == math.inf:
                return response.read()
            whole = bytearray()
            for chunk in response.iter_bytes():
                whole += chunk
                self.in_time(ends)
            return bytes(whole)

    async def read(self, response: Response) -> bytes | None:
        chunks: Iterator[bytes] = response.chunks
        if response.ends < math.inf:
            self.in_time(response.ends)
            with self._until(response.ends):
                return next(chunks, None)
        deadlines.lift()  # what `_until` does costs more than the rest of an event of a stream
        try:
            return next(chunks, None)
        except self._library.failures as error:
            raise failure(error, self._library) from None

    @contextmanager
    def _until(self, ends: float) -> Iterator[None]:
        """End waits at the deadline, and turn exceptions of the HTTP library into `APIConnectionError`."""
        try:
            with deadlines.until(ends, self.now):
                yield
        except self._library.failures as error:
            failed = failure(error, self._library)
            if failed.timed_out and ends - self.now() < CLOCK_SLACK:
                failed = deadline_passed(sent=failed.sent)
            raise failed from None

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: ASYNC251 - blocking is what this backend is for

    async def call(self, function: Callable[[], T]) -> T:
        return function()

    async def during(self, work: Callable[[], Any], meanwhile: Meanwhile, seconds: float) -> Any:
        ended = threading.Event()

        def repeat() -> None:
            while not ended.wait(seconds):
                step(meanwhile())

        threading.Thread(target=repeat, daemon=True, name="agentsvc-meanwhile").start()
        try:
            return work()
        finally:
            ended.set()

    def worker_pool(self) -> ThreadPool[Any]:
        return ThreadPool(self, None if self._own or self._transport else self._lane)

    def _lane(self) -> SyncIO:
        return SyncIO(tls=self._tls, secret=self._secret)

    async def close(self, response: Response | None = None) -> None:
        if response:
            self.drop(response)
        elif client := self._clients.pop(os.getpid(), None):
            client.close()

    def drop(self, response: Response) -> None:
        if response.raw and not response.raw.is_closed:
            _wake_reader(response.raw)
            response.raw.close()


def _close_in(pid: int, client: httpx.Client) -> None:
    """Close a client in the process that made it: in a forked child, a thread of the parent may hold its lock."""
    if os.getpid() == pid:
        client.close()


class _Inherited:
    """A client or transport of the caller's own, whose connections a forked child must not use beside its parent."""

    def __init__(self, given: object) -> None:
        self._given = given
        self._pid = os.getpid()
        self._connections: list[Any] = []  # referenced, so that garbage collection does not close them

    def forget_parents(self) -> None:
        if self._given is not None and self._pid != (pid := os.getpid()):
            self._connections += deadlines.forget(self._given)
            self._pid = pid


@functools.cache
def _timely_body(module: Any) -> type[_Timely]:
    """`_Timely` as a body of this HTTP library."""
    return type("TimelyBody", (_Timely, module.SyncByteStream), {})


class _Timely:
    """A request body that raises at the deadline instead of being sent further."""

    def __init__(self, body: Any, io: SyncIO, ends: float) -> None:
        self._body = body
        self._io = io
        self._ends = ends

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._body:
            self._io.in_time(self._ends)
            yield chunk


class AsyncIO(_Clocks):
    """I/O on asyncio, with one HTTP client per event loop, so that several `asyncio.run` in a row work.

    A forked child, which may continue on its parent's loop, gets clients of its own. Arguments and exceptions as for
    `SyncIO`.
    """

    def __init__(
        self,
        transport: AsyncTransport | None = None,
        client: AsyncClient | None = None,
        tls: bool = True,
        secret: Secret | None = None,
    ) -> None:
        _check("transport", transport, AsyncTransport)
        _check("http_client", client, httpx.AsyncClient)
        _check_proved(secret, transport or client)
        self._transport = transport
        self._own: Any = client
        self._library = library_of(client)
        self._inherited = _Inherited(client or transport)
        self._tls = tls
        self._secret = secret
        self._clients: _ByLoop = weakref.WeakKeyDictionary()
        self._parents: list[_ByLoop] = []
        """The clients of the parent process, in a forked child: referenced so that garbage collection does not close
        them, which would disturb the loop that both processes share."""
        self._pid = os.getpid()
        self._closing: set[asyncio.Task[None]] = set()

    def _client(self) -> httpx.AsyncClient:
        self._inherited.forget_parents()
        if self._own:
            return cast(httpx.AsyncClient, self._own)
        loop, clients = asyncio.get_running_loop(), self._own_clients()
        if loop not in clients:
            for ended in [known for known in clients if known.is_closed()]:
                del clients[ended]
            clients[loop] = messages.awaited(self._transport, self._tls, self._secret)
        return clients[loop]

    def _own_clients(self) -> _ByLoop:
        if self._pid != (pid := os.getpid()):
            self._parents.append(self._clients)
            self._clients, self._pid = weakref.WeakKeyDictionary(), pid
        return self._clients

    async def send(self, request: HttpRequest) -> Response:
        client = self._client()
        async with _Until(request.ends - self.now(), self._library):
            built = build(request, self._own)
            response = await client.send(built, stream=True, auth=None, follow_redirects=False)
            if request.stream and response.is_success:
                return to_response(response, request, chunks=response.aiter_raw())
            async with aclosing(response):
                return to_response(response, request, await response.aread())

    async def read(self, response: Response) -> bytes | None:
        chunks: AsyncIterator[bytes] = response.chunks
        if response.ends < math.inf:
            self.in_time(response.ends)
            async with _Until(response.ends - self.now(), self._library):
                return await anext(chunks, None)
        try:
            return await anext(chunks, None)
        except self._library.failures as error:
            raise failure(error, self._library) from None

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def call(self, function: Callable[[], T]) -> T:
        return await asyncio.to_thread(function)

    async def during(self, work: Callable[[], Any], meanwhile: Meanwhile, seconds: float) -> Any:
        async def repeat() -> None:
            while True:
                await asyncio.sleep(seconds)
                await meanwhile()

        repeating = asyncio.create_task(repeat())
        try:
            made = work()
            return await made if inspect.isawaitable(made) else made
        finally:
            repeating.cancel()

    def worker_pool(self) -> TaskPool[Any]:
        return TaskPool(self)

    async def close(self, response: Response | None = None) -> None:
        if response:
            await response.raw.aclose()
        elif client := self._own_clients().pop(asyncio.get_running_loop(), None):
            await client.aclose()

    def drop(self, response: Response) -> None:
        with suppress(RuntimeError):  # no loop is running; its end has closed the connection
            closing = asyncio.get_running_loop().create_task(self.close(response))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)


def _check(name: str, given: object, kind: type) -> None:
    newer = sys.modules.get("httpx2") if name == "http_client" else None
    if given is not None and not isinstance(given, (kind, getattr(newer, kind.__name__, kind))):
        its = f"{type(given).__module__.split('.')[0]}.{type(given).__name__}"
        raise TypeError(f"{name} must be an httpx.{kind.__name__} here, not {its}.")


def _check_proved(secret: Secret | None, theirs: object) -> None:
    if secret and theirs is not None:
        raise TypeError(
            "A client of the embedded service makes its own connections, to prove its peer:"
            " leave `revive` out, or `transport` and `http_client`."
        )


class _Until:
    """Cancels its block after `seconds`, and turns timeouts and the HTTP library's exceptions into
    `APIConnectionError`."""

    __slots__ = ("_library", "_timeout")

    def __init__(self, seconds: float, library: Library) -> None:
        self._library = library
        self._timeout = None if seconds == math.inf else asyncio.timeout(seconds)

    async def __aenter__(self) -> None:
        if self._timeout:
            await self._timeout.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        try:
            if self._timeout:
                await self._timeout.__aexit__(kind, error, at)
        except TimeoutError:
            raise deadline_passed() from None
        if isinstance(error, self._library.failures):
            raise failure(error, self._library) from None


def _wake_reader(response: httpx.Response) -> None:
    """Shut the connection down, which ends a `recv` in another thread; closing the socket would not."""
    stream = response.extensions.get("network_stream")
    connection = stream.get_extra_info("socket") if stream else None
    if isinstance(connection, socket.socket):
        with suppress(OSError):
            socket.socket.shutdown(connection, socket.SHUT_RDWR)
