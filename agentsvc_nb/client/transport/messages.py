"""Requests, responses and clients in the HTTP library's terms, and the library itself, `httpx`."""

from __future__ import annotations

import functools
import ssl
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from http.cookiejar import CookieJar
from typing import Any, Final, cast
from urllib.parse import urlencode

from agentsvc_nb import __version__
from agentsvc_nb.client.errors import APIConnectionError, StefanBrainError
from agentsvc_nb.client.transport.connections import listen, proven, proven_async
from agentsvc_nb.client.transport.deadlines import bounded
from agentsvc_nb.client.transport.health import Secret
from agentsvc_nb.client.transport.io import UNASKED, HttpRequest, OnBytes, Response, call_hook, run_sync
from agentsvc_nb.wire.limits import ANSWER_BYTES, MIB
from agentsvc_nb.wire.proxies import NetworkSettingError, Proxy, connection_options, is_from_proxy, proxy_of

# `httpx` imports its command line wherever click and rich are installed, as in every notebook. That takes a quarter of
# the time of a client's first call, and is not used here. So that import is made to fail, which `httpx` allows for.
_COMMAND_LINE: Final = "httpx._main"
if "httpx" in sys.modules:
    import httpx as httpx
else:
    sys.modules[_COMMAND_LINE] = None  # type: ignore[assignment]
    try:
        import httpx as httpx
    finally:
        del sys.modules[_COMMAND_LINE]


@dataclass(frozen=True)
class Library:
    """The HTTP library that a client is of: ours, or for a client of the caller's own also `httpx2`."""

    module: Any
    failures: tuple[type[Exception], ...]
    unsent: tuple[type[Exception], ...]

    @functools.cached_property
    def known(self) -> tuple[type[Exception], ...]:
        """Its failures and ours."""
        return (*self.failures, StefanBrainError)


@functools.cache
def library(name: str = "httpx") -> Library:
    module: Any = sys.modules[name]
    unsent = (module.ConnectError, module.ConnectTimeout, module.PoolTimeout, module.ProxyError)
    failures = (module.RequestError, module.StreamError, module.InvalidURL, ssl.SSLError)
    return Library(module, failures, unsent)


def library_of(client: object) -> Library:
    """The library of a client, or of what takes its place: None for one that we make."""
    homes = {kind.__module__.partition(".")[0] for kind in type(client).__mro__}
    return library("httpx2" if "httpx2" in homes else "httpx")


def is_usable(url: str) -> bool:
    """True if a request can be sent to this address: its host has a form that names can have."""
    try:
        return bool(httpx.URL(url).host.encode("idna"))
    except (httpx.InvalidURL, UnicodeError):
        return False


class _Progress:
    """A request body that reports to `hook` the bytes sent so far. Each attempt counts from zero again."""

    def __init__(self, body: object, total: int | None, hook: OnBytes) -> None:
        self._body = body
        self._total = total
        self._hook = hook

    def __iter__(self) -> Iterator[bytes]:
        sent = 0
        for chunk in cast(Any, self._body):
            yield chunk
            sent += len(chunk)
            run_sync(call_hook(self._hook, sent, self._total))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        sent = 0
        async for chunk in cast(Any, self._body):
            yield chunk
            sent += len(chunk)
            await call_hook(self._hook, sent, self._total)


@functools.cache
def progress_body(module: Any) -> type[_Progress]:
    """`_Progress` as a body of this HTTP library."""
    return type("ProgressBody", (_Progress, module.SyncByteStream, module.AsyncByteStream), {})


CONNECT_SECONDS: Final = 10.0
_HEADERS: Final = {
    "accept": "*/*",
    "accept-encoding": "gzip, deflate",
    "connection": "keep-alive",
    "user-agent": f"agentsvc-nb/{__version__}",
}
_PIECE_BYTES: Final = 256 * 1024
"""What is read of a file at once to be sent. The library's own 64 kB cost four times the turns of the event loop."""
_BODYLESS: Final = frozenset({"GET", "HEAD", "DELETE"})


