"""Events of a run, and answers that come in pieces."""

from __future__ import annotations

import json
from typing import Any

import httpx

from tests.unit.client.conftest import run


def events(count: int) -> list[dict[str, Any]]:
    """Make the events of a run; the last of `count` is `run.ended`."""
    texts = ("plain", "ünïcödé", "line\nbreak", "data: id: 9", "\u2028", "x" * 300)
    spoken = [(number, "text.delta", {"text": texts[number % len(texts)]}) for number in range(1, count)]
    ended = (count, "run.ended", {"run": run("completed", output="done")})
    return [{"id": n, "type": kind, "created_at": "", "payload": payload} for n, kind, payload in (*spoken, ended)]


def frames(given: list[dict[str, Any]]) -> bytes:
    lines = (f"id: {event['id']}\nevent: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in given)
    return "".join(lines).encode()


class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that comes in pieces; a piece that is an exception is raised."""

    def __init__(self, *pieces: bytes | BaseException) -> None:
        self._pieces = pieces

    def __iter__(self) -> Any:
        for piece in self._pieces:
            if isinstance(piece, BaseException):
                raise piece
            yield piece

    async def __aiter__(self) -> Any:
        for piece in self:
            yield piece


def sse(*pieces: bytes | BaseException, **headers: str) -> httpx.Response:
    """Make a streamed answer whose body comes in these pieces."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(200, stream=Body(*pieces), headers={"content-type": "text/event-stream", **given})
