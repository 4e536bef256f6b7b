"""The response that sends a run's events: it ends with its frames, with its connection, or by being cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

import pytest
from starlette.types import Message

from agentsvc_nb.service.http.responses import EventStreamResponse

Ended = list[str]


async def endless(ended: Ended) -> AsyncGenerator[bytes]:
    try:
        yield b"data: 1\n\n"
        await asyncio.Event().wait()
    finally:
        ended.append("frames")


def stream(act: Callable[[asyncio.Event, asyncio.Task[None]], Awaitable[None]]) -> tuple[list[Message], Ended]:
    """What is sent while `act` is done after the first frame, and what has ended. Its event ends the connection."""
    sent: list[Message] = []
    ended: Ended = []

    async def run() -> None:
        first, lost = asyncio.Event(), asyncio.Event()
        received: list[Message] = [{"type": "http.request"}]

        async def receive() -> Message:
            if received:
                return received.pop()
            await lost.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            sent.append(message)
            if message.get("body"):
                first.set()

        task = asyncio.create_task(EventStreamResponse(endless(ended))({"type": "http"}, receive, send))
        async with asyncio.timeout(30):
            await first.wait()
            await act(lost, task)
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())
    return sent, ended


def test_a_lost_connection_ends_it_without_an_error() -> None:
    async def lose(lost: asyncio.Event, task: asyncio.Task[None]) -> None:
        lost.set()
        await task

    sent, ended = stream(lose)
    assert ended == ["frames"]
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert (b"content-type", b"text/event-stream; charset=utf-8") in sent[0]["headers"]


def test_a_cancellation_by_others_stays_one() -> None:
    async def cancel(lost: asyncio.Event, task: asyncio.Task[None]) -> None:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert stream(cancel)[1] == ["frames"]