def build(request: HttpRequest, own: Any = None) -> httpx.Request:
    """The request as an `httpx.Request`. A client that the caller supplied (`own`) adds its headers and cookies.

    Raises `StefanBrainError` for an address that the library does not take, such as one that is too long.
    """
    headers = {**_HEADERS, **request.headers}
    if request.key:
        headers["authorization"] = f"Bearer {request.key}"
    if request.stream:
        headers["accept-encoding"] = "identity"
    if request.files is None and request.body is not None:
        headers["content-type"] = "application/json"
    seconds = dict.fromkeys(("read", "write", "pool"), request.seconds)
    limits = {"timeout": {**seconds, "connect": min(request.seconds, CONNECT_SECONDS)}}
    make: Any = own.build_request if own else httpx.Request if request.files is not None else _small
    try:
        url = _url(request, own)
        built: httpx.Request = make(request.method, url, headers=headers, extensions=limits, **_content(request))
    except library_of(own).module.InvalidURL as error:
        raise StefanBrainError(f"The request has an address that cannot be used: {error}.") from None
    if own:
        built.headers.pop("x-api-key", None)
    for field in getattr(built.stream, "fields", ()):
        field.CHUNK_SIZE = _PIECE_BYTES
    if request.on_sent:
        length = built.headers.get("content-length")
        body = progress_body(library_of(own).module)
        built.stream = cast(Any, body(built.stream, int(length) if length else None, request.on_sent))
    return built


def _content(request: HttpRequest) -> dict[str, Any]:
    """The body as keyword arguments of the library: JSON, or a multipart form with `payload` and `files`."""
    if request.files is None:
        return {} if request.body is None else {"content": request.body}
    payload = {} if request.body is None else {"payload": request.body}
    return {"data": payload, "files": [("files", file) for file in request.files]}


def _small(
    method: str, url: httpx.URL, *, headers: dict[str, str], extensions: dict[str, Any], content: bytes = b""
) -> httpx.Request:
    """A request without files, built directly: the library's own constructor needs 70 us for the headers."""
    if content or method not in _BODYLESS:
        headers = {**headers, "content-length": str(len(content))}
    raw = [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]
    stream = httpx.ByteStream(content)
    return httpx.Request(method, url, headers=[(b"host", url.netloc), *raw], stream=stream, extensions=extensions)


def _url(request: HttpRequest, own: object) -> httpx.URL | str:
    url = f"{request.url}?{urlencode(request.query)}" if request.query else request.url
    return url if own else _parsed(url)


@functools.lru_cache(maxsize=64)
def _parsed(url: str) -> httpx.URL:
    """Cached, because parsing takes 70 us and polling requests the same address again and again."""
    return httpx.URL(url)


def to_response(response: httpx.Response, request: HttpRequest, body: bytes = b"", chunks: Any = None) -> Response:
    headers = {name.lower().decode("ascii"): value.decode("latin-1") for name, value in response.headers.raw}
    return Response(response.status_code, headers, body, chunks and response, chunks, request.ends)


def check_size(body: bytearray) -> None:
    """Raises `StefanBrainError` for an answer that would go on until the memory is full."""
    if len(body) > ANSWER_BYTES:
        raise StefanBrainError(f"The service answered with more than {ANSWER_BYTES // MIB} MiB; it was not read.")


def is_unasked(response: httpx.Response) -> bool:
    """Whether the response was there before its request was sent: it came in one packet with the response before.

    The library keeps such bytes for the next request; what comes later it notices itself, and opens a new connection.
    """
    stream = response.extensions.get("network_stream")
    return stream is not None and response.http_version.startswith("HTTP/1") and stream.get_extra_info(UNASKED) is True


