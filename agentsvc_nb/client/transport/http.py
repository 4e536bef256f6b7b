"""The client's blocking I/O, and the code that blocking and asyncio I/O share.

The shared code builds httpx requests, reads httpx responses, and turns httpx exceptions into the client's errors.
"""

from __future__ import annotations

import functools
import math
import os
import ssl
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import closing
from datetime import date
from typing import Any, Final, NamedTuple, TypeVar

import httpcore
import httpx

from agentsvc_nb import __version__, clock
from agentsvc_nb.client.errors import APIConnectionError, StefanBrainError, closed_error, deadline_error
from agentsvc_nb.client.transport.health import Secret
from agentsvc_nb.client.transport.io import (
    CLOCK_SLACK,
    HttpRequest,
    InFlightRequests,
    OnBytes,
    Response,
    Stopper,
    call_hook,
    run_sync,
)
from agentsvc_nb.client.transport.network import UNREAD, BlockingTransport, Timeout, shut_down
from agentsvc_nb.wire.limits import ANSWER_BYTES, MIB
from agentsvc_nb.wire.proxies import NetworkSettingError, Proxy, connection_options, is_from_proxy, proxy_of

T = TypeVar("T")
Meanwhile = Callable[[], Coroutine[Any, Any, None]]

CONNECT_SECONDS: Final = 10.0
FAILURES: Final = (
    httpx.RequestError,
    httpx.StreamError,
    httpx.InvalidURL,
    httpcore.NetworkError,
    httpcore.TimeoutException,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
    ssl.SSLError,
)
"""The exceptions of httpx and httpcore for a failed request. Our transports do not wrap httpcore's exceptions."""
_UNCONNECTED: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.ProxyError,
    httpcore.ConnectError,
    httpcore.ConnectTimeout,
    httpcore.ProxyError,
)
_UNSENT: Final = (*_UNCONNECTED, httpx.PoolTimeout, httpcore.PoolTimeout)
_TIMED_OUT: Final = (httpx.TimeoutException, httpcore.TimeoutException)
_HEADERS: Final = {"accept-encoding": "gzip, deflate", "user-agent": f"agentsvc-nb/{__version__}"}


# -- blocking and asyncio --------------------------------------------------------------------------------------------


class Clocks:
    """The base class of `SyncIO` and `AsyncIO`, with the clocks that both share."""

    def now(self) -> float:
        """Return the time of a monotonic clock in seconds."""
        return clock.monotonic()

    def today(self) -> date:
        """Return the current UTC day. An idempotency key is valid only on one UTC day."""
        return clock.now().date()

    def in_time(self, ends: float) -> None:
        if self.now() >= ends:
            raise deadline_error()


def build(
    request: HttpRequest, stopper: Stopper | None = None, own: httpx.Client | httpx.AsyncClient | None = None
) -> httpx.Request:
    """Return the httpx request. If the caller passed an httpx client (`own`), this client adds its headers and cookies.

    Raises `StefanBrainError` for a URL that httpx does not accept, such as a URL that is too long.
    """
    headers = {**_HEADERS, **request.headers}
    if request.key:
        headers["authorization"] = f"Bearer {request.key}"
    if request.stream:
        headers["accept-encoding"] = "identity"
    content: dict[str, Any] = {}
    if request.files is not None:
        payload = {} if request.body is None else {"payload": request.body}
        content = {"data": payload, "files": [("files", file) for file in request.files]}
    elif request.body is not None:
        content = {"content": request.body}
        headers["content-type"] = "application/json"
    wait = Timeout(request.seconds, request.ends, stopper)
    connect = Timeout(min(request.seconds, CONNECT_SECONDS), request.ends, stopper)
    timeouts = {"connect": connect, "read": wait, "write": wait, "pool": wait}
    make: Any = own.build_request if own else httpx.Request
    try:
        built: httpx.Request = make(
            request.method,
            request.url,
            params=request.query or None,
            headers=headers,
            extensions={"timeout": timeouts},
            **content,
        )
    except httpx.InvalidURL as error:
        raise StefanBrainError(f"The request has an invalid address: {error}.") from None
    if own:
        built.headers.pop("x-api-key", None)
    if request.on_sent:
        length = built.headers.get("content-length")
        built.stream = _ProgressBody(built.stream, int(length) if length else None, request.on_sent)
    return built


