"""The blocking implementation of `io.IO`, and what both have; that on asyncio is `aio`.

Of the client only these two, `messages`, `endings`, `connections` and `deadlines` use the HTTP library.
"""

from __future__ import annotations

import functools
import math
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, TypeVar, cast

from agentsvc_nb.client.errors import APIConnectionError, client_closed, deadline_passed
from agentsvc_nb.client.transport import deadlines, messages
from agentsvc_nb.client.transport.endings import InFlightRequests, failed, hang_up, interrupted
from agentsvc_nb.client.transport.forks import Inherited
from agentsvc_nb.client.transport.health import Secret
from agentsvc_nb.client.transport.io import CLOCK_SLACK, HttpRequest, Response, ThreadPool, run_sync
from agentsvc_nb.client.transport.messages import (
    build,
    check_proxy,
    check_size,
    failure,
    httpx,
    is_unasked,
    is_usable,
    library_of,
    to_response,
    unasked,
)
from agentsvc_nb.client.transport.stopping import Stopper

__all__ = ["AsyncClient", "AsyncTransport", "SyncClient", "SyncIO", "SyncTransport", "is_usable"]

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


class Clocks:
    """The clocks of both implementations."""

    def now(self) -> float:
        return time.monotonic()

    def today(self) -> date:
        return datetime.now(UTC).date()

    def in_time(self, ends: float) -> None:
        if self.now() >= ends:
            raise deadline_passed()


class SyncIO(Clocks):
    """Blocking I/O. HTTP clients are stored by process id, because a forked child must not use its parent's sockets.

    With a `secret`, each connection must prove that the embedded service at its other end holds it. Raises `TypeError`
    for a `transport` or `client` of the wrong type, and for one together with a `secret`.
    """

    awaited: bool = False

    def __init__(
        self,
        transport: SyncTransport | None = None,
        client: SyncClient | None = None,
        url: str = "",
        secret: Secret | None = None,
    ) -> None:
        check("transport", transport, SyncTransport)
        check("http_client", client, httpx.Client)
        check_proved(secret, transport or client)
        self._transport = transport
        self._own: Any = client
        self._library = library_of(client)
        self._inherited = Inherited(client or transport)
        if client:
            deadlines.bounded(client)
        self._url = url
        self._environment_url = "" if client or transport or secret else url
        self._secret = secret
        self._clients: dict[int, httpx.Client] = {}
        self._in_flight = InFlightRequests()

    def _client(self) -> httpx.Client:
        self._inherited.forget_parents()
        if self._own:
            return cast(httpx.Client, self._own)
        pid = os.getpid()
        if (client := self._clients.get(pid)) is None:
            client = self._clients.setdefault(pid, messages.blocking(self._transport, self._url, self._secret))
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
        stopper = request.stopper or Stopper()
        self._in_flight.calls.add(stopper)
        try:
            with self._until(request.ends, stopper):
                response = client.send(built, stream=True, auth=None, follow_redirects=False)
                if is_unasked(response):
                    hang_up(response)
                    raise unasked()
                try:
                    check_proxy(response, self._environment_url)
                except APIConnectionError:
                    hang_up(response)
                    raise
                if request.stream and response.is_success:
                    return self._in_flight.streamed(to_response(response, request, chunks=response.iter_raw()))
                answered = to_response(response, request, self._whole(response, request.ends))
        finally:
            self._in_flight.calls.discard(stopper)
        if stopper.stopped:  # what came may be no more than the beginning
            raise client_closed()
        return answered

    def _whole(self, response: httpx.Response, ends: float) -> bytes:
        """Read the whole body. Checks the deadline between chunks, because each byte restarts the read timeout."""
        try:
            with closing(response):
                whole = bytearray()
                for chunk in response.iter_bytes():
                    whole += chunk
                    check_size(whole)
                    self.in_time(ends)
                return bytes(whole)
        except KeyboardInterrupt:
            interrupted(response)
            raise

    async def read(self, response: Response) -> bytes | None:
        chunks: Iterator[bytes] = response.chunks
        try:
            if response.ends < math.inf:
                self.in_time(response.ends)
                with self._until(response.ends):
                    chunk = next(chunks, None)
            else:
                deadlines.lift()  # what `_until` does costs more than the rest of an event of a stream
                chunk = next(chunks, None)
        except self._library.known as error:
            raise failed(error, response, chunks, self._library) from None
        except KeyboardInterrupt:
            if response.raw:
                interrupted(response.raw)
            raise
        if chunk is None and response.chunks is not chunks:
            raise client_closed()
        return chunk

    @contextmanager
    def _until(self, ends: float, stopper: Stopper | None = None) -> Iterator[None]:
        """End waits at the deadline, and turn exceptions of the HTTP library into `APIConnectionError`."""
        try:
            with deadlines.until(ends, self.now, stopper):
                yield
        except self._library.failures as error:
            failed = failure(error, self._library, self._environment_url)
            if stopper and stopper.stopped:
                failed = client_closed(sent=getattr(failed, "sent", True))
            if isinstance(failed, APIConnectionError) and failed.timed_out and ends - self.now() < CLOCK_SLACK:
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
                run_sync(meanwhile())

        threading.Thread(target=repeat, daemon=True, name="agentsvc-meanwhile").start()
        try:
            return work()
        finally:
            ended.set()

    def worker_pool(self) -> ThreadPool[Any]:
        return ThreadPool(self, None if self._own or self._transport else self._lane)

    def _lane(self) -> SyncIO:
        return SyncIO(url=self._url, secret=self._secret)

    async def close(self, response: Response | None = None) -> None:
        if response:
            self.drop(response)
            return
        for raw in self._in_flight.end():
            hang_up(raw)
        if client := self._clients.pop(os.getpid(), None):
            client.close()

    def drop(self, response: Response) -> None:
        if response.raw:
            hang_up(response.raw)


def knock(address: str, seconds: float) -> None:
    """Raise `StefanBrainError` unless a service answers at this address, with any status. No key is sent."""
    io = SyncIO(url=address)
    try:
        run_sync(io.send(HttpRequest("GET", f"{address}/healthz", seconds, key="", ends=io.now() + 3 * seconds)))
    finally:
        run_sync(io.close())


def _close_in(pid: int, client: httpx.Client) -> None:
    """Close a client in the process that made it: in a forked child, a thread of the parent may hold its lock."""
    if os.getpid() == pid:
        client.close()


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


def check(name: str, given: object, kind: type) -> None:
    newer = sys.modules.get("httpx2") if name == "http_client" else None
    if given is not None and not isinstance(given, (kind, getattr(newer, kind.__name__, kind))):
        its = f"{type(given).__module__.split('.')[0]}.{type(given).__name__}"
        raise TypeError(f"{name} must be an httpx.{kind.__name__} here, not {its}.")


def check_proved(secret: Secret | None, theirs: object) -> None:
    if secret and theirs is not None:
        raise TypeError(
            "A client of the embedded service makes its own connections, to prove its peer:"
            " leave `revive` out, or `transport` and `http_client`."
        )
