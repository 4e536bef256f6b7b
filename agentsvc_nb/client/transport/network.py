"""Network connections for httpx, which keep the deadline of a call and verify their peer.

They implement the public network interface of httpcore, the library below httpx. httpcore passes the timeout of each
wait unchanged to its network backend. So our `Timeout` reaches the socket, with the deadline of the call and the
stopper with which another thread can end the call. With asyncio, `asyncio.timeout` and cancellation are enough.
"""

from __future__ import annotations

import math
import socket
import ssl
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import httpcore
import httpx

from agentsvc_nb import clock
from agentsvc_nb.client.transport.health import READ_BYTES, Health, Secret, UnverifiedPeer
from agentsvc_nb.client.transport.io import Stopper, WeakRegistry

KEEPALIVE_SECONDS: Final = 4.0
"""The seconds after which the client closes an idle connection.

uvicorn, the server, closes idle connections after 5 s. The client closes them earlier, so that no start is sent on a
connection that the server is closing.
"""
KEPT_CONNECTIONS: Final = 20
PROOF_SECONDS: Final = 5.0
"""The maximum number of seconds in which a peer must prove its identity. A proof takes about a millisecond."""
_WRITE_BYTES: Final = 16 * 1024
"""The maximum number of bytes per write, if there is a deadline.

The connection checks the deadline before each write. httpcore does not: it restarts the timeout for each piece of a
write that the peer accepts.
"""


UNREAD: Final = "nothing was read since the last write"
"""The argument with which `get_extra_info` of our connections returns True if nothing was read since the last write."""


class Timeout(float):
    """The maximum number of seconds of one wait. The wait must also end at `ends`, the deadline of the whole call."""

    ends: float
    stopper: Stopper | None

    def __new__(cls, seconds: float, ends: float = math.inf, stopper: Stopper | None = None) -> Timeout:
        made = super().__new__(cls, seconds)
        made.ends, made.stopper = ends, stopper
        return made


def _seconds_left(timeout: float | None, late: type[Exception]) -> float | None:
    """Return the maximum number of seconds of a wait that begins now. Raises `late` if the deadline has passed."""
    if not isinstance(timeout, Timeout) or timeout.ends == math.inf:
        return timeout
    left = timeout.ends - clock.monotonic()
    if left <= 0:
        raise late("the deadline passed")
    return min(timeout, left)


def shut_down(stream: Any) -> None:
    """Shut a connection down, which ends a `recv` in another thread. Closing the socket would not end it."""
    connection = stream.get_extra_info("socket")
    if isinstance(connection, socket.socket):
        with suppress(OSError):
            socket.socket.shutdown(connection, socket.SHUT_RDWR)  # the method of `SSLSocket` would wait for the peer


# -- blocking -------------------------------------------------------------------------------------------------------


class _Stream(httpcore.NetworkStream):
    """A blocking connection whose waits end at the deadline of the call, or when another thread stops the call."""

    def __init__(self, stream: httpcore.NetworkStream, opened: WeakRegistry[_Stream]) -> None:
        self._stream = stream
        self._opened = opened
        self._unread = False
        opened.add(self)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._unread = False
        return self._stream.read(max_bytes, _seconds_left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._unread = True
        if isinstance(timeout, Timeout) and timeout.stopper:
            timeout.stopper.set_wake(lambda: shut_down(self))
            if timeout.stopper.stopped:
                shut_down(self)  # otherwise httpcore would wait for a response
                raise httpcore.WriteError("the call was stopped")
        if not isinstance(timeout, Timeout) or timeout.ends == math.inf:
            self._stream.write(buffer, timeout)
            return
        for start in range(0, len(buffer), _WRITE_BYTES):
            piece = buffer[start : start + _WRITE_BYTES]
            self._stream.write(piece, _seconds_left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        seconds = _seconds_left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, seconds), self._opened)

    def get_extra_info(self, info: str) -> Any:
        return self._unread if info == UNREAD else self._stream.get_extra_info(info)


