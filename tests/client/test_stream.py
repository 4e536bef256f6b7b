"""The event stream: nothing lost, nothing twice, nothing left open."""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import httpx
import pytest

from agentsvc_nb.client import event_streams, streams
from agentsvc_nb.client.api import AgentService, AsyncAgentService
from agentsvc_nb.client.errors import APIConnectionError, JobTimeoutError, StefanBrainError
from agentsvc_nb.client.events import Event, RunEvent, parse_event
from agentsvc_nb.client.sse import ServerSentEvent
from tests.client.conftest import KEY, RUN_ID, Network, answer, failure, run
from tests.client.cutting import CuttingServer, events, frames
from tests.waiting import until

Networks = Callable[..., Network]


def sse(*text: bytes) -> httpx.Response:
    return httpx.Response(200, content=iter(text), headers={"content-type": "text/event-stream; charset=utf-8"})


# -- over real sockets ---------------------------------------------------------------------------------------------


def read_sync(base_url: str, **options: Any) -> tuple[list[Event], int]:
    with AgentService(KEY, base_url) as client, client.runs.attach(RUN_ID, **options) as stream:
        return list(stream), stream.reconnects


def read_sync_within_a_loop(base_url: str, **options: Any) -> tuple[list[Event], int]:
    async def cell() -> tuple[list[Event], int]:
        return read_sync(base_url, **options)

    return asyncio.run(cell())


def read_async(base_url: str, **options: Any) -> tuple[list[Event], int]:
    async def read() -> tuple[list[Event], int]:
        async with AsyncAgentService(KEY, base_url) as client, await client.runs.attach(RUN_ID, **options) as stream:
            return [event async for event in stream], stream.reconnects

    return asyncio.run(read())


@pytest.mark.parametrize("read", [read_sync, read_sync_within_a_loop, read_async])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_hundred_cuts_lose_nothing(read: Callable[..., tuple[list[Event], int]], seed: int) -> None:
    with CuttingServer(500, cuts=100, seed=seed) as server:
        got, reconnects = read(server.base_url, max_retries=4)  # up to four cuts in a row let nothing through
        assert got == [parse_event(event) for event in events(500)]
        assert (server.cuts, reconnects) == (0, 100)


def test_an_interrupt_at_any_line_loses_nothing_and_doubles_nothing() -> None:
    """Ctrl-C in the stream's own code. An event counts as handed out when `cursor` has moved to it."""
    expected = [parse_event(event) for event in events(4)]
    with CuttingServer(4, cuts=0, seed=1) as server, AgentService(KEY, server.base_url) as client:
        for line in itertools.count(1):
            stream, got = client.runs.attach(RUN_ID), list[RunEvent]()
            if not interrupted_at(line, lambda stream=stream, got=got: got.extend(stream)):  # type: ignore[misc]
                break
            got = expected[: stream.cursor]
            got.extend(stream)
            assert got == expected, line
    assert line > 50


def interrupted_at(line: int, work: Callable[[], object]) -> bool:
    """Run `work`, and raise `KeyboardInterrupt` at the `line`-th line or call of what reads a stream."""
    left = line

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename not in (streams.__file__, event_streams.__file__):
            return None
        left -= event in ("call", "line")
        if left == 0:
            raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False


def test_every_cut_of_a_short_stream(network: Networks) -> None:
    """All places where a stream of three events can break, each followed by a whole one."""
    text = frames(events(3))
    for cut in range(len(text)):
        after = text[:cut].count(b"\n\n")
        pages = [answer(200, {"data": events(3)[:1], "status": "completed"})] if not after else []
        rest = frames(events(3)[after:])
        net = network(answer(200, run()), sse(text[:cut]), *pages, sse(rest))
        assert [event.id for event in net.client.runs.attach(RUN_ID)] == [1, 2, 3]
        assert net.requests[-1].headers.get("last-event-id", "0") == str(after)


def test_a_deadline_that_passes_between_two_connections_is_raised(network: Networks) -> None:
    """And not taken for the end of the run."""
    net = network(answer(200, run("running")))
    stream = net.client.runs.attach(RUN_ID, deadline=1)
    net.io.slept.append(5)
    with pytest.raises(JobTimeoutError) as caught:
        next(stream)
    assert caught.value.last_event_id == 0


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


