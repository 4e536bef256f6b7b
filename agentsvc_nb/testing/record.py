"""A transport that forwards requests to the service and records the responses on a cassette."""

from __future__ import annotations

import asyncio
import functools
import os
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import httpx

from agentsvc_nb.testing import cassette
from agentsvc_nb.testing.cassette import STREAM, RecordedExchange, RecordedRequest


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
        self._by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncBaseTransport]
        self._by_loop = weakref.WeakKeyDictionary()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        request.headers["accept-encoding"] = "identity"  # so that the cassette is readable text
        if self._blocking is None:
            self._blocking = cast(httpx.BaseTransport, self._given) or httpx.HTTPTransport()
        response = self._blocking.handle_request(request)
        return self._recorded(request, response)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        request.headers["accept-encoding"] = "identity"
        loop = asyncio.get_running_loop()
        if loop not in self._by_loop:
            self._by_loop[loop] = cast(httpx.AsyncBaseTransport, self._given) or httpx.AsyncHTTPTransport()
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
        write = functools.partial(self._write, cassette.canonical(request), request, response)
        stream = _RecordedBody(response.stream, write)
        return httpx.Response(
            response.status_code, headers=response.headers, stream=stream, extensions=response.extensions
        )

    def _write(
        self,
        canonical: RecordedRequest,
        request: httpx.Request,
        response: httpx.Response,
        received: list[bytes],
        broken: bool,
    ) -> None:
        is_stream = response.headers.get("content-type", "").startswith(STREAM)
        parts = received if is_stream else [b"".join(received)]
        secrets = cassette.credentials(request)
        chunks = [cassette.to_chunk(cassette.redact(part, secrets)) for part in parts]
        headers = cassette.response_headers(response.headers)
        exchange = RecordedExchange(canonical, response.status_code, headers, chunks, broken)
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
