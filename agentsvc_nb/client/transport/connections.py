"""Connections that do what the HTTP library's own do not, as network backends of its connection pools.

- Those to the embedded service verify their peer before they carry a request (`proven`).
- On asyncio they also read while they send an upload, so that an early response (a refusal) is not lost (`listen`).
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, cast

import httpcore

from agentsvc_nb.client.transport.deadlines import pools
from agentsvc_nb.client.transport.health import READ_BYTES, Health, Secret, Unproved
from agentsvc_nb.client.transport.io import UNASKED, PieceSize
from agentsvc_nb.client.transport.stopping import WeakRegistry

if TYPE_CHECKING:
    import asyncio

    import httpx  # not here: `messages` imports it, without its command line

# -- the proof ------------------------------------------------------------------------------------------------------
#
# The embedded service stops when it is idle, and another process may then take its port. Verifying once is not enough,
# because the connection pool opens new connections whenever it has none left. So the pool's network backend requests
# the proof on each new connection, and closes one without a proof as if it had been refused. See docs/decisions/0028.

PROOF_SECONDS: Final = 5.0
"""Limit for one proof. It takes a millisecond: a peer that takes so long is not the service, or is unusable."""
_BROKEN: Final = (httpcore.NetworkError, httpcore.TimeoutException, OSError, ValueError)


def proven(client: httpx.Client, secret: Secret) -> httpx.Client:
    """Make each connection of the client verify its peer. Returns the same client."""
    pool = cast(Any, client._transport)._pool  # raises for a version of the library without it: better than unproved
    pool._network_backend = _ProvingBackend(pool._network_backend, secret)
    return client


def proven_async(client: httpx.AsyncClient, secret: Secret) -> httpx.AsyncClient:
    """`proven` for asyncio."""
    pool = cast(Any, client._transport)._pool
    pool._network_backend = _AsyncProvingBackend(pool._network_backend, secret)
    return client


class _Patience:
    """The time for the proof of one connection: the shorter of `PROOF_SECONDS` and the caller's connect timeout."""

    def __init__(self, timeout: float | None) -> None:
        seconds = PROOF_SECONDS if timeout is None else min(timeout, PROOF_SECONDS)
        self._ends, self._is_ours = time.monotonic() + seconds, seconds == PROOF_SECONDS

    @property
    def left(self) -> float:
        """Seconds left. Raises `httpcore.ReadTimeout` when none are; a socket's timeout restarts with each byte."""
        seconds = self._ends - time.monotonic()
        if seconds <= 0:
            raise httpcore.ReadTimeout
        return seconds

    @contextmanager
    def explaining(self, host: str, port: int) -> Iterator[None]:
        """Turn a failed proof into `httpcore.ConnectError`, as for a refused connection.

        The client then knows that nothing was sent, and looks for the service again. Raises `httpcore.ConnectTimeout`
        instead if the caller's own timeout ended the proof.
        """
        try:
            yield
        except (*_BROKEN, Unproved) as error:
            late = isinstance(error, httpcore.TimeoutException)
            if late and not self._is_ours:
                raise httpcore.ConnectTimeout from None
            why = "it does not answer" if late else str(error) or "the connection broke"
            raise httpcore.ConnectError(
                f"what listens at {host}:{port} does not prove that it is your embedded service ({why}), "
                "so nothing was sent"
            ) from None


class _ProvingBackend(httpcore.NetworkBackend):
    """A network backend that requests the proof on each new connection, and closes one without it."""

    def __init__(self, backend: httpcore.NetworkBackend, secret: Secret) -> None:
        self._backend = backend
        self._secret = secret

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        stream = self._backend.connect_tcp(host, port, timeout, local_address, socket_options)
        patience = _Patience(timeout)
        try:
            with patience.explaining(host, port):
                self._prove(stream, Health(host, port), patience)
        except BaseException:
            stream.close()
            raise
        return stream

    def _prove(self, stream: httpcore.NetworkStream, health: Health, patience: _Patience) -> None:
        peer = stream.get_extra_info("server_addr")
        stream.write(health.request, patience.left)
        while not health.hear(stream.read(READ_BYTES, patience.left)):
            pass
        health.check(self._secret.key, peer)

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


class _AsyncProvingBackend(httpcore.AsyncNetworkBackend):
    """`_ProvingBackend` for asyncio."""

    def __init__(self, backend: httpcore.AsyncNetworkBackend, secret: Secret) -> None:
        self._backend = backend
        self._secret = secret

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        stream = await self._backend.connect_tcp(host, port, timeout, local_address, socket_options)
        patience = _Patience(timeout)
        try:
            with patience.explaining(host, port):
                await self._prove(stream, Health(host, port), patience)
        except BaseException:
            await stream.aclose()
            raise
        return stream

    async def _prove(self, stream: httpcore.AsyncNetworkStream, health: Health, patience: _Patience) -> None:
        peer = stream.get_extra_info("server_addr")
        await stream.write(health.request, patience.left)
        while not health.hear(await stream.read(READ_BYTES, patience.left)):
            pass
        health.check(self._secret.key, peer)

    async def sleep(self, seconds: float) -> None:
        await self._backend.sleep(seconds)


