"""The response that sends a run's events: it ends with its frames, with its connection, or by being cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

import pytest
from starlette.types import Message, Scope

from agentsvc_nb.service.http.responses import EventStreamResponse

Ended = list[str]


async def endless(ended: Ended) -> AsyncGenerator[bytes]:
    try:
        yield b"data: 1\n\n"
        await asyncio.Event().wait()
    finally:
        ended.append("frames")


async def nothing() -> Message:
    raise AssertionError("the response reads nothing")


def stream(act: Callable[[Scope, asyncio.Task[None]], Awaitable[None]]) -> tuple[list[Message], Ended]:
    """What is sent while `act` is done after the first frame, and what has ended."""
    sent: list[Message] = []
    ended: Ended = []

    async def run() -> None:
        scope: Scope = {"type": "http"}
        first = asyncio.Event()

        async def send(message: Message) -> None:
            sent.append(message)
            if message.get("body"):
                first.set()

        task = asyncio.create_task(EventStreamResponse(endless(ended))(scope, nothing, send))
        async with asyncio.timeout(30):
            await first.wait()
            await act(scope, task)
        assert scope["on_disconnect"] == []

    asyncio.run(run())
    return sent, ended


def test_a_lost_connection_ends_it_without_an_error() -> None:
    async def lose(scope: Scope, task: asyncio.Task[None]) -> None:
        for hook in list(scope["on_disconnect"]):
            hook()
        await task

    sent, ended = stream(lose)
    assert ended == ["frames"]
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert (b"content-type", b"text/event-stream; charset=utf-8") in sent[0]["headers"]


def test_a_cancellation_by_others_stays_one() -> None:
    async def cancel(scope: Scope, task: asyncio.Task[None]) -> None:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert stream(cancel)[1] == ["frames"]
