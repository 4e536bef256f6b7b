"""Cassettes: transports that record a service (`Record`) and replay it without a network (`Replay`), and their file.

A cassette has one JSON line per request and its response, in the order in which responses ended. It holds no secrets,
and nothing that differs between two recordings of the same requests. A request is stored as method, path, query, body
and the headers that affect the response; a response as status, a few headers and body. The API key is not stored; where
the service repeats it, the cassette says REDACTED.
"""

from __future__ import annotations

import asyncio
import base64
import difflib
import functools
import hashlib
import json
import os
import re
import threading
import weakref
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, cast

import httpx

from agentsvc_nb.wire.proxies import NetworkSettingError, connection_options


class Record(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Records a cassette, for either client; an existing file at `path` is overwritten.

    Args:
        path: the cassette, JSON lines.
        transport: the transport to record, in place of the network: a sync or an async one, as the client needs.

    >>> with AgentService(key, base_url, transport=Record("prices.jsonl")) as client:  # doctest: +SKIP
    ...     client.runs.start("What changed?", sync=True)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        transport: httpx.BaseTransport | httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._path = Path(path)
        self._given = transport
        self._path.write_text("", encoding="utf-8")
        self._lock = threading.Lock()
        self._blocking: httpx.BaseTransport | None = None
        # Connections belong to the event loop that opened them: each loop has a transport of its own.
        self._by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncBaseTransport]
        self._by_loop = weakref.WeakKeyDictionary()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        request.headers["accept-encoding"] = "identity"  # so that the cassette is readable text
        if self._blocking is None:
            self._blocking = cast(httpx.BaseTransport, self._given) or httpx.HTTPTransport(**_options(request))
        response = self._blocking.handle_request(request)
        return self._recorded(request, response)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        request.headers["accept-encoding"] = "identity"
        loop = asyncio.get_running_loop()
        if loop not in self._by_loop:
            self._by_loop[loop] = cast(httpx.AsyncBaseTransport, self._given) or httpx.AsyncHTTPTransport(
                **_options(request)
            )
        response = await self._by_loop[loop].handle_async_request(request)
        return self._recorded(request, response)

    def close(self) -> None:
        """Close the connections; the cassette is complete after each response."""
        blocking, self._blocking = self._blocking, None
        if blocking:
            blocking.close()

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        if transport := self._by_loop.pop(asyncio.get_running_loop(), None):
            await transport.aclose()

    def _recorded(self, request: httpx.Request, response: httpx.Response) -> httpx.Response:
        """The response with a body that is recorded when it is closed."""
        write = functools.partial(self._write, _canonical(request), request, response)
        stream = _RecordedBody(response.stream, write)
        return httpx.Response(
            response.status_code, headers=response.headers, stream=stream, extensions=response.extensions
        )

    def _write(
        self,
        _canonical: RecordedRequest,
        request: httpx.Request,
        response: httpx.Response,
        received: list[bytes],
        broken: bool,
    ) -> None:
        is_stream = response.headers.get("content-type", "").startswith(STREAM)
        parts = received if is_stream else [b"".join(received)]
        secrets = _credentials(request)
        chunks = [_to_chunk(_redact(part, secrets)) for part in parts]
        headers = _response_headers(response.headers)
        exchange = RecordedExchange(_canonical, response.status_code, headers, chunks, broken)
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(exchange.line() + "\n")


