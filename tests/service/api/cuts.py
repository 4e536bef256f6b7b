"""A network that loses its connection in the middle of downloads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx


@dataclass
class Cuts(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Passes everything on; cuts the answers of downloads after as many bytes as it is told, one after the other."""

    after: list[int]
    ranges: list[str | None] = field(default_factory=list)
    blocking: httpx.HTTPTransport = field(default_factory=httpx.HTTPTransport)
    awaited: httpx.AsyncHTTPTransport = field(default_factory=httpx.AsyncHTTPTransport)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._cut(request, self.blocking.handle_request(request))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return self._cut(request, await self.awaited.handle_async_request(request))

    def close(self) -> None:
        self.blocking.close()

    async def aclose(self) -> None:
        await self.awaited.aclose()

    def _cut(self, request: httpx.Request, response: httpx.Response) -> httpx.Response:
        if request.url.path.endswith("/download"):
            self.ranges.append(request.headers.get("range"))
            if self.after:
                response.stream = Cut(response.stream, self.after.pop(0))
        return response


class Cut(httpx.SyncByteStream, httpx.AsyncByteStream):
    def __init__(self, stream: Any, after: int) -> None:
        self._stream, self._left = stream, after

    def _passed(self, chunk: bytes) -> bytes:
        passed = chunk[: self._left]
        self._left -= len(passed)
        return passed

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            yield self._passed(chunk)
            if not self._left:
                raise httpx.ReadError("reset")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            yield self._passed(chunk)
            if not self._left:
                raise httpx.ReadError("reset")

    def close(self) -> None:
        self._stream.close()

    async def aclose(self) -> None:
        await self._stream.aclose()
