"""A transport that passes everything on to the service and writes down what it answers."""

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
from agentsvc_nb.testing.cassette import STREAM, Asked, Exchange


class Record(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Writes a cassette, for either client, and replaces what stood at `path`.

    Args:
        path: the cassette, JSON lines.
        transport: what it records, in place of the network: a transport of the kind that the client needs.

    >>> with AgentService(key, base_url, transport=Record("prices.jsonl")) as client:  # doctest: +SKIP
    ...     client.runs.start("What changed?", sync=True)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        transport: httpx.BaseTransport | httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._path, self._given = Path(path), transport
        self._path.write_text("", encoding="utf-8")
        self._lock = threading.Lock()
        self._blocking: httpx.BaseTransport | None = None
        self._by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncBaseTransport]
        self._by_loop = weakref.WeakKeyDictionary()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        request.headers["accept-encoding"] = "identity"
        if self._blocking is None:
            self._blocking = cast(httpx.BaseTransport, self._given) or httpx.HTTPTransport()
        response = self._blocking.handle_request(request)
        return self._watched(request, response)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        request.headers["accept-encoding"] = "identity"
        loop = asyncio.get_running_loop()
        if loop not in self._by_loop:
            self._by_loop[loop] = cast(httpx.AsyncBaseTransport, self._given) or httpx.AsyncHTTPTransport()
        response = await self._by_loop[loop].handle_async_request(request)
        return self._watched(request, response)

    def close(self) -> None:
        """Close the connections; the cassette is whole after each answer."""
        blocking, self._blocking = self._blocking, None
        if blocking:
            blocking.close()

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        if transport := self._by_loop.pop(asyncio.get_running_loop(), None):
            await transport.aclose()

    def _watched(self, request: httpx.Request, response: httpx.Response) -> httpx.Response:
        stream = _Watched(response.stream, functools.partial(self._write, cassette.asked(request), request, response))
        return httpx.Response(
            response.status_code, headers=response.headers, stream=stream, extensions=response.extensions
        )

    def _write(
        self, asked: Asked, request: httpx.Request, response: httpx.Response, chunks: list[bytes], broken: bool
    ) -> None:
        events = response.headers.get("content-type", "").startswith(STREAM)
        secrets = cassette.key(request)
        said = [cassette.chunk(cassette.redacted(part, secrets)) for part in (chunks if events else [b"".join(chunks)])]
        exchange = Exchange(asked, response.status_code, cassette.kept(response.headers), said, broken)
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(exchange.line() + "\n")


class _Watched(httpx.SyncByteStream, httpx.AsyncByteStream):
    """An answer's body on its way to the client; `write` gets what passed, once it is closed."""

    def __init__(self, stream: object, write: Callable[[list[bytes], bool], None]) -> None:
        self._stream, self._write = stream, write
        self._chunks: list[bytes] = []
        self._broken = self._written = False

    def __iter__(self) -> Iterator[bytes]:
        with self._breaking():
            for chunk in cast(httpx.SyncByteStream, self._stream):
                self._chunks.append(chunk)
                yield chunk

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with self._breaking():
            async for chunk in cast(httpx.AsyncByteStream, self._stream):
                self._chunks.append(chunk)
                yield chunk

    def close(self) -> None:
        cast(httpx.SyncByteStream, self._stream).close()
        self._end()

    async def aclose(self) -> None:
        await cast(httpx.AsyncByteStream, self._stream).aclose()
        self._end()

    @contextmanager
    def _breaking(self) -> Iterator[None]:
        try:
            yield
        except httpx.TransportError:
            self._broken = True
            raise

    def _end(self) -> None:
        if not self._written:
            self._written = True
            self._write(self._chunks, self._broken)
