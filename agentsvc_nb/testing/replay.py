"""A transport that responds from a cassette, without any network."""

from __future__ import annotations

import difflib
import os
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

import httpx

from agentsvc_nb.testing import cassette
from agentsvc_nb.testing.cassette import RecordedExchange, RecordedRequest

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
        exchange = self._next(cassette.canonical(request))
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
