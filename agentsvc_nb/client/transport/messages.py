"""Requests, responses and clients in the HTTP library's terms.

On asyncio the connections also read while they send an upload, so that an early response (a refusal) is not lost.
"""

from __future__ import annotations

import asyncio
import functools
import json
import socket
import ssl
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from http.cookiejar import CookieJar
from typing import Any, Final, cast
from urllib.parse import urlencode

import httpcore

from agentsvc_nb.client.errors import APIConnectionError
from agentsvc_nb.client.transport.deadline import bounded
from agentsvc_nb.client.transport.health import Secret
from agentsvc_nb.client.transport.io import HttpRequest, OnBytes, Response, step, tell
from agentsvc_nb.client.transport.library import httpx
from agentsvc_nb.client.transport.proving import proven, proven_async

_UPLOAD: Final = b"multipart/form-data"
_READ_BYTES: Final = 64 * 1024


def listen(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """Make the client's direct connections read while they send; those through a proxy do not. Returns the client."""
    pool = getattr(client._transport, "_pool", None)
    if isinstance(pool, httpcore.AsyncConnectionPool):
        pool._network_backend = _WatchedBackend(pool._network_backend)
    return client


class _WatchedBackend(httpcore.AsyncNetworkBackend):
    """A network backend whose connections are `_WatchedStream`s."""

    def __init__(self, backend: httpcore.AsyncNetworkBackend) -> None:
        self._backend = backend

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return _WatchedStream(await self._backend.connect_tcp(host, port, timeout, local_address, socket_options))

    async def sleep(self, seconds: float) -> None:
        await self._backend.sleep(seconds)


class _WatchedStream(httpcore.AsyncNetworkStream):
    """A connection that reads while it sends an upload, and so receives an early response.

    A service that refuses an upload responds and closes the connection before it has read the body. A client that only
    writes then fails with a broken connection, and never sees the response.
    """

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._head = b""
        """The head of the request that is being sent, b"" between requests."""
        self._early: asyncio.Task[bytes] | None = None
        self._spare: socket.socket | None = None
        """A nonblocking duplicate of the connection's socket, readable after the event loop has closed its own."""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if not self._head:
            self._head = buffer
        elif _UPLOAD in self._head and not self._early:
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
        early, self._early, self._head = self._early, None, b""
        if early is None:
            return await self._stream.read(max_bytes, timeout)
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

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        return _WatchedStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class ProgressBody(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A request body that reports to `hook` the bytes sent so far. Each attempt counts from zero again."""

    def __init__(self, body: object, total: int | None, hook: OnBytes) -> None:
        self._body, self._total, self._hook = body, total, hook

    def __iter__(self) -> Iterator[bytes]:
        sent = 0
        for chunk in cast(httpx.SyncByteStream, self._body):
            yield chunk
            sent += len(chunk)
            step(tell(self._hook, sent, self._total))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        sent = 0
        async for chunk in cast(httpx.AsyncByteStream, self._body):
            yield chunk
            sent += len(chunk)
            await tell(self._hook, sent, self._total)


CONNECT_SECONDS: Final = 10.0
_HEADERS: Final = {
    "accept": "*/*",
    "accept-encoding": "gzip, deflate",
    "connection": "keep-alive",
    "user-agent": "agentsvc-nb",
}
_BODYLESS: Final = frozenset({"GET", "HEAD", "DELETE"})
FAILURES: Final = (httpx.RequestError, httpx.StreamError, ssl.SSLError)
_UNSENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)


def build(request: HttpRequest, own: httpx.Client | httpx.AsyncClient | None = None) -> httpx.Request:
    """The request as an `httpx.Request`. A client that the caller supplied (`own`) adds its headers and cookies."""
    headers = {**_HEADERS, **request.headers, "authorization": f"Bearer {request.key}"}
    if request.stream:
        headers["accept-encoding"] = "identity"
    seconds = dict.fromkeys(("read", "write", "pool"), request.seconds)
    limits = {"timeout": {**seconds, "connect": min(request.seconds, CONNECT_SECONDS)}}
    make = own.build_request if own else httpx.Request if request.files is not None else _small
    built = make(request.method, _url(request), headers=headers, extensions=limits, **_content(request))
    if own:
        built.headers.pop("x-api-key", None)
    if request.on_sent:
        length = built.headers.get("content-length")
        built.stream = ProgressBody(built.stream, int(length) if length else None, request.on_sent)
    return built


def _content(request: HttpRequest) -> dict[str, Any]:
    """The body as keyword arguments of the library: JSON, or a multipart form with `payload` and `files`."""
    if request.files is None:
        return {} if request.body is None else {"json": request.body}
    payload = {} if request.body is None else {"payload": _json(request.body)}
    return {"data": payload, "files": [("files", file) for file in request.files]}


def _json(body: dict[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _small(
    method: str, url: httpx.URL, *, headers: dict[str, str], extensions: dict[str, Any], json: Any = None
) -> httpx.Request:
    """A request without files, built directly: the library's own constructor needs 70 us for the headers."""
    body = b"" if json is None else _json(json).encode()
    if json is not None:
        headers = {**headers, "content-type": "application/json"}
    if json is not None or method not in _BODYLESS:
        headers = {**headers, "content-length": str(len(body))}
    raw = [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]
    stream = httpx.ByteStream(body)
    return httpx.Request(method, url, headers=[(b"host", url.netloc), *raw], stream=stream, extensions=extensions)


def _url(request: HttpRequest) -> httpx.URL:
    return _parsed(f"{request.url}?{urlencode(request.query)}" if request.query else request.url)


@functools.lru_cache(maxsize=64)
def _parsed(url: str) -> httpx.URL:
    """Cached, because parsing takes 70 us and polling requests the same address again and again."""
    return httpx.URL(url)


def to_response(response: httpx.Response, request: HttpRequest, body: bytes = b"", chunks: Any = None) -> Response:
    headers = {name.lower().decode("ascii"): value.decode("latin-1") for name, value in response.headers.raw}
    return Response(response.status_code, headers, body, chunks and response, chunks, request.ends)


def failure(error: Exception) -> APIConnectionError:
    timed_out = isinstance(error, httpx.TimeoutException)
    why = str(error) or ("it took too long" if timed_out else type(error).__name__)
    return APIConnectionError(
        f"The service did not answer: {why}.", sent=not isinstance(error, _UNSENT), timed_out=timed_out
    )


_LIMITS: Final = httpx.Limits(
    max_connections=None,  # a stream holds its connection; requests must not queue behind streams
    keepalive_expiry=4.0,  # uvicorn closes idle connections after 5 s: close first, or a start may meet a closed one
)
_LOOPBACK: Final = ("all://127.0.0.1", "all://localhost", "all://[::1]")


def blocking(transport: httpx.BaseTransport | None, tls: bool, secret: Secret | None = None) -> httpx.Client:
    """A blocking HTTP client. Without `tls` it is for http addresses only.

    With a `secret`, each connection must prove that the embedded service at its other end holds it.
    """
    client = httpx.Client(**_options(transport, tls, secret is not None))
    return bounded(proven(client, secret) if secret else client)


def awaited(transport: httpx.AsyncBaseTransport | None, tls: bool, secret: Secret | None = None) -> httpx.AsyncClient:
    """An HTTP client for the running event loop; arguments as for `blocking`."""
    client = httpx.AsyncClient(**_options(transport, tls, secret is not None))
    return listen(proven_async(client, secret) if secret else client)


def _options(transport: Any, tls: bool, embedded: bool = False) -> dict[str, Any]:
    # A proxy cannot reach this machine's loopback, so HTTP_PROXY is ignored for it. The embedded service is always
    # reached directly, whatever address it listens on.
    direct = dict.fromkeys(_LOOPBACK)
    shared = {"follow_redirects": False, "limits": _LIMITS, "cookies": _NoCookies(), "trust_env": not embedded}
    trust = _ssl_context() if tls else _no_tls()
    return {**shared, "verify": trust, "transport": transport, "mounts": None if transport else direct}


class _NoCookies(CookieJar):
    """A cookie jar that stays empty: no cookie is ever sent, so none is parsed."""

    def extract_cookies(self, response: object, request: object) -> None:
        pass


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """One TLS context for the process: building it takes 14 ms, the rest of a client 0.05 ms."""
    return httpx.create_ssl_context()


@functools.cache
def _no_tls() -> ssl.SSLContext:
    """A TLS context for http addresses, which need none: quick to build, and it trusts no certificate."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
