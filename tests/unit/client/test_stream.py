"""The event stream: cut anywhere, it loses nothing, gives nothing twice, and leaves nothing open."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from agentsvc_nb import AgentService, APIConnectionError, AsyncAgentService, JobTimeoutError, StefanBrainError
from agentsvc_nb.client.events import parse_event
from tests.unit.client.conftest import KEY, RUN_ID, Networks, answer, failure, run
from tests.unit.client.cutting import CuttingServer, events, frames, sse
from tests.unit.independent.faces import FACES, Followed, following


def attach(client: Any) -> Any:
    return client.runs.attach(RUN_ID)


def follow(origin: str, face: str, after: int = 0, **options: Any) -> Followed:
    """Read the run's stream to its end, over real sockets."""
    followed: Followed = FACES[face](
        origin, following(lambda client: client.runs.attach(RUN_ID, after=after)), **options
    )
    return followed


def ids(got: Any) -> list[int]:
    return [event.id for event in got]


# -- over real sockets ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_hundred_cuts_lose_nothing(face: str, seed: int) -> None:
    with CuttingServer(500, cuts=100, seed=seed) as server:
        got = follow(server.origin, face, max_retries=4)  # up to four cuts in a row let nothing through
        assert got.events == [parse_event(event) for event in events(500)]
        assert (server.cuts, got.reconnects) == (0, 100)


@pytest.mark.parametrize("face", ["blocking", "async"])
def test_what_a_service_does_not_have_is_not_waited_for(face: str) -> None:
    """Ids have no gaps; where a page has none either, the events that are there come all the same."""
    with CuttingServer(14) as server:
        del server.events[3:6]
        assert follow(server.origin, face).ids == [1, 2, 3, *range(7, 15)]


def test_one_client_in_eight_threads_over_eighty_cuts() -> None:
    got: list[Any] = []

    def read() -> None:
        for _ in range(10):
            with client.runs.attach(RUN_ID) as stream:
                got.append(ids(stream))

    with CuttingServer(30, cuts=80, seed=2) as server, AgentService(KEY, server.origin, max_retries=20) as client:
        threads = [threading.Thread(target=read) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert server.cuts == 0
    assert got == [list(range(1, 31))] * 80


@pytest.mark.parametrize("leave", ["close", "with", "drop"])
def test_leaving_early_leaves_nothing_open(leave: str) -> None:
    with CuttingServer(5, silent=True) as server, AgentService(KEY, server.origin) as client:
        stream = client.runs.attach(RUN_ID)
        assert next(stream).id == 1
        if leave == "close":
            stream.close()
            assert list(stream) == []
        elif leave == "with":
            with stream:
                pass
        del stream
        gc.collect()
        assert server.left()


def test_dropping_an_async_stream_closes_it() -> None:
    async def read(server: CuttingServer) -> None:
        async with AsyncAgentService(KEY, server.origin) as client:
            stream = await client.runs.attach(RUN_ID)
            assert (await anext(stream)).id == 1
            del stream
            gc.collect()
            assert await asyncio.to_thread(server.left)

    with CuttingServer(5, silent=True) as server:
        asyncio.run(read(server))


def test_a_cancelled_wait_loses_nothing() -> None:
    """`asyncio.wait_for` around the next event gives up on the wait, not on the stream."""

    async def read(server: CuttingServer) -> list[int]:
        async with AsyncAgentService(KEY, server.origin) as client, await client.runs.attach(RUN_ID) as stream:
            got = [(await anext(stream)).id for _ in range(2)]
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(stream), 0.05)
            server.silent = False
            return got + [event.id async for event in stream]

    with CuttingServer(3, silent=True) as server:
        assert asyncio.run(read(server)) == [1, 2, 3]


def test_a_client_lives_through_two_event_loops() -> None:
    with CuttingServer(3) as server:
        client = AsyncAgentService(KEY, server.origin)

        async def read() -> int:
            async with client, await client.runs.attach(RUN_ID) as stream:
                return len([event async for event in stream])

        assert [asyncio.run(read()), asyncio.run(read())] == [3, 3]


