"""The client's I/O on asyncio, with the same methods as `http.SyncIO`.

Blocking clients do not import this module, because the import would take 10 % of the time of their first call.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import os
import weakref
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, TypeVar

import httpx

from agentsvc_nb.client.errors import closed_error, deadline_error
from agentsvc_nb.client.transport.health import Secret
from agentsvc_nb.client.transport.http import (
    FAILURES,
    Clocks,
    Meanwhile,
    after_fork,
    build,
    check_arguments,
    check_origin,
    check_readable,
    check_size,
    failure,
    network_options,
    to_response,
)
from agentsvc_nb.client.transport.io import HttpRequest, InFlightRequests, Response, Stopper
from agentsvc_nb.client.transport.network import AsyncTransport

T = TypeVar("T")
_ByLoop = weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, T]


class AsyncIO(Clocks):
    """Send requests and read responses on asyncio. The arguments and exceptions are those of `SyncIO`.

    Each event loop has a separate HTTP client, so that a program can call `asyncio.run` several times.
    """

    awaited: bool = True

    def __init__(
        self,
        transport: httpx.AsyncBaseTransport | None = None,
        client: httpx.AsyncClient | None = None,
        url: str = "",
        secret: Secret | None = None,
    ) -> None:
        check_arguments(transport, client, httpx.AsyncBaseTransport, httpx.AsyncClient, secret)
        self._transport = transport
        self._given = client
        self._url = url
        self._environment_url = "" if client or transport or secret else url
        self._secret = secret
        self._clients: _ByLoop[httpx.AsyncClient] = weakref.WeakKeyDictionary()
        self._in_flight: _ByLoop[InFlightRequests] = weakref.WeakKeyDictionary()
        self._pid = os.getpid()
        self._closing: set[asyncio.Task[None]] = set()

    def _client(self) -> httpx.AsyncClient:
        if self._pid != os.getpid():  # a forked child may continue with the parent's event loop
            raise after_fork()
        if self._given:
            return self._given
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            transport = self._transport or AsyncTransport(network_options(self._url, self._secret), self._secret)
            self._clients[loop] = httpx.AsyncClient(transport=transport, trust_env=False)
        return self._clients[loop]

    async def send(self, request: HttpRequest) -> Response:
        client = self._client()
        in_flight = self._in_flight.setdefault(asyncio.get_running_loop(), InFlightRequests())
        stopper = request.stopper or Stopper()
        in_flight.calls.add(stopper)
        try:
            async with _DeadlineScope(request.ends, stopper, self._environment_url):
                response = await client.send(
                    build(request, own=self._given), stream=True, auth=None, follow_redirects=False
                )
                try:
                    check_origin(response, self._environment_url)
                    if request.stream and response.is_success:
                        chunks = response.aiter_raw()
                        return in_flight.responses.add(to_response(response, request, chunks=chunks))
                    whole = bytearray()
                    async for chunk in response.aiter_bytes():
                        whole += chunk
                        check_size(whole)
                except BaseException:
                    await response.aclose()
                    raise
                return to_response(response, request, bytes(whole))
        except RuntimeError:
            if not client.is_closed:
                raise
            raise closed_error(sent=False) from None
        finally:
            in_flight.calls.discard(stopper)

    async def read(self, response: Response) -> bytes | None:
        check_readable(response)
        try:
            if response.ends < math.inf:
                self.in_time(response.ends)
                async with _DeadlineScope(response.ends):
                    chunk: bytes | None = await anext(response.chunks, None)
            else:
                chunk = await anext(response.chunks, None)
        except FAILURES as error:
            raise closed_error() if response.cut_off else failure(error) from None
        if chunk is None and response.cut_off:
            raise closed_error()
        return chunk

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def run_blocking(self, function: Callable[[], T]) -> T:
        return await asyncio.to_thread(function)

    async def run_with_repeats(self, work: Callable[[], Any], meanwhile: Meanwhile, seconds: float) -> Any:
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

    async def close(self, response: Response | None = None) -> None:
        if response:
            await response.raw.aclose()
            return
        loop = asyncio.get_running_loop()
        for raw in self._in_flight.pop(loop).end() if loop in self._in_flight else ():
            await raw.aclose()
        if client := self._clients.pop(loop, None):
            await client.aclose()

    def drop(self, response: Response) -> None:
        with suppress(RuntimeError):  # no event loop is running: its end has closed the connection
            closing = asyncio.get_running_loop().create_task(self.close(response))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)


class _DeadlineScope:
    """A context manager that ends its block at the deadline, or when `stopper` stops it.

    It turns the exceptions of the HTTP library into the client's errors.
    """

    __slots__ = ("_ends", "_environment_url", "_stopper", "_timeout")

    def __init__(self, ends: float, stopper: Stopper | None = None, environment_url: str = "") -> None:
        self._ends = ends
        self._environment_url = environment_url
        self._stopper = stopper
        # The deadline is a time of `time.monotonic`, but the event loop may use another clock.
        self._timeout = asyncio.timeout(None if ends == math.inf else ends - Clocks().now())

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()
        if self._stopper:
            self._stopper.set_wake(self._end)
            if self._stopper.stopped:
                self._end()

    def _end(self) -> None:
        self._timeout.reschedule(asyncio.get_running_loop().time())

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        stopped = self._stopper is not None and self._stopper.stopped
        if self._stopper:
            self._stopper.set_wake(None)
        try:
            await self._timeout.__aexit__(kind, error, at)
        except TimeoutError:
            raise closed_error() if stopped else deadline_error() from None
        if isinstance(error, FAILURES):
            raise closed_error() if stopped else failure(error, self._environment_url, self._ends) from None
