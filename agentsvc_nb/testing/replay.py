"""A transport that answers from a cassette, without any network."""

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
from agentsvc_nb.testing.cassette import Asked, Exchange

_SHOWN_CHARS: Final = 500


class NotRecorded(LookupError):
    """The cassette has no answer to a request; the message names the nearest request that it has."""


class Replay(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Answers as the service did when the cassette was recorded, for either client.

    The same request asked several times gets the recorded answers one after the other; a read that is asked more
    often gets the last one again. The API key can be anything.

    Raises `OSError` or `ValueError` for a cassette that can't be read; a request that is not on it raises
    `NotRecorded` in the cell that asked.

    >>> client = AgentService("replay", transport=Replay("prices.jsonl"))  # doctest: +SKIP
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._name = Path(path).name
        self._lock = threading.Lock()
        self._left: dict[str, list[Exchange]] = defaultdict(list)
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            exchange = Exchange.read(line)
            self._left[str(exchange.asked)].append(exchange)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        return self._answer(request)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        return self._answer(request)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        exchange = self._take(cassette.asked(request))
        return httpx.Response(exchange.status, headers=exchange.headers, stream=_Played(exchange), request=request)

    def _take(self, asked: Asked) -> Exchange:
        with self._lock:
            left = self._left.get(str(asked))
            if not left:
                raise NotRecorded(self._missing(asked, known=left is not None))
            again = asked.method == "GET" and len(left) == 1
            return left[0] if again else left.pop(0)

    def _missing(self, asked: Asked, known: bool) -> str:
        if known:
            return f"{self._name} has no more answers to {_shown(asked)}; record it again."
        nearest = difflib.get_close_matches(_shown(asked), [request[:_SHOWN_CHARS] for request in self._left], 1, 0)
        near = f"\nThe nearest request is {nearest[0]}" if nearest else "\nThe cassette is empty."
        return f"{self._name} has no answer to {_shown(asked)}{near}"


class _Played(httpx.SyncByteStream, httpx.AsyncByteStream):
    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def __iter__(self) -> Iterator[bytes]:
        yield from self._exchange.content()
        if self._exchange.broken:
            raise httpx.ReadError("The connection was lost here when this was recorded.")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self:
            yield chunk


def _shown(asked: Asked) -> str:
    return str(asked)[:_SHOWN_CHARS]