def unasked() -> APIConnectionError:
    return APIConnectionError("The connection brought a response that belongs to no request, and was closed.")


def failure(error: Exception, library: Library, environment_url: str = "") -> StefanBrainError:
    """The client's own error for one of the library's. `environment_url`: the service's address, where the environment
    says how to reach it."""
    timed_out = isinstance(error, library.module.TimeoutException)
    if isinstance(error, library.module.InvalidURL):  # followed or not, the library looks where a redirect points
        return StefanBrainError(
            "The service redirected to an address that cannot be read; the client follows no redirects: "
            "correct the base URL."
        )
    why = str(error) or ("it took too long" if timed_out else type(error).__name__)
    unconnected = (library.module.ConnectError, library.module.ConnectTimeout, library.module.ProxyError)
    if environment_url and isinstance(error, unconnected) and (proxy := proxy_of(environment_url)):
        return no_connection(proxy, why, timed_out=timed_out)
    return APIConnectionError(
        f"The service did not answer: {why}.", sent=not isinstance(error, library.unsent), timed_out=timed_out
    )


def no_connection(proxy: Proxy, why: str, *, sent: bool = False, timed_out: bool = False) -> APIConnectionError:
    said = f"There is no connection to the service through the proxy named by {proxy.variable}: {why}."
    return APIConnectionError(said, sent=sent, timed_out=timed_out)


def check_proxy(response: httpx.Response, environment_url: str) -> None:
    """Raises `APIConnectionError` for an answer of the proxy instead of the service."""
    status = response.status_code
    if environment_url and (proxy := is_from_proxy(environment_url, status, response.headers)):
        # A gateway may have lost the connection in the middle. What asks for a password has not passed anything on.
        raise no_connection(proxy, f"{status} {response.reason_phrase}".strip(), sent=status != 407)


_LIMITS: Final = httpx.Limits(
    max_connections=None,  # a stream holds its connection; requests must not queue behind streams
    keepalive_expiry=4.0,  # uvicorn closes idle connections after 5 s: close first, or a start may meet a closed one
)


def blocking(transport: httpx.BaseTransport | None, url: str, secret: Secret | None = None) -> httpx.Client:
    """A blocking HTTP client for the service at `url`.

    With a `secret`, each connection must prove that the embedded service at its other end holds it. Raises
    `StefanBrainError` if a variable of the environment keeps the service from being reached.
    """
    client = httpx.Client(**_options(transport, url, secret is not None))
    if secret:
        proven(client, secret)
    bounded(client)
    return client


def awaited(transport: httpx.AsyncBaseTransport | None, url: str, secret: Secret | None = None) -> httpx.AsyncClient:
    """An HTTP client for the running event loop; arguments as for `blocking`."""
    client = httpx.AsyncClient(**_options(transport, url, secret is not None))
    return listen(proven_async(client, secret) if secret else client)


def _options(transport: Any, url: str, embedded: bool = False) -> dict[str, Any]:
    options: dict[str, Any] = {"trust_env": False, "transport": transport}
    if not embedded and not transport:  # the embedded service is reached directly, whatever address it listens on
        try:
            options |= connection_options(url)
        except NetworkSettingError as error:
            raise StefanBrainError(f"{error} Nothing was sent.") from None
    options.setdefault("verify", _ssl_context() if url.startswith("https:") else _no_tls())
    return {"follow_redirects": False, "limits": _LIMITS, "cookies": _NoCookies(), **options}


class _NoCookies(CookieJar):
    """A cookie jar that stays empty: no cookie is ever sent, so none is parsed."""

    def extract_cookies(self, response: object, request: object) -> None:
        pass


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """One TLS context for the process: building it takes 14 ms, the rest of a client 0.05 ms."""
    return httpx.create_ssl_context(trust_env=False)


@functools.cache
def _no_tls() -> ssl.SSLContext:
    """A TLS context for http addresses, which need none: quick to build, and it trusts no certificate."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