class _RecordedBody(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A response body that records what the client reads.

    When it is closed, it calls `write` once, with the chunks that were read and whether the connection broke.
    """

    def __init__(self, stream: object, write: Callable[[list[bytes], bool], None]) -> None:
        self._stream = stream
        self._write = write
        self._chunks: list[bytes] = []
        self._broken = False
        self._written = False

    def __iter__(self) -> Iterator[bytes]:
        with self._noting_a_break():
            for chunk in cast(httpx.SyncByteStream, self._stream):
                self._chunks.append(chunk)
                yield chunk

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with self._noting_a_break():
            async for chunk in cast(httpx.AsyncByteStream, self._stream):
                self._chunks.append(chunk)
                yield chunk

    def close(self) -> None:
        cast(httpx.SyncByteStream, self._stream).close()
        self._write_once()

    async def aclose(self) -> None:
        await cast(httpx.AsyncByteStream, self._stream).aclose()
        self._write_once()

    @contextmanager
    def _noting_a_break(self) -> Iterator[None]:
        try:
            yield
        except httpx.TransportError:
            self._broken = True
            raise

    def _write_once(self) -> None:
        if not self._written:
            self._written = True
            self._write(self._chunks, self._broken)


_MESSAGE_CHARS: Final = 500  # how much of a request an error message shows


class NotRecorded(LookupError):
    """The cassette has no response to a request; the message names the most similar request that it has."""


class Replay(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Responds as the service did when the cassette was recorded, for either client.

    A request that is sent several times gets the recorded responses one after the other; further GET requests get the
    last one again. The API key can be anything.

    Raises `OSError` or `ValueError` for a cassette that can't be read; the call whose request is not on it raises
    `NotRecorded`.

    >>> client = AgentService("replay", transport=Replay("prices.jsonl"))  # doctest: +SKIP
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._name = Path(path).name
        self._lock = threading.Lock()
        self._left: dict[str, list[RecordedExchange]] = defaultdict(list)
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            exchange = RecordedExchange.read(line)
            self._left[str(exchange.request)].append(exchange)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        return self._respond(request)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        return self._respond(request)

    def _respond(self, request: httpx.Request) -> httpx.Response:
        exchange = self._next(_canonical(request))
        return httpx.Response(
            exchange.status, headers=exchange.headers, stream=_ReplayedBody(exchange), request=request
        )

    def _next(self, request: RecordedRequest) -> RecordedExchange:
        with self._lock:
            left = self._left.get(str(request))
            if not left:
                raise NotRecorded(self._not_recorded(request, known=left is not None))
            is_last_read = request.method == "GET" and len(left) == 1
            return left[0] if is_last_read else left.pop(0)

    def _not_recorded(self, request: RecordedRequest, known: bool) -> str:
        """The error message; `known`: the cassette had responses to this request, and all have been used."""
        shown = str(request)[:_MESSAGE_CHARS]
        if known:
            return f"{self._name} has no more answers to {shown}; record it again."
        nearest = difflib.get_close_matches(shown, [other[:_MESSAGE_CHARS] for other in self._left], 1, 0)
        hint = f"\nThe nearest request is {nearest[0]}" if nearest else "\nThe cassette is empty."
        return f"{self._name} has no answer to {shown}{hint}"


class _ReplayedBody(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A recorded response body, which breaks off where the connection was lost."""

    def __init__(self, exchange: RecordedExchange) -> None:
        self._exchange = exchange

    def __iter__(self) -> Iterator[bytes]:
        yield from self._exchange.body()
        if self._exchange.broken:
            raise httpx.ReadError("The connection was lost here when this was recorded.")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self:
            yield chunk


_REQUEST_HEADERS: Final = ("accept", "last-event-id", "range")
_RESPONSE_HEADERS: Final = (
    "content-type",
    "content-encoding",
    "content-length",
    "content-range",
    "etag",
    "location",
    "retry-after",
)
_BOUNDARY: Final = re.compile(r"multipart/form-data; boundary=(\S+)")
REDACTED: Final = "REDACTED"
STREAM: Final = "text/event-stream"
_REQUEST_FIELD: Final = "asked"  # unchanged, because users have recorded cassettes with this name

Chunk = str | dict[str, str]
"""A piece of a body: text, or `{"base64": ...}` if it is not UTF-8."""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request in a canonical form: two requests for the same thing are equal."""

    method: str
    path: str
    query: list[list[str]]
    headers: dict[str, str]
    body: Any

    def __str__(self) -> str:
        query = "&".join(f"{name}={value}" for name, value in self.query)
        more = [f"{name}: {value}" for name, value in self.headers.items()]
        body = [] if self.body is None else [json.dumps(self.body, ensure_ascii=False, sort_keys=True)]
        return " ".join([self.method, f"{self.path}?{query}" if query else self.path, *more, *body])


@dataclass(frozen=True, slots=True)
class RecordedExchange:
    """A request and its response.

    Attributes:
        chunks: the chunks of an event stream as they arrived; any other body as a single chunk.
        broken: True if the connection was lost before the end of the response.
    """

    request: RecordedRequest
    status: int
    headers: dict[str, str]
    chunks: list[Chunk]
    broken: bool = False

    def line(self) -> str:
        fields = asdict(self)
        return json.dumps({_REQUEST_FIELD: fields.pop("request"), **fields})

    @classmethod
    def read(cls, line: str) -> RecordedExchange:
        fields = json.loads(line)
        return cls(RecordedRequest(**fields.pop(_REQUEST_FIELD)), **fields)

    def body(self) -> list[bytes]:
        """The chunks as bytes."""
        return [
            chunk.encode() if isinstance(chunk, str) else base64.b64decode(chunk["base64"]) for chunk in self.chunks
        ]


def _options(request: httpx.Request) -> dict[str, Any]:
    try:
        return connection_options(str(request.url))
    except NetworkSettingError as error:
        raise httpx.ConnectError(str(error)) from None


def _canonical(request: httpx.Request) -> RecordedRequest:
    """The canonical form of a request whose body has been read."""
    headers = {name: request.headers[name] for name in _REQUEST_HEADERS if name in request.headers}
    if headers.get("accept") != STREAM:
        headers.pop("accept", None)
    query = sorted([name, value] for name, value in request.url.params.multi_items())
    return RecordedRequest(request.method, request.url.path, query, headers, _body(request))


def _response_headers(headers: httpx.Headers) -> dict[str, str]:
    """The headers that are recorded."""
    return {name: headers[name] for name in _RESPONSE_HEADERS if name in headers}


def _to_chunk(content: bytes) -> Chunk:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def _redact(content: bytes, secrets: list[str]) -> bytes:
    for secret in secrets:
        content = content.replace(secret.encode(), REDACTED.encode())
    return content


def _credentials(request: httpx.Request) -> list[str]:
    """The API keys of a request, if any."""
    found = [request.headers.get("authorization", "").removeprefix("Bearer "), request.headers.get("x-api-key", "")]
    return [secret for secret in found if secret]


def _body(request: httpx.Request) -> Any:
    content = _redact(request.content, _credentials(request))
    # A multipart boundary is random: replaced, so that two requests with the same files are equal.
    if found := _BOUNDARY.fullmatch(request.headers.get("content-type", "")):
        content = content.replace(found[1].encode(), b"boundary")
    if not content:
        return None
    try:
        return json.loads(content)
    except ValueError:
        return {"sha256": hashlib.sha256(content).hexdigest(), "files": _file_names(content)}


def _file_names(multipart: bytes) -> list[str]:
    return [name.decode("utf-8", "replace") for name in re.findall(rb'filename="([^"]*)"', multipart)]