@pytest.mark.parametrize("leave", ["close", "with", "drop"])
def test_leaving_early_leaves_nothing_open(leave: str) -> None:
    with CuttingServer(5, silent=True) as server, AgentService(KEY, server.base_url) as client:
        stream = client.runs.attach(RUN_ID)
        assert next(stream).id == 1
        server.wait_for_open(1)
        if leave == "close":
            stream.close()
            assert list(stream) == []
        elif leave == "with":
            with stream:
                pass
        del stream
        gc.collect()
        server.wait_for_open(0)


def test_dropping_an_async_stream_closes_it() -> None:
    async def read(server: CuttingServer) -> None:
        async with AsyncAgentService(KEY, server.base_url) as client:
            stream = await client.runs.attach(RUN_ID)
            assert (await anext(stream)).id == 1
            del stream
            gc.collect()
            await asyncio.to_thread(server.wait_for_open, 0)

    with CuttingServer(5, silent=True) as server:
        asyncio.run(read(server))


@pytest.mark.parametrize("after", [0, 2])
def test_closing_from_another_thread_ends_a_blocked_read(after: int) -> None:
    with CuttingServer(3, silent=True) as server, AgentService(KEY, server.base_url) as client:
        stream, got = client.runs.attach(RUN_ID, after=after), list[RunEvent]()
        reader = threading.Thread(target=lambda: got.extend(stream))
        reader.start()
        until(lambda: len(server.seen) == 2 and len(got) == 2 - after)  # the run, and its stream
        wait_until_blocked(reader)
        stream.close()
        reader.join(10)
        assert not reader.is_alive()
        assert [event.id for event in got] == [1, 2][after:]
        assert len(server.seen) == 2, "a closed stream asks nothing"


def wait_until_blocked(reader: threading.Thread) -> None:
    """Wait until the thread stays at its `recv`, for twenty looks in a row."""
    looks, pause = 0, threading.Event()
    for _ in range(10_000):
        frame = sys._current_frames().get(reader.ident or 0)
        receiving = (
            frame is not None and frame.f_code.co_filename.endswith("sync.py") and frame.f_code.co_name == "read"
        )
        looks = looks + 1 if receiving else 0
        if looks == 20:
            return
        pause.wait(0.001)
    raise AssertionError("the reader did not come to wait")


