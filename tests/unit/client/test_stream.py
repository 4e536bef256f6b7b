"""The event stream: cut anywhere, it loses nothing, gives nothing twice, and leaves nothing open."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from agentsvc_nb import APIConnectionError, AsyncAgentService, JobTimeoutError, StefanBrainError
from agentsvc_nb.client.events import parse_event
from tests.unit.client.conftest import FACES, HOST, KEY, RESET, RUN_ID, Networks, answer, failure, run
from tests.unit.client.streams import Body, events, frames, sse


def attach(client: Any) -> Any:
    return client.runs.attach(RUN_ID)


@pytest.mark.rule("A stream loses and repeats no event, wherever it is cut.")
@pytest.mark.parametrize("face", FACES)
def test_a_hundred_cuts_lose_nothing(face: str) -> None:
    """Each stream is cut at a random byte, by an end or a reset; after three in vain one lets an event through."""
    dice, every, begun = random.Random(1), events(400), list[int]()

    def cut(request: httpx.Request) -> httpx.Response:
        after = int(request.headers.get("last-event-id") or request.url.params.get("after", 0))
        if request.headers.get("accept") != "text/event-stream":
            page = {"data": every[after : after + 100], "status": "completed"}
            return answer(200, page if request.url.path.endswith("/events") else run("completed"))
        begun.append(after)
        whole = b"retry: 0\n\n" + frames(every[after : after + 12 if len(begun) <= 100 else None])
        if len(begun) > 100:
            return sse(whole)
        merciful = begun[-4:] == [after] * 4
        pieces: list[bytes | BaseException] = [whole[: dice.randrange(600 if merciful else 0, 1_000)]]
        return sse(*pieces, *[RESET] * (not merciful and dice.random() < 0.5))

    got = FACES[face](HOST, lambda c: c.runs.attach(RUN_ID), transport=httpx.MockTransport(cut), max_retries=4)
    assert got == [parse_event(event) for event in every]
    assert len(begun) == 101


S = events(6)
ORDERS: dict[str, list[httpx.Response]] = {
    "each twice": [sse(frames([event for event in S for _ in range(2)]))],
    "told again from the start": [sse(frames(S[:4])), sse(frames(S))],
    "two in the wrong order": [sse(frames([S[0], S[2], S[1], *S[3:]]))],
    "one is missing": [sse(frames([S[0], *S[2:]]))],
    "all but the end are missing": [sse(frames(S[-1:]))],
    "more after the end": [sse(frames([*S, {**S[0], "id": 7}]))],
    "a 503 when it goes on": [sse(frames(S[:3])), failure("brain_unavailable", 503)],
}


@pytest.mark.parametrize("order", ORDERS)
def test_events_come_once_and_in_order_however_they_are_sent(order: str, network: Networks) -> None:
    """What a stream leaves out is read from the page of events, or from the next stream."""
    left = list(ORDERS[order])

    def service(request: httpx.Request) -> httpx.Response:
        after = int(request.headers.get("last-event-id") or request.url.params.get("after", 0))
        if request.headers.get("accept") == "text/event-stream":
            return left.pop(0) if left else sse(frames(S[after:]))
        page = {"data": S[after:], "next_after": 6, "status": "completed"}
        return answer(200, page if request.url.path.endswith("/events") else run())

    net = network()
    net.transport.handler = service
    assert net.call(attach) == [parse_event(event) for event in S]


def test_a_cancelled_wait_loses_nothing() -> None:
    """`asyncio.wait_for` around the next event gives up on the wait, not on the stream."""

    class Waiting(Body):
        async def __aiter__(self) -> Any:
            yield frames(S[:2])
            await asyncio.Event().wait()

    waiting = httpx.Response(200, stream=Waiting(), headers={"content-type": "text/event-stream"})
    replies = iter([answer(200, run()), waiting, sse(frames(S[2:]))])

    async def read() -> list[int]:
        transport = httpx.MockTransport(lambda request: next(replies))
        async with AsyncAgentService(KEY, HOST, transport=transport) as client, await attach(client) as stream:
            got = [(await anext(stream)).id for _ in range(2)]
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(stream), 0.01)
            return got + [event.id async for event in stream]

    assert asyncio.run(read()) == [1, 2, 3, 4, 5, 6]


@pytest.mark.rule("`final_status()` returns the finished run.")
def test_a_started_run_is_followed_to_its_record(network: Networks) -> None:
    started = [{"id": 1, "type": "run.status", "created_at": "", "payload": {"status": "running"}}, *events(3)[1:]]
    net = network(answer(202, run()), sse(frames(started)))
    stream = net.client.runs.start_and_stream("hello", idempotency_key="k")
    assert (stream.run.status, stream.run_id, stream.cursor) == ("queued", RUN_ID, 0)
    next(stream)
    assert (stream.run.status, stream.cursor) == ("running", 1)
    assert stream.final_status().output == "done"
    assert (stream.run.status, stream.reconnects) == ("completed", 0)
    assert "last-event-id" not in net.requests[1].headers


def test_an_end_that_was_too_large_gets_its_record(network: Networks) -> None:
    """Also when that could not be had at first: the end is not handed out without."""
    every = events(2)
    every[-1]["payload"] = {"run": run(status="completed", output="be…"), "truncated": True}
    whole = run(status="completed", output="beginning and end")
    net = network(answer(200, run()), sse(frames(every)), failure("internal_error", 500), answer(200, whole))
    stream = net.client.runs.attach(RUN_ID, max_retries=0)
    assert next(stream).id == 1
    with pytest.raises(StefanBrainError):
        next(stream)
    (end,) = stream
    assert (end.type, end.payload["run"]["output"]) == ("run.ended", "beginning and end")
    assert stream.final_status().output == "beginning and end"


def test_failures_in_a_row_are_counted_anew_after_progress(network: Networks) -> None:
    down = [httpx.ConnectError("refused"), failure("brain_unavailable", 503), httpx.ReadTimeout("")]
    net = network(answer(200, run()), *down, sse(frames(events(4)[:2])), *down, sse(frames(events(4)[2:])))
    assert len(net.call(lambda client: client.runs.attach(RUN_ID, max_retries=4))) == 4
    assert net.slept == [0.5, 1, 2, 0.5, 1, 2, 4]


@pytest.mark.rule("A stream has a ping every 15 s.")
def test_a_silent_run_is_followed_for_as_long_as_it_lives(network: Networks) -> None:
    """A proxy cuts every twenty seconds while an agent thinks for minutes: pings are life."""

    def pings() -> Iterator[bytes]:
        net.clock.skipped += 20
        yield b": ping\n\n"

    quiet: list[httpx.Response] = []
    for _ in range(9):
        quiet.append(httpx.Response(200, content=pings(), headers={"content-type": "text/event-stream"}))
        quiet.append(answer(200, {"data": [], "status": "running"}))
    net = network(answer(200, run()), *quiet, sse(frames(events(2))))
    assert len(net.call(attach)) == 2


@pytest.mark.rule("A stream reconnects at most `max_retries` times in a row.")
@pytest.mark.parametrize(("most", "waits"), [(None, [0.5, 1]), (1, [0.5]), (5, [0.5, 1, 2, 4, 5])])
def test_more_failures_in_a_row_than_it_may_repeat_are_raised(
    both: Networks, most: int | None, waits: list[float]
) -> None:
    net = both(answer(200, run()), *[RESET] * (len(waits) + 1))
    error = net.error(lambda client: client.runs.attach(RUN_ID, after=7, max_retries=most))
    assert (type(error), error.attempts, net.slept) == (APIConnectionError, len(waits) + 1, waits)
    assert error.last_event_id == 7
    assert f"attach to {RUN_ID} after event 7" in str(error)


@pytest.mark.parametrize(
    "lost",
    [
        pytest.param([RESET], id="never opened"),
        pytest.param([sse(frames(events(4)[:2]))], id="ended early"),
        pytest.param([failure("brain_unavailable", 503)], id="503"),
    ],
)
def test_without_retries_a_lost_stream_is_raised_at_once(network: Networks, lost: list[Any]) -> None:
    net = network(answer(200, run()), *lost)
    stream = net.client.runs.attach(RUN_ID, max_retries=0)
    with pytest.raises(StefanBrainError) as caught:
        list(stream)
    assert (caught.value.last_event_id, stream.reconnects, net.slept) == (stream.cursor, 0, [])
    assert next(stream, None) is None


@pytest.mark.rule("A stream's `timeout` ends the reading, not the run.")
def test_the_deadline(both: Networks) -> None:
    net = both(answer(202, run()), *[RESET] * 3)
    error = net.error(lambda client: client.runs.start_and_stream("hello", timeout=2, max_retries=3))
    assert (type(error), error.job_id, error.chat, sum(net.slept)) == (JobTimeoutError, RUN_ID, "chat_1", 2)