@pytest.mark.parametrize("face", ["blocking", "async"])
def test_the_text_of_a_stream_alone(face: str) -> None:
    """An async stream is entered without a second await; it may be awaited, too (the tests above)."""

    def sync(client: Any) -> Any:
        with client.runs.attach(RUN_ID) as stream:
            return "".join(stream.text), stream.final_status().output

    async def awaited(client: Any) -> Any:
        async with client.runs.attach(RUN_ID) as stream:
            return "".join([piece async for piece in stream.text]), (await stream.final_status()).output

    spoken = "".join(event["payload"].get("text", "") for event in events(20))
    with CuttingServer(20) as server:
        assert FACES[face](server.origin, awaited if face == "async" else sync) == (spoken, "done")


# -- on scripted answers -------------------------------------------------------------------------------------------


def test_every_cut_of_a_short_stream(network: Networks) -> None:
    """All places where a stream of three events can break, each followed by a whole one."""
    text = frames(events(3))
    for cut in range(len(text)):
        after = text[:cut].count(b"\n\n")
        pages = [answer(200, {"data": events(3)[:1], "status": "completed"})] if not after else []
        net = network(answer(200, run()), sse(text[:cut]), *pages, sse(frames(events(3)[after:])))
        assert ids(net.client.runs.attach(RUN_ID)) == [1, 2, 3]
        assert net.requests[-1].headers.get("last-event-id", "0") == str(after)


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


def test_a_finished_replay_streams_all_events(both: Networks) -> None:
    net = both(answer(200, run("completed")), sse(frames(events(4))))
    assert len(net.call(lambda client: client.runs.start_and_stream("hello", idempotency_key="k"))) == 4


def test_a_stream_from_past_the_end_ends(both: Networks) -> None:
    net = both(answer(200, run("completed")), sse(b""), answer(200, {"data": [], "status": "completed"}))
    assert net.call(lambda client: client.runs.attach(RUN_ID, after=4)) == []
    assert net.requests[1].headers["last-event-id"] == "4"


def test_events_that_come_twice_are_given_once(both: Networks) -> None:
    twice = [event for event in events(3) for _ in range(2)]
    assert ids(both(answer(200, run()), sse(frames(twice))).call(attach)) == [1, 2, 3]


def test_failures_in_a_row_are_counted_anew_after_progress(both: Networks) -> None:
    down = [httpx.ConnectError("refused"), failure("brain_unavailable", 503), httpx.ReadTimeout("")]
    net = both(answer(200, run()), *down, sse(frames(events(4)[:2])), *down, sse(frames(events(4)[2:])))
    assert len(net.call(lambda client: client.runs.attach(RUN_ID, max_retries=4))) == 4
    assert net.slept == [0.5, 1, 2, 0.5, 1, 2, 4]


def test_a_silent_run_is_followed_for_as_long_as_it_lives(network: Networks) -> None:
    """A proxy cuts every twenty seconds while an agent thinks for minutes: pings are life."""

    def pings() -> Iterator[bytes]:
        net.clock.skipped += 20
        yield b": ping\n\n"

    headers = {"content-type": "text/event-stream"}
    quiet = [
        reply
        for _ in range(9)
        for reply in (
            httpx.Response(200, content=pings(), headers=headers),
            answer(200, {"data": [], "status": "running"}),
        )
    ]
    net = network(answer(200, run()), *quiet, sse(frames(events(2))))
    assert len(net.call(attach)) == 2


@pytest.mark.parametrize(("most", "waits"), [(None, [0.5, 1]), (1, [0.5]), (5, [0.5, 1, 2, 4, 5])])
def test_more_failures_in_a_row_than_it_may_repeat_are_raised(
    both: Networks, most: int | None, waits: list[float]
) -> None:
    net = both(answer(200, run()), *[httpx.ReadError("reset")] * (len(waits) + 1))
    error = net.error(lambda client: client.runs.attach(RUN_ID, after=7, max_retries=most))
    assert (type(error), error.attempts, net.slept) == (APIConnectionError, len(waits) + 1, waits)
    assert error.last_event_id == 7
    assert f"Attach to {RUN_ID} after event 7" in str(error)


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
    assert (caught.value.last_event_id, stream.reconnects, net.slept) == (stream.cursor, 0, [])
    assert isinstance(caught.value, APIConnectionError) or caught.value.status == 503
    assert next(stream, None) is None