# -- early responses ------------------------------------------------------------------------------------------------

_UPLOAD: Final = b"multipart/form-data"
_READ_BYTES: Final = 64 * 1024


def listen(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """Make the client's connections, also those through proxies, read while they send. Returns the client."""
    for pool in pools(client):
        if not isinstance(pool._network_backend, _WatchedBackend):
            pool._network_backend = _WatchedBackend(pool._network_backend)
    return client


def abandon(client: httpx.AsyncClient) -> None:
    """Shut down what a client opened on an event loop that has ended, which can't close it any more."""
    for pool in pools(client):
        if isinstance(pool._network_backend, _WatchedBackend):
            for stream in pool._network_backend.opened:
                stream.shut_down()


class _WatchedBackend(httpcore.AsyncNetworkBackend):
    """A network backend whose connections are `_WatchedStream`s."""

    def __init__(self, backend: httpcore.AsyncNetworkBackend) -> None:
        self._backend = backend
        self.opened: WeakRegistry[_WatchedStream] = WeakRegistry()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        stream = await self._backend.connect_tcp(host, port, timeout, local_address, socket_options)
        return _WatchedStream(stream, self.opened)

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.AsyncNetworkStream:
        return _WatchedStream(await self._backend.connect_unix_socket(path, timeout, socket_options), self.opened)

    async def sleep(self, seconds: float) -> None:
        await self._backend.sleep(seconds)


class _WatchedStream(httpcore.AsyncNetworkStream):
    """A connection that reads while it sends an upload, and so receives an early response.

    A service that refuses an upload responds and closes the connection before it has read the body. A client that only
    writes then fails with a broken connection, and never sees the response.
    """

    def __init__(self, stream: httpcore.AsyncNetworkStream, opened: WeakRegistry[_WatchedStream]) -> None:
        self._stream = stream
        self._opened = opened
        opened.add(self)
        self._unread = False  # since the last write
        self._head = b""  # of the request that is being sent; b"" between requests
        self._pieces = PieceSize()
        self._early: asyncio.Task[bytes] | None = None
        self._spare: socket.socket | None = None
        """A nonblocking duplicate of the connection's socket, readable after the event loop has closed its own."""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        import asyncio  # here, for the blocking client

        self._unread = True
        if not self._head:
            self._head = buffer
        elif _UPLOAD in self._head and not self._early:
            with suppress(OSError):  # the event loop has closed it already: the task tells of that
                self._spare = None if self.get_extra_info("ssl_object") else self.get_extra_info("socket").dup()
            self._early = asyncio.create_task(self._stream.read(_READ_BYTES))
            await asyncio.sleep(0)  # let the task begin to read
        if self._early and self.get_extra_info("is_readable"):
            # A write to a closed connection would lose the response that came before. So give the event loop two
            # turns first: one to read it, one to hand it over.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        await self._stream.write(buffer, timeout)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        early, self._early, self._head, self._unread = self._early, None, b"", False
        if early is None:
            data = await self._stream.read(self._pieces.most(max_bytes), timeout)
            self._pieces.came = len(data)
            return data
        import asyncio

        try:
            async with asyncio.timeout(timeout):
                return await early
        except TimeoutError:
            raise httpcore.ReadTimeout from None
        except httpcore.ReadError:
            if rest := self._rest():
                return rest
            raise
        finally:
            self._leave()

    def _rest(self) -> bytes:
        """Bytes that arrived before the connection failed and that the event loop did not read in time."""
        rest = b""
        with suppress(OSError):
            while self._spare and (block := self._spare.recv(_READ_BYTES)):
                rest += block
        return rest

    def _leave(self) -> None:
        if self._spare:
            self._spare.close()
            self._spare = None

    async def aclose(self) -> None:
        if self._early and not self._early.cancel():
            self._early.exception()  # retrieved, so that asyncio does not log it: the failure is known
        self._leave()
        await self._stream.aclose()

    def shut_down(self) -> None:
        self._leave()
        with suppress(OSError, TypeError):  # not connected any more; uvloop, which closed it as the loop ended
            self.get_extra_info("socket").shutdown(socket.SHUT_RDWR)

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        return _WatchedStream(await self._stream.start_tls(ssl_context, server_hostname, timeout), self._opened)

    def get_extra_info(self, info: str) -> Any:
        return self._unread if info == UNASKED else self._stream.get_extra_info(info)
