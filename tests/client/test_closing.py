"""Closing a stream or a client ends what waits for it in another thread or task, at once and with an error of ours."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from agentsvc_nb.client.api import AgentService, AsyncAgentService
from agentsvc_nb.client.errors import MAY_HAVE_STARTED, APIConnectionError
from tests.client.conftest import KEY, RUN_ID
from tests.client.cutting import CuttingServer
from tests.client.test_deadlines import StallingServer

STALLS = {"nothing": "request", "half a head": "head", "half a body": "body"}


class Thread(threading.Thread):
    """Keeps what its work returned or raised."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self.outcome: Any = None

    def run(self) -> None:
        try:
            self.outcome = self._work()
        except BaseException as error:
            self.outcome = error

    def ended(self) -> Any:
        self.join(10)
        assert not self.is_alive(), "it still waits"
        return self.outcome


def closed(outcome: Any) -> APIConnectionError:
    assert isinstance(outcome, APIConnectionError), outcome
    assert (outcome.closed, outcome.attempts) == (True, 1), "it is not sent again"
    return outcome


@pytest.mark.parametrize("after", STALLS.values(), ids=STALLS)
def test_a_closed_stream_ends_its_reader(after: str) -> None:
    with StallingServer("/events", after) as server, AgentService(KEY, server.base_url) as client:
        stream = client.runs.attach(RUN_ID)
        reader = Thread(lambda: [event.id for event in stream])
        reader.start()
        assert server.stalled.wait(10)
        stream.close()
        assert reader.ended() in ([], [1])  # whether the first event was read before


@pytest.mark.parametrize("after", STALLS.values(), ids=STALLS)
def test_a_closed_client_ends_a_call(after: str) -> None:
    with StallingServer("/runs/", after) as server:
        client = AgentService(KEY, server.base_url)
        caller = Thread(lambda: client.runs.get(RUN_ID))
        caller.start()
        assert server.stalled.wait(10)
        client.close()
        error = closed(caller.ended())
        assert str(error) == "The client was closed before the service answered."


def test_a_start_that_was_waited_for_may_have_begun() -> None:
    with StallingServer("POST", "head") as server:
        client = AgentService(KEY, server.base_url)
        caller = Thread(lambda: client.runs.start("Think"))
        caller.start()
        assert server.stalled.wait(10)
        client.close()
        assert closed(caller.ended()).hint == MAY_HAVE_STARTED


def test_a_closed_client_ends_an_upload_that_is_not_taken() -> None:
    with StallingServer("POST", "request") as server:
        client = AgentService(KEY, server.base_url)
        caller = Thread(lambda: client.files.upload(("big.bin", bytes(30_000_000))))
        caller.start()
        assert server.stalled.wait(10)
        client.close()
        closed(caller.ended())


@pytest.mark.parametrize("call", ["stream", "wait"])
def test_a_closed_client_ends_those_who_follow_a_run(call: str) -> None:
    with CuttingServer(3, silent=True) as server:
        client, read = AgentService(KEY, server.base_url), threading.Event()
        following = client.runs.attach(RUN_ID)

        def follow() -> None:
            for event in following:
                if event.id == 2:
                    read.set()

        caller = Thread(follow if call == "stream" else lambda: client.runs.wait(RUN_ID))
        caller.start()
        if call == "stream":
            assert read.wait(10)
        with server.changed:  # the run, that of the wait, and the stream
            assert server.changed.wait_for(
                lambda: bool(server.seen) and server.seen[-1][1].get("accept") == "text/event-stream", 10
            )
        client.close()
        error = caller.ended()
        assert error.closed
        assert error.last_event_id == (2 if call == "stream" else error.last_event_id)
        assert client.runs.get(RUN_ID).run_id == RUN_ID, "used again, it opens connections again"
        client.close()
        server.wait_for_open(0)


def test_a_stream_that_nobody_waits_for_goes_on_after_its_client_was_closed() -> None:
    with CuttingServer(3, silent=True, each=1) as server:
        client = AgentService(KEY, server.base_url)
        stream = client.runs.attach(RUN_ID)
        assert next(stream).id == 1
        client.close()
        assert (next(stream).id, stream.reconnects) == (2, 1)
        stream.close()
        client.close()


# -- asyncio --------------------------------------------------------------------------------------------------------

Work = Callable[[AsyncAgentService], Coroutine[Any, Any, Any]]


async def meanwhile(server: StallingServer, work: Work, *, stream: bool) -> Any:
    """What the work returns or raises when its stream or client is closed while it waits."""
    client = AsyncAgentService(KEY, server.base_url)
    following = await client.runs.attach(RUN_ID) if stream else None
    task = asyncio.create_task(_read(following) if following else work(client))
    assert await asyncio.to_thread(server.stalled.wait, 10)
    await asyncio.sleep(0.05)
    await (following or client).close()
    async with asyncio.timeout(10):
        outcomes = await asyncio.gather(task, return_exceptions=True)
    await client.close()
    return outcomes[0]


async def _read(stream: Any) -> list[int]:
    return [event.id async for event in stream]


async def _get(client: AsyncAgentService) -> Any:
    return await client.runs.get(RUN_ID)


@pytest.mark.parametrize("after", STALLS.values(), ids=STALLS)
def test_closing_a_stream_ends_the_task_that_reads_it(after: str) -> None:
    with StallingServer("/events", after) as server:
        assert asyncio.run(meanwhile(server, _get, stream=True)) in ([], [1])


@pytest.mark.parametrize("after", STALLS.values(), ids=STALLS)
def test_closing_a_client_ends_the_task_that_waits(after: str) -> None:
    with StallingServer("/runs/", after) as server:
        closed(asyncio.run(meanwhile(server, _get, stream=False)))