@pytest.mark.parametrize(
    "reply",
    [
        failure("run_not_found", 404), failure("unauthorized", 401), answer(200, {"data": []}),
        sse(b"data: nonsense\n\n"), sse(b"data: []\n\n"),
    ],
    ids=["404", "401", "no stream", "no json", "no event"],
)  # fmt: skip
def test_what_no_reconnect_helps_is_raised_at_once(both: Networks, reply: httpx.Response) -> None:
    net = both(answer(200, run()), reply)
    assert net.error(attach)
    assert net.slept == []


def test_an_interrupt_between_two_events_loses_nothing(network: Networks) -> None:
    """Ctrl-C within a chunk of two events; reading on gives the second all the same."""

    def interrupted() -> Iterator[bytes]:
        yield frames(events(4)[:2])
        raise KeyboardInterrupt

    cut = httpx.Response(200, content=interrupted(), headers={"content-type": "text/event-stream"})
    stream = network(answer(200, run()), cut, sse(frames(events(4)[2:]))).client.runs.attach(RUN_ID)
    got: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        got.extend(event.id for event in stream)
    assert got == [1, 2]
    assert ids(stream) == [3, 4]


def test_the_deadline(both: Networks) -> None:
    net = both(answer(202, run()), *[httpx.ReadError("reset")] * 3)
    error = net.error(lambda client: client.runs.start_and_stream("hello", timeout=2, max_retries=3))
    assert (type(error), error.job_id, error.chat, sum(net.slept)) == (JobTimeoutError, RUN_ID, "chat_1", 2)


def test_a_deadline_that_passes_between_two_connections_is_raised(network: Networks) -> None:
    """It is not taken for the end of the run."""
    net = network(answer(200, run("running")))
    stream = net.client.runs.attach(RUN_ID, deadline=1)
    net.clock.skipped += 5
    with pytest.raises(JobTimeoutError) as caught:
        next(stream)
    assert caught.value.last_event_id == 0


def test_a_start_that_is_never_answered_has_no_id(both: Networks) -> None:
    net = both(*[httpx.ReadTimeout("")] * 3)
    error = net.error(lambda client: client.runs.start_and_stream("hello", idempotency_key="k", timeout=1))
    assert (type(error), error.job_id, "may have started" in str(error)) == (JobTimeoutError, None, True)


def test_final_status_of_a_closed_stream_waits_for_the_run(network: Networks) -> None:
    net = network(answer(200, run("running")), answer(200, run("running")), answer(200, run("failed")))
    stream = net.client.runs.attach(RUN_ID)
    stream.close()
    assert stream.final_status().status == "failed"
    assert net.slept[0] == 3.0


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


def test_events_of_new_types_are_passed_on(both: Networks) -> None:
    news = {"id": 1, "type": "mood.changed", "created_at": "", "payload": {"mood": "good"}, "extra": 1}
    found = both(answer(200, run()), sse(frames([news, events(2)[1]]))).call(attach)
    moods = [(event.type, event.payload.get("mood")) for event in found]
    assert moods == [("mood.changed", "good"), ("run.ended", None)]


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"id": 1, "type": "text.delta", "payload": [1]}, "payload"),
        ({"id": "x", "type": "text.delta"}, "`id`"),
        ({"id": 1}, "type"),
        ({"id": 1, "type": "run.ended", "payload": {"run": run(steps="many")}}, "`steps`"),
    ],
)
def test_an_event_of_a_wrong_type_is_named(both: Networks, wrong: dict[str, Any], named: str) -> None:
    assert named in str(both(answer(200, run()), sse(f"data: {json.dumps(wrong)}\n\n".encode())).error(attach))