class _ProgressBody(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A request body that reports the number of bytes sent so far to `hook`. Each attempt starts at zero."""

    def __init__(self, body: Any, total: int | None, hook: OnBytes) -> None:
        self._body = body
        self._total = total
        self._hook = hook

    def __iter__(self) -> Iterator[bytes]:
        sent = 0
        for chunk in self._body:
            yield chunk
            sent += len(chunk)
            run_sync(call_hook(self._hook, sent, self._total))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        sent = 0
        async for chunk in self._body:
            yield chunk
            sent += len(chunk)
            await call_hook(self._hook, sent, self._total)


def to_response(response: httpx.Response, request: HttpRequest, body: bytes = b"", chunks: Any = None) -> Response:
    headers = {name.lower().decode("ascii"): value.decode("latin-1") for name, value in response.headers.raw}
    return Response(response.status_code, headers, body, chunks and response, chunks, request.ends)


def check_size(body: bytearray) -> None:
    """Raise `StefanBrainError` if the response is so large that it could fill the memory."""
    if len(body) > ANSWER_BYTES:
        raise StefanBrainError(f"The response exceeds {ANSWER_BYTES // MIB} MiB. The client did not read it.")


def check_readable(response: Response) -> None:
    """Raise `StefanBrainError` if the client was closed, or if the response belongs to the parent process."""
    if response.cut_off:
        raise APIConnectionError("The client was closed before the whole response arrived.")
    if response.pid != os.getpid():
        raise after_fork()


def failure(error: Exception, environment_url: str = "", ends: float = math.inf) -> StefanBrainError:
    """Return the client's error for an exception of httpx or httpcore (`FAILURES`).

    `environment_url` is the address of the service if environment variables decide how to reach it, else "". `ends` is
    the deadline.
    """
    if isinstance(error, httpx.InvalidURL):  # httpx parses the target of a redirect even if it does not follow it
        return StefanBrainError(
            "The service redirected to an invalid address. The client does not follow redirects. Correct the base URL."
        )
    timed_out, sent = isinstance(error, _TIMED_OUT), not isinstance(error, _UNSENT)
    if timed_out and ends - clock.monotonic() < CLOCK_SLACK:
        return deadline_error(sent=sent)
    why = str(error) or ("it took too long" if timed_out else type(error).__name__)
    if environment_url and isinstance(error, _UNCONNECTED) and (proxy := proxy_of(environment_url)):
        return _no_connection(proxy, why, timed_out=timed_out)
    return APIConnectionError(f"The service did not answer: {why}.", sent=sent, timed_out=timed_out)


def _no_connection(proxy: Proxy, why: str, *, sent: bool = False, timed_out: bool = False) -> APIConnectionError:
    message = f"The client cannot reach the service through the proxy of {proxy.variable}: {why}."
    return APIConnectionError(message, sent=sent, timed_out=timed_out)


def check_origin(response: httpx.Response, environment_url: str) -> None:
    """Raise `APIConnectionError` if the response does not come from the service, or belongs to no request.

    An error response of the proxy does not come from the service. A response belongs to no request if it arrived in one
    packet with the previous response: httpcore would take its bytes for the response to the next request. If such bytes
    arrive later, httpcore itself notices them, and opens a new connection.
    """
    stream = response.extensions.get("network_stream")
    if stream is not None and stream.get_extra_info(UNREAD):
        raise APIConnectionError("The service sent a response without a request, so the client closed the connection.")
    status = response.status_code
    if environment_url and (proxy := is_from_proxy(environment_url, status, response.headers)):
        # A gateway may lose the connection midway. A proxy that requires a password (407) has forwarded nothing.
        raise _no_connection(proxy, f"{status} {response.reason_phrase}".strip(), sent=status != 407)


def network_options(url: str, secret: Secret | None) -> dict[str, Any]:
    """Return the network options for the service at `url`: the proxy, if any, and the certificates to trust.

    Raises `StefanBrainError` if an environment variable has an invalid value.
    """
    options: dict[str, Any] = {}
    if secret is None:  # without a proxy for the embedded service
        try:
            options = connection_options(url)
        except NetworkSettingError as error:
            raise StefanBrainError(f"{error} Nothing was sent.") from None
    options.setdefault("verify", _ssl_context() if url.startswith("https:") else _no_tls())
    return options


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """Return the TLS context of the process. All clients share it, because its creation takes 14 ms."""
    return httpx.create_ssl_context(trust_env=False)


@functools.cache
def _no_tls() -> ssl.SSLContext:
    """Return a TLS context for http addresses, which never use it. It has no certificates, so its creation is fast."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def check_arguments(transport: object, client: object, transport_kind: type, client_kind: type, secret: object) -> None:
    """Raise `TypeError` if the transport or client has the wrong type, or if it is combined with a `secret`."""
    for name, given, kind in (("transport", transport, transport_kind), ("http_client", client, client_kind)):
        if given is not None and not isinstance(given, kind):
            its = f"{type(given).__module__.split('.')[0]}.{type(given).__name__}"
            raise TypeError(f"{name} must be an httpx.{kind.__name__}, not {its}.")
    if secret and (transport or client) is not None:
        raise TypeError(
            "A client of the embedded service opens its own connections, because it verifies the service. "
            "Omit `revive`, or omit `transport` and `http_client`."
        )


# -- blocking -------------------------------------------------------------------------------------------------------


class _OwnedClient(NamedTuple):
    """An httpx client that `SyncIO` created, and its finalizer.

    `transport` is the client's transport, or None if the caller passed another transport.
    """

    client: httpx.Client
    transport: BlockingTransport | None
    finalizer: weakref.finalize[Any, Any]


class SyncIO(Clocks):
    """Send requests and read responses with blocking I/O, from any number of threads.

    With a `secret`, the embedded service must prove on each connection that it knows the secret. Raises `TypeError` if
    `transport` or `client` has the wrong type, or is combined with a `secret`.
    """

    awaited: bool = False

    def __init__(
        self,
        transport: httpx.BaseTransport | None = None,
        client: httpx.Client | None = None,
        url: str = "",
        secret: Secret | None = None,
    ) -> None:
        check_arguments(transport, client, httpx.BaseTransport, httpx.Client, secret)
        self._transport = transport
        self._given = client
        self._url = url
        self._environment_url = "" if client or transport or secret else url
        self._secret = secret
        # By process id, because a forked child must not use its parent's sockets.
        self._owned: dict[int, _OwnedClient] = {}
        self._in_flight = InFlightRequests()
        self._pid = os.getpid()

    def _client(self) -> httpx.Client:
        pid = os.getpid()
        if self._given:
            if pid != self._pid:
                raise after_fork()
            return self._given
        if owned := self._owned.get(pid):
            return owned.client
        ours = None if self._transport else BlockingTransport(network_options(self._url, self._secret), self._secret)
        client = httpx.Client(transport=self._transport or ours, trust_env=False)
        # Garbage collection closes the client, because users of notebooks rarely do. At exit, nothing needs to close
        # it, because the connections end with the process.
        finalizer = weakref.finalize(self, _close_in, pid, client)
        finalizer.atexit = False
        owned = _OwnedClient(client, ours, finalizer)
        return self._owned.setdefault(pid, owned).client  # another thread may be here, too

    async def send(self, request: HttpRequest) -> Response:
        """Send a request, and return the response.

        If `request.stream` is set and the response is a success, `read` returns the body. Otherwise, the response
        contains the body. Raises `APIConnectionError` if no response comes.
        """
        client = self._client()
        stopper = request.stopper or Stopper()
        built = build(request, stopper, self._given)
        self._in_flight.calls.add(stopper)
        try:
            response = client.send(built, stream=True, auth=None, follow_redirects=False)
            try:
                check_origin(response, self._environment_url)
                if request.stream and response.is_success:
                    chunks = response.iter_raw()
                    return self._in_flight.responses.add(to_response(response, request, chunks=chunks))
                body = self._body(response, request.ends)
            except Exception:
                _hang_up(response)
                raise
        except FAILURES as error:
            failed = failure(error, self._environment_url, request.ends)
            raise closed_error(sent=getattr(failed, "sent", True)) if stopper.stopped else failed from None
        except RuntimeError:
            if not client.is_closed:  # closed by another thread, or by the caller who owns it
                raise
            raise closed_error(sent=False) from None
        except KeyboardInterrupt:
            self._interrupted(stopper)
            raise
        finally:
            self._in_flight.calls.discard(stopper)
            stopper.set_wake(None)
        if stopper.stopped:  # the body may be incomplete
            raise closed_error()
        return to_response(response, request, body)

    def _body(self, response: httpx.Response, ends: float) -> bytes:
        """Return the whole body. Check the deadline here, because a transport of the caller does not enforce it."""
        whole = bytearray()
        with closing(response):
            for chunk in response.iter_bytes():
                whole += chunk
                check_size(whole)
                if ends < math.inf:
                    self.in_time(ends)
        return bytes(whole)

    async def read(self, response: Response) -> bytes | None:
        """Wait for the next chunk of a streamed response, and return it. At the end of the response, return None.

        Raises `APIConnectionError`, whose `closed` is True if the client was closed during the call.
        """
        check_readable(response)
        try:
            if response.ends < math.inf:
                self.in_time(response.ends)
            chunk: bytes | None = next(response.chunks, None)
        except FAILURES as error:
            raise closed_error() if response.cut_off else failure(error, ends=response.ends) from None
        except KeyboardInterrupt:
            if stream := response.raw.extensions.get("network_stream"):
                shut_down(stream)
            self._interrupted()
            raise
        if chunk is None and response.cut_off:
            raise closed_error()
        return chunk

    def _interrupted(self, call: Stopper | None = None) -> None:
        """Abandon the connection pool after Ctrl-C, so that the next request opens a new connection.

        Ctrl-C may have left a lock of the pool locked, or an unread connection marked as idle.
        """
        if call:
            call.end_wait()
        if owned := self._owned.pop(os.getpid(), None):
            owned.finalizer.detach()
            if owned.transport and not self._in_flight.has_others(call):
                owned.transport.abandon()

    async def sleep(self, seconds: float) -> None:
        clock.sleep(seconds)

    async def run_blocking(self, function: Callable[[], T]) -> T:
        """Call a function that may block, and return its result. `AsyncIO` calls the function in a thread."""
        return function()

    async def run_with_repeats(self, work: Callable[[], Any], meanwhile: Meanwhile, seconds: float) -> Any:
        """Call `work` in this thread, and return its result. Until it returns, call `meanwhile` every `seconds`."""
        ended = threading.Event()

        def repeat() -> None:
            while not ended.wait(seconds):
                run_sync(meanwhile())

        threading.Thread(target=repeat, daemon=True, name="agentsvc-meanwhile").start()
        try:
            return work()
        finally:
            ended.set()

    async def close(self, response: Response | None = None) -> None:
        """Close a streamed `response`, or without it, all connections.

        Pending calls raise an `APIConnectionError` whose `closed` is True.
        """
        if response:
            self.drop(response)
            return
        for raw in self._in_flight.end():
            _hang_up(raw)
        if owned := self._owned.pop(os.getpid(), None):
            owned.finalizer()

    def drop(self, response: Response) -> None:
        """Close a streamed response without awaiting anything, because `__del__` cannot await."""
        if response.pid == os.getpid():
            try:
                _hang_up(response.raw)
            except KeyboardInterrupt:
                self._interrupted()
                raise


def _hang_up(response: httpx.Response) -> None:
    """Close a response. A thread that waits for a chunk of this response stops waiting."""
    if not response.is_closed:
        if stream := response.extensions.get("network_stream"):
            shut_down(stream)
        response.close()


def after_fork() -> StefanBrainError:
    return StefanBrainError(
        "This client belongs to the parent process. In the forked process, create a new client, or attach to "
        "the run again."
    )


def _close_in(pid: int, client: httpx.Client) -> None:
    """Close a client, but only in the process that created it, because a forked child shares its sockets."""
    if os.getpid() == pid:
        client.close()


def check_reachable(address: str, seconds: float) -> None:
    """Raise `StefanBrainError` if no HTTP server answers at this address. This check sends no key."""
    io = SyncIO(url=address)
    try:
        run_sync(io.send(HttpRequest("GET", f"{address}/healthz", seconds, key="", ends=io.now() + 3 * seconds)))
    finally:
        run_sync(io.close())


def is_usable(url: str) -> bool:
    """Return True if the host name of this URL has a valid form, so that a request can be sent."""
    try:
        return bool(httpx.URL(url).host.encode("idna"))
    except (httpx.InvalidURL, UnicodeError):
        return False
