"""Streams of one run, read in a process of their own. What arrives is only kept, and read when all is over."""

from __future__ import annotations

import asyncio
import gc
import re
import time
from bisect import bisect_left
from datetime import datetime
from itertools import accumulate
from typing import Final

from tests.bench.load import WrongAnswer, address

FRAME: Final = re.compile(rb'id: (\d+)\nevent: \S+\ndata: \{.*?"created_at": "([^"]+)".*\}\n\n')
END: Final = b"0\r\n\r\n"
"""The last chunk of an answer."""


def follow_all(base_url: str, request: bytes, followers: int) -> tuple[list[int], list[float]]:
    """The ids that every follower saw, and how late (s) each event was with each follower, sorted; without events that
    were there before the last follower was.

    Raises `WrongAnswer` when one has seen something else than the others, or a gap.
    """
    gc.disable()  # 400,000 arrivals are kept: looking through them would stop the clock that is read here
    streams = asyncio.run(_follow_all(base_url, request, followers))
    began = max(stream.began for stream in streams)
    seen = [stream.events() for stream in streams]
    ids = [number for number, _, _ in seen[0]]
    if not ids or ids != list(range(1, len(ids) + 1)):
        raise WrongAnswer(f"a gap in {ids}")
    for events in seen:
        if [number for number, _, _ in events] != ids:
            raise WrongAnswer(f"one follower saw {ids}, another {[number for number, _, _ in events]}")
    return ids, sorted(arrived - created for events in seen for _, created, arrived in events if created > began)


async def _follow_all(base_url: str, request: bytes, followers: int) -> list[_Stream]:
    loop = asyncio.get_running_loop()
    host, port = address(base_url)
    streams = [_Stream(request, loop.create_future()) for _ in range(followers)]
    for stream in streams:
        await loop.create_connection(stream.itself, host, port)
    await asyncio.gather(*(stream.done for stream in streams))
    return streams


class _Stream(asyncio.Protocol):
    """One follower: what arrived, and when."""

    def __init__(self, request: bytes, done: asyncio.Future[None]) -> None:
        self.done = done
        self._request = request
        self._arrived: list[tuple[float, bytes]] = []

    def itself(self) -> _Stream:
        """asyncio asks for a factory."""
        return self

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._arrived.append((time.time(), data))
        if data.endswith(END) and not self.done.done():
            self.done.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(WrongAnswer(f"a stream was cut: {error}"))

    @property
    def began(self) -> float:
        """When the first bytes came."""
        return self._arrived[0][0]

    def events(self) -> list[tuple[int, float, float]]:
        """Of each event its id, when it was created, and when its last byte arrived."""
        ends = list(accumulate(len(data) for _, data in self._arrived))
        frames = FRAME.finditer(b"".join(data for _, data in self._arrived))
        return [
            (int(frame[1]), _seconds(frame[2]), self._arrived[bisect_left(ends, frame.end())][0]) for frame in frames
        ]


def _seconds(created_at: bytes) -> float:
    return datetime.fromisoformat(created_at.decode()).timestamp()
