"""The implementation of `io.IO` on asyncio, whose import would be a tenth of a blocking client's first call."""

from __future__ import annotations

import asyncio
import inspect
import math
import os
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import aclosing, suppress
from types import TracebackType
from typing import Any, Generic, TypeVar, cast

from agentsvc_nb.client.errors import APIConnectionError, client_closed, deadline_passed
from agentsvc_nb.client.transport import messages
from agentsvc_nb.client.transport.connections import abandon
from agentsvc_nb.client.transport.endings import InFlightRequests, failed
from agentsvc_nb.client.transport.forks import Inherited
from agentsvc_nb.client.transport.health import Secret
from agentsvc_nb.client.transport.http import (
    AsyncClient,
    AsyncTransport,
    Clocks,
    Meanwhile,
    check,
    check_proved,
)
from agentsvc_nb.client.transport.io import IO, LOOK_SECONDS, HttpRequest, Response
from agentsvc_nb.client.transport.messages import (
    Library,
    build,
    check_proxy,
    check_size,
    failure,
    httpx,
    is_unasked,
    library_of,
    to_response,
    unasked,
)
from agentsvc_nb.client.transport.stopping import Stopper

T = TypeVar("T")
_ByLoop = weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, T]


class AsyncIO(Clocks):
    """I/O on asyncio, with one HTTP client per event loop, so that several `asyncio.run` in a row work.

    A forked child, which may continue on its parent's loop, gets clients of its own. Arguments and exceptions as for
    `SyncIO`.
    """

    awaited: bool = True

    def __init__(
        self,
        transport: AsyncTransport | None = None,
        client: AsyncClient | None = None,
        url: str = "",
        secret: Secret | None = None,
    ) -> None:
        check("transport", transport, AsyncTransport)
        check("http_client", client, httpx.AsyncClient)
        check_proved(secret, transport or client)
        self._transport = transport
        self._own: Any = client
        self._library = library_of(client)
        self._inherited = Inherited(client or transport)
        self._url = url
        self._environment_url = "" if client or transport or secret else url
        self._secret = secret
        self._clients: _ByLoop[httpx.AsyncClient] = weakref.WeakKeyDictionary()
        self._in_flight: _ByLoop[InFlightRequests] = weakref.WeakKeyDictionary()
        self._parents: list[_ByLoop[httpx.AsyncClient]] = []
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
            self._leave_ended_loops()
            clients[loop] = messages.awaited(self._transport, self._url, self._secret)
        return clients[loop]

    def _own_clients(self) -> _ByLoop[httpx.AsyncClient]:
        if self._pid != (pid := os.getpid()):
            self._parents.append(self._clients)
            self._clients, self._pid = weakref.WeakKeyDictionary(), pid
        return self._clients

    def _leave_ended_loops(self) -> None:
        clients = self._own_clients()
        ended = [loop for known in clients.keyrefs() if (loop := known()) and loop.is_closed()]
        for loop in ended:
            client = clients.pop(loop, None)
            if client and not self._transport:  # theirs has one pool for all loops
                abandon(client)

    async def send(self, request: HttpRequest) -> Response:
        client = self._client()
        in_flight = self._in_flight.setdefault(asyncio.get_running_loop(), InFlightRequests())
        stopper = request.stopper or Stopper()
        in_flight.calls.add(stopper)
        try:
            async with _Until(request.ends - self.now(), self._library, stopper, self._environment_url):
                built = build(request, self._own)
                response = await client.send(built, stream=True, auth=None, follow_redirects=False)
                if is_unasked(response):
                    await response.aclose()
                    raise unasked()
                try:
                    check_proxy(response, self._environment_url)
                except APIConnectionError:
                    await response.aclose()
                    raise
                if request.stream and response.is_success:
                    return in_flight.streamed(to_response(response, request, chunks=response.aiter_raw()))
                whole = bytearray()
                pieces = cast("AsyncGenerator[bytes, None]", response.aiter_bytes())
                async with aclosing(response), aclosing(pieces) as chunks:
                    async for chunk in chunks:
                        whole += chunk
                        check_size(whole)
                return to_response(response, request, bytes(whole))
        finally:
            in_flight.calls.discard(stopper)

    async def read(self, response: Response) -> bytes | None:
        chunks: AsyncIterator[bytes] = response.chunks
        try:
            if response.ends < math.inf:
                self.in_time(response.ends)
                async with _Until(response.ends - self.now(), self._library):
                    chunk = await anext(chunks, None)
            else:
                chunk = await anext(chunks, None)
        except self._library.known as error:
            raise failed(error, response, chunks, self._library) from None
        if chunk is None and response.chunks is not chunks:
            raise client_closed()
        return chunk

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
            if response.raw:
                await response.raw.aclose()
            return
        loop = asyncio.get_running_loop()
        for raw in self._in_flight.pop(loop).end() if loop in self._in_flight else ():
            await raw.aclose()
        if client := self._own_clients().pop(loop, None):
            await client.aclose()
        self._leave_ended_loops()

    def drop(self, response: Response) -> None:
        with suppress(RuntimeError):  # no loop is running; its end has closed the connection
            closing = asyncio.get_running_loop().create_task(self.close(response))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)


class _Until:
    """Cancels its block after `seconds`, and turns timeouts and the HTTP library's exceptions into
    `APIConnectionError`."""

    __slots__ = ("_environment_url", "_library", "_stopper", "_timeout")

    def __init__(
        self, seconds: float, library: Library, stopper: Stopper | None = None, environment_url: str = ""
    ) -> None:
        self._library = library
        self._environment_url = environment_url
        self._stopper = stopper
        limit = None if seconds == math.inf else seconds
        self._timeout = None if limit is None and stopper is None else asyncio.timeout(limit)

    async def __aenter__(self) -> None:
        if self._timeout:
            await self._timeout.__aenter__()
        if self._stopper:
            self._stopper.waits(self._end)
            if self._stopper.stopped:
                self._end()

    def _end(self) -> None:
        if self._timeout:
            self._timeout.reschedule(asyncio.get_running_loop().time())

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        stopped = self._stopper is not None and self._stopper.stopped
        if self._stopper:
            self._stopper.waits(None)
        try:
            if self._timeout:
                await self._timeout.__aexit__(kind, error, at)
        except TimeoutError:
            raise client_closed() if stopped else deadline_passed() from None
        if isinstance(error, self._library.failures):
            raise client_closed() if stopped else failure(error, self._library, self._environment_url) from None


class TaskPool(Generic[T]):
    """Runs coroutines as tasks of the running event loop. Leaving the pool cancels them."""

    def __init__(self, io: IO) -> None:
        self.io = io
        self._tasks: set[asyncio.Task[T]] = set()
        self._ended: asyncio.Queue[asyncio.Task[T]] = asyncio.Queue()

    def start(self, work: Coroutine[Any, Any, T]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended.put_nowait)

    async def next(self, seconds: float) -> T | None:
        try:
            async with asyncio.timeout(min(max(seconds, 0.0), LOOK_SECONDS)):
                task = await self._ended.get()
        except TimeoutError:
            return None
        self._tasks.discard(task)
        return task.result()

    async def leave(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