def test_an_interrupt_at_any_point_loses_nothing(network: Networks, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C between two events of one chunk; reading on gives the second all the same."""
    first, second = frames(events(4)[:2]), frames(events(4)[2:])
    net = network(answer(200, run()), sse(first, second), sse(frames(events(4)[1:])))
    read, interrupts = streams._event, iter([False, True])

    def interrupted(frame: ServerSentEvent) -> Event:
        if next(interrupts, False):
            raise KeyboardInterrupt
        return read(frame)

    monkeypatch.setattr(streams, "_event", interrupted)
    stream = net.client.runs.attach(RUN_ID)
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    assert [event.id for event in stream] == [1, 2, 3, 4]


def test_a_cancelled_wait_loses_nothing() -> None:
    """`asyncio.wait_for` around the next event gives up on the wait, not on the stream."""

    async def read(server: CuttingServer) -> list[int]:
        async with AsyncAgentService(KEY, server.base_url) as client, await client.runs.attach(RUN_ID) as stream:
            ids = [(await anext(stream)).id for _ in range(2)]
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(stream), 0.05)
            server.silent = False
            return ids + [event.id async for event in stream]

    with CuttingServer(3, silent=True) as server:
        assert asyncio.run(read(server)) == [1, 2, 3]


def test_a_client_lives_through_two_event_loops() -> None:
    with CuttingServer(3) as server:
        client = AsyncAgentService(KEY, server.base_url)

        async def read() -> int:
            async with client, await client.runs.attach(RUN_ID) as stream:
                return len([event async for event in stream])

        assert [asyncio.run(read()), asyncio.run(read())] == [3, 3]


# -- stepped by hand -----------------------------------------------------------------------------------------------


def test_a_started_run_is_followed_to_its_record(network: Networks) -> None:
    started = [{"id": 1, "type": "run.status", "created_at": "", "payload": {"status": "running"}}, *events(3)[1:]]
    net = network(answer(202, run()), sse(frames(started)))
    stream = net.client.runs.start_and_stream("hello", idempotency_key="k")
    assert (stream.run.status, stream.run_id, stream.cursor) == ("queued", RUN_ID, 0)
    next(stream)
    assert (stream.run.status, stream.cursor) == ("running", 1)
    assert stream.final_status().output == "done"
    assert (stream.run.status, stream.reconnects) == ("completed", 0)
    assert net.requests[1].headers["accept"] == "text/event-stream"
    assert "last-event-id" not in net.requests[1].headers


def test_a_finished_replay_streams_all_events(network: Networks) -> None:
    net = network(answer(200, run("completed")), sse(frames(events(4))))
    assert len(list(net.client.runs.start_and_stream("hello", idempotency_key="k"))) == 4


def test_a_stream_from_past_the_end_ends(network: Networks) -> None:
    net = network(answer(200, run("completed")), sse(b""), answer(200, {"data": [], "status": "completed"}))
    stream = net.client.runs.attach(RUN_ID, after=4)
    assert list(stream) == []
    assert net.requests[1].headers["last-event-id"] == "4"


def test_events_that_come_twice_are_given_once(network: Networks) -> None:
    net = network(answer(200, run()), sse(frames(events(5)[:3])), sse(frames(events(5))))
    assert [event.id for event in net.client.runs.attach(RUN_ID)] == [1, 2, 3, 4, 5]


def test_failures_in_a_row_are_counted_anew_after_progress(network: Networks) -> None:
    down = [httpx.ConnectError("refused"), failure("brain_unavailable", 503), httpx.ReadTimeout("")]
    net = network(answer(200, run()), *down, sse(frames(events(4)[:2])), *down, sse(frames(events(4)[2:])))
    assert len(list(net.client.runs.attach(RUN_ID, max_retries=4))) == 4
    assert net.io.slept == [0.5, 1, 2, 0.5, 1, 2, 4]


def test_a_silent_run_is_followed_for_as_long_as_it_lives(network: Networks) -> None:
    """A proxy that cuts every twenty seconds, and an agent that thinks for minutes: pings are life."""

    def pings() -> Iterator[bytes]:
        net.io.slept.append(20)
        yield b": ping\n\n"

    def nothing_yet() -> httpx.Response:
        return answer(200, {"data": [], "status": "running"})

    streams = [httpx.Response(200, content=pings(), headers={"content-type": "text/event-stream"}) for _ in range(9)]
    quiet = [reply for stream in streams for reply in (stream, nothing_yet())]
    net = network(answer(200, run()), *quiet, sse(frames(events(2))))
    assert len(list(net.client.runs.attach(RUN_ID))) == 2


@pytest.mark.parametrize(("most", "waits"), [(None, [0.5, 1]), (1, [0.5]), (5, [0.5, 1, 2, 4, 5])])
def test_more_failures_in_a_row_than_it_may_repeat_are_raised(
    network: Networks, most: int | None, waits: list[float]
) -> None:
    net = network(answer(200, run()), *[httpx.ReadError("reset")] * (len(waits) + 1))
    stream = net.client.runs.attach(RUN_ID, after=7, max_retries=most)
    with pytest.raises(APIConnectionError, match=f"Attach to {RUN_ID} after event 7") as caught:
        next(stream)
    assert (caught.value.attempts, net.io.slept) == (len(waits) + 1, waits)
    assert caught.value.last_event_id == 7


@pytest.mark.parametrize(
    "lost",
    [
        pytest.param([httpx.ReadError("reset")], id="never opened"),
        pytest.param([sse(frames(events(4)[:2]))], id="ended early"),
        pytest.param([sse(b""), answer(200, {"data": [], "status": "running"})], id="ended without events"),
        pytest.param([failure("brain_unavailable", 503)], id="503"),
    ],
)
def test_without_retries_a_lost_stream_is_raised_at_once(network: Networks, lost: list[Any]) -> None:
    net = network(answer(200, run()), *lost)
    stream, got = net.client.runs.attach(RUN_ID, max_retries=0), list[int]()
    with pytest.raises(StefanBrainError, match=f"Attach to {RUN_ID} after event") as caught:
        got.extend(event.id for event in stream)
    assert (caught.value.last_event_id, stream.reconnects, net.io.slept) == (stream.cursor, 0, [])
    assert isinstance(caught.value, APIConnectionError) or caught.value.status == 503
    assert next(stream, None) is None


@pytest.mark.parametrize("read", [read_sync, read_async])
def test_without_retries_the_first_cut_is_the_last(read: Callable[..., tuple[list[Event], int]]) -> None:
    """And the reader goes on from where it was, by itself: five events each time, then one that ends the run."""
    with CuttingServer(6, each=5) as server:
        with pytest.raises(APIConnectionError) as caught:
            read(server.base_url, max_retries=0)
        assert caught.value.last_event_id == 5
        got, reconnects = read(server.base_url, max_retries=0, after=5)
        assert ([event.id for event in got], reconnects) == ([6], 0)
    streams = [fields.get("last-event-id") for _, fields in server.seen if fields.get("accept") == "text/event-stream"]
    assert streams == [None, "5"]


def test_the_service_may_ask_for_time(network: Networks) -> None:
    busy = failure("workspace_busy", 503, retry_after="5")
    net = network(answer(200, run()), busy, sse(frames(events(2))))
    list(net.client.runs.attach(RUN_ID))
    assert net.io.slept == [5.0]


@pytest.mark.parametrize(
    "reply",
    [
        failure("run_not_found", 404),
        failure("unauthorized", 401),
        answer(200, {"data": []}),
        sse(b"data: nonsense\n\n"),
        sse(b"data: []\n\n"),
    ],
    ids=["404", "401", "no stream", "no json", "no event"],
)
def test_what_no_reconnect_helps_is_raised_at_once(network: Networks, reply: httpx.Response) -> None:
    net = network(answer(200, run()), reply)
    with pytest.raises(StefanBrainError):
        next(net.client.runs.attach(RUN_ID))
    assert net.io.slept == []


def test_the_deadline(network: Networks) -> None:
    net = network(answer(202, run()), *[httpx.ReadError("reset")] * 3)
    stream = net.client.runs.start_and_stream("hello", timeout=2, max_retries=3)
    with pytest.raises(JobTimeoutError) as caught:
        stream.final_status()
    assert (caught.value.job_id, caught.value.chat, net.io.now()) == (RUN_ID, "chat_1", 2)


def test_a_start_that_is_never_answered_has_no_id(network: Networks) -> None:
    net = network(*[httpx.ReadTimeout("")] * 3)
    with pytest.raises(JobTimeoutError, match="may have started") as caught:
        net.client.runs.start_and_stream("hello", idempotency_key="k", timeout=1)
    assert caught.value.job_id is None


def test_final_status_of_a_closed_stream_waits_for_the_run(network: Networks) -> None:
    net = network(answer(200, run("running")), answer(200, run("running")), answer(200, run("failed")))
    stream = net.client.runs.attach(RUN_ID)
    stream.close()
    assert stream.final_status().status == "failed"
    assert net.io.slept[0] == 3.0


def test_events_of_new_types_are_passed_on(network: Networks) -> None:
    news = {"id": 1, "type": "mood.changed", "created_at": "", "payload": {"mood": "good"}, "extra": 1}
    net = network(answer(200, run()), sse(frames([news, events(2)[1]])))
    found = list(net.client.runs.attach(RUN_ID))
    assert [(event.type, event.payload.get("mood")) for event in found] == [
        ("mood.changed", "good"),
        ("run.ended", None),
    ]


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"id": 1, "type": "text.delta", "payload": [1]}, "payload"),
        ({"id": "x", "type": "text.delta"}, "`id`"),
        ({"id": 1}, "type"),
        ({"id": 1, "type": "run.ended", "payload": {"run": run(steps="many")}}, "`steps`"),
    ],
)
def test_an_event_of_a_wrong_type_is_named(network: Networks, wrong: dict[str, Any], named: str) -> None:
    frame = f"id: 1\ndata: {json.dumps(wrong)}\n\n".encode()
    net = network(answer(200, run()), sse(frame))
    with pytest.raises(StefanBrainError, match=named):
        list(net.client.runs.attach(RUN_ID))
