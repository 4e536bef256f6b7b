"""Event streams for tests: their bytes, and a real TCP server that cuts them at random places."""

from __future__ import annotations

import json
import random
from typing import Any

import httpx

from tests.unit.client.conftest import run
from tests.unit.independent.mock import Fault, Mock, Reply, Seen, Wire
from tests.unit.independent.mock import answer as reply

TEXTS = ("plain", "ünïcödé", "line\nbreak", "data: id: 9", "\u2028", "x" * 300)
HEAD = Reply(200, b"", {"Content-Type": "text/event-stream"}).head(Connection="close")


def events(count: int) -> list[dict[str, Any]]:
    """Make the events of a run; the last of `count` is `run.ended`."""
    spoken = [(number, "text.delta", {"text": TEXTS[number % len(TEXTS)]}) for number in range(1, count)]
    ended = (count, "run.ended", {"run": run("completed", output="done")})
    return [{"id": n, "type": kind, "created_at": "", "payload": payload} for n, kind, payload in (*spoken, ended)]


def frames(given: list[dict[str, Any]]) -> bytes:
    lines = (f"id: {event['id']}\nevent: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in given)
    return "".join(lines).encode()


def sse(*pieces: bytes) -> httpx.Response:
    """Make a streamed answer whose body comes in these pieces."""
    return httpx.Response(200, stream=_Pieces(pieces), headers={"content-type": "text/event-stream; charset=utf-8"})


class _Pieces(httpx.SyncByteStream, httpx.AsyncByteStream):
    def __init__(self, pieces: tuple[bytes, ...]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Any:
        yield from self._pieces

    async def __aiter__(self) -> Any:
        for piece in self._pieces:
            yield piece


class CuttingServer(Mock):
    """Serve one run of `count` events. The first `cuts` streams are cut; `silent` leaves streams open before the end.

    Each stream ends after `each` events.
    """

    def __init__(self, count: int, cuts: int = 0, seed: int = 0, silent: bool = False, each: int | None = None) -> None:
        super().__init__(self.answer_to)
        self.events, self.cuts, self.silent, self.each = events(count), cuts, silent, each
        self.counts = lambda seen: seen.header("accept") == "text/event-stream"
        self._dice = random.Random(seed)
        self._cut_at = -1
        self._in_vain = 0

    def answer_to(self, seen: Seen) -> Reply | Fault:
        """Answer as the service does for a run with these events."""
        if self.counts(seen):
            return Fault("stream", self._stream)
        if not seen.path.endswith("/events"):
            return reply(run("running" if self.silent else "completed"), Connection="close")
        after = int(seen.query.get("after", 0))
        page = [event for event in self.events if event["id"] > after][:100]
        more = {"next_after": after + len(page), "has_more": False, "status": "completed"}
        return reply({"data": page, **more}, Connection="close")

    def body(self, after: int) -> bytes:
        """Make the body of the stream that goes on after this event."""
        left = [event for event in self.events[: -1 if self.silent else None] if event["id"] > after]
        return b"retry: 0\n\n" + frames(left[: self.each])

    def _stream(self, wire: Wire, seen: Seen, good: Reply) -> None:
        after = int(seen.header("last-event-id") or 0)
        whole = HEAD + self.body(after)
        if not self.cuts:
            wire.send(whole)
            if self.silent:
                wire.rest(60)
            return
        self.cuts -= 1
        # Up to a random byte, then an end or a reset; after three cuts in vain, one that lets an event through.
        self._in_vain = self._in_vain + 1 if after == self._cut_at else 0
        self._cut_at = after
        merciful = self._in_vain > 2
        wire.send(whole[: self._dice.randrange(800 if merciful else 0, 1_500)])
        if not merciful and self._dice.random() < 0.5:
            wire.reset()