class _Backend(httpcore.SyncBackend):
    """Open blocking connections that keep deadlines. With a `secret`, each peer must prove that it knows the secret."""

    def __init__(self, secret: Secret | None) -> None:
        self.opened: WeakRegistry[_Stream] = WeakRegistry()
        self.closed = False
        self._secret = secret

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        failed: Exception | None = None
        for address in _addresses(host, port, timeout):
            seconds = _seconds_left(timeout, httpcore.ConnectTimeout)
            try:
                raw = super().connect_tcp(address, port, seconds, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
                continue
            stream = _Stream(raw, self.opened)
            try:
                if self._secret:
                    _prove(stream, host, port, self._secret, timeout)
                if self.closed:
                    raise httpcore.ConnectError("the client was closed")
            except BaseException:
                stream.close()
                raise
            return stream
        raise failed or httpcore.ConnectError("the host has no address")


def _addresses(host: str, port: int, timeout: float | None) -> list[str]:
    """Return the IP addresses of the host if there is a deadline, otherwise only the host.

    httpcore would restart the timeout for each address of the host, so the caller tries the addresses itself.
    """
    if not isinstance(timeout, Timeout) or timeout.ends == math.inf:
        return [host]
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise httpcore.ConnectError(str(error)) from None
    return [str(address[0]) for *_, address in found]


class BlockingTransport(httpx.BaseTransport):
    """A blocking httpx transport whose connections keep deadlines. With a `secret`, they also verify their peer."""

    def __init__(self, options: dict[str, Any], secret: Secret | None) -> None:
        self._backend = _Backend(secret)
        kinds = httpcore.ConnectionPool, httpcore.HTTPProxy, httpcore.SOCKSProxy
        self._pool: Any = _pool(kinds, options, self._backend)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._pool.handle_request(_core_request(request))
        return httpx.Response(
            response.status, headers=response.headers, stream=_Body(response), extensions=response.extensions
        )

    def abandon(self) -> None:
        """Close all connections, but not the pool, because Ctrl-C may have left one of the pool's locks locked."""
        for stream in self._backend.opened:
            stream.close()

    def close(self) -> None:
        self._backend.closed = True
        self._pool.close()
        self.abandon()  # the pool does not know a connection that another thread has just opened


class _Body(httpx.SyncByteStream):
    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        return self._response.iter_stream()

    def close(self) -> None:
        self._response.close()


# -- asyncio --------------------------------------------------------------------------------------------------------


class _AsyncStream(httpcore.AsyncNetworkStream):
    """An asyncio connection that can read a response that arrived before an upload failed.

    If a service refuses an upload, it sends a response and closes the connection. Then the event loop fails to write,
    and closes its socket without reading the response. A duplicate of the socket can still read it. With TLS, the
    response is lost.
    """

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._unread = False
        self._duplicate: socket.socket | None = None

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if buffer and self._unread and self._duplicate is None and not self.get_extra_info("ssl_object"):
            with suppress(OSError):  # the event loop has already closed it
                self._duplicate = self.get_extra_info("socket").dup()
        self._unread = True
        await self._stream.write(buffer, timeout)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._unread = False
        try:
            return await self._stream.read(max_bytes, timeout)
        except httpcore.ReadError:
            with suppress(OSError):
                if self._duplicate and (answer := self._duplicate.recv(max_bytes)):
                    return answer
            raise
        finally:
            self._close_duplicate()

    async def aclose(self) -> None:
        self._close_duplicate()
        await self._stream.aclose()

    def _close_duplicate(self) -> None:
        if self._duplicate:
            self._duplicate.close()
            self._duplicate = None

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        return _AsyncStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._unread if info == UNREAD else self._stream.get_extra_info(info)


class _AsyncBackend(httpcore.AnyIOBackend):
    """Open asyncio connections. With a `secret`, each peer must prove that it knows the secret."""

    def __init__(self, secret: Secret | None) -> None:
        self._secret = secret

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        stream = _AsyncStream(await super().connect_tcp(host, port, timeout, local_address, socket_options))
        if self._secret:
            try:
                await _prove_async(stream, host, port, self._secret, timeout)
            except BaseException:
                await stream.aclose()
                raise
        return stream


class AsyncTransport(httpx.AsyncBaseTransport):
    """An httpx transport for one event loop. With a `secret`, its connections verify their peer."""

    def __init__(self, options: dict[str, Any], secret: Secret | None) -> None:
        kinds = httpcore.AsyncConnectionPool, httpcore.AsyncHTTPProxy, httpcore.AsyncSOCKSProxy
        self._pool: Any = _pool(kinds, options, _AsyncBackend(secret))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._pool.handle_async_request(_core_request(request))
        return httpx.Response(
            response.status, headers=response.headers, stream=_AsyncBody(response), extensions=response.extensions
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


class _AsyncBody(httpx.AsyncByteStream):
    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._response.aiter_stream()

    async def aclose(self) -> None:
        await self._response.aclose()


# -- both -----------------------------------------------------------------------------------------------------------


def _core_request(request: httpx.Request) -> httpcore.Request:
    url = request.url
    return httpcore.Request(
        request.method,
        httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
        headers=request.headers.raw,
        content=request.stream,
        extensions=request.extensions,
    )


def _pool(kinds: tuple[Any, Any, Any], options: dict[str, Any], backend: object) -> Any:
    """Return a connection pool for the `options` that `wire.proxies.connection_options` returns.

    `kinds` are httpcore's pool classes for direct connections, for an HTTP proxy and for a SOCKS proxy.
    """
    direct, through_http, through_socks = kinds
    limits = {
        # Each event stream occupies a connection, and requests must not wait for streams.
        "max_connections": None,
        "max_keepalive_connections": KEPT_CONNECTIONS,
        "keepalive_expiry": KEEPALIVE_SECONDS,
        "network_backend": backend,
        "ssl_context": options["verify"],
    }
    if not options.get("proxy"):
        return direct(**limits)
    proxy = httpx.Proxy(options["proxy"])
    at = httpcore.URL(scheme=proxy.url.raw_scheme, host=proxy.url.raw_host, port=proxy.url.port, target="/")
    if proxy.url.scheme.startswith("socks"):
        return through_socks(proxy_url=at, proxy_auth=proxy.raw_auth, **limits)
    return through_http(proxy_url=at, proxy_auth=proxy.raw_auth, proxy_headers=proxy.headers.raw, **limits)


# The embedded service stops when it is idle. Then another process may use its port. So the peer of each new connection
# must prove that it is the service (docs/api/embedded.md). Without this proof, the connection fails as if it had been
# refused.


class _ProofTime:
    """The time in which a peer must prove its identity: 5 seconds, or the connect timeout if that is shorter."""

    def __init__(self, timeout: float | None) -> None:
        seconds = _seconds_left(timeout, httpcore.ConnectTimeout)
        self.is_ours = seconds is None or seconds >= PROOF_SECONDS
        self._ends = clock.monotonic() + min(PROOF_SECONDS, math.inf if seconds is None else seconds)

    @property
    def left(self) -> float:
        """Return the seconds left. Raises `httpcore.ReadTimeout` at zero.

        The socket's own timeout is not enough, because it restarts with each byte.
        """
        seconds = self._ends - clock.monotonic()
        if seconds <= 0:
            raise httpcore.ReadTimeout
        return seconds


@contextmanager
def _convert_proof_errors(host: str, port: int, time_left: _ProofTime) -> Iterator[None]:
    """Turn a failed proof into `httpcore.ConnectError`, or into `ConnectTimeout` if the connect timeout ended it.

    These exceptions tell the client that nothing was sent, so it finds or starts the service again.
    """
    try:
        yield
    except (httpcore.NetworkError, httpcore.TimeoutException, OSError, ValueError, UnverifiedPeer) as error:
        late = isinstance(error, httpcore.TimeoutException)
        if late and not time_left.is_ours:
            raise httpcore.ConnectTimeout from None
        why = "it does not answer" if late else str(error) or "the connection broke"
        raise httpcore.ConnectError(
            f"the program at {host}:{port} did not prove that it is your embedded service ({why}), so nothing was sent"
        ) from None


def _prove(stream: _Stream, host: str, port: int, secret: Secret, timeout: float | None) -> None:
    time_left, health = _ProofTime(timeout), Health(host, port)
    with _convert_proof_errors(host, port, time_left):
        peer = stream.get_extra_info("server_addr")
        stream.write(health.request, time_left.left)
        while not health.feed(stream.read(READ_BYTES, time_left.left)):
            pass
        health.check(secret.key, peer)


async def _prove_async(
    stream: httpcore.AsyncNetworkStream, host: str, port: int, secret: Secret, timeout: float | None
) -> None:
    time_left, health = _ProofTime(timeout), Health(host, port)
    with _convert_proof_errors(host, port, time_left):
        peer = stream.get_extra_info("server_addr")
        await stream.write(health.request, time_left.left)
        while not health.feed(await stream.read(READ_BYTES, time_left.left)):
            pass
        health.check(secret.key, peer)
