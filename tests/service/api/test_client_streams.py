"""Streams of the real service where the network breaks, or nothing comes: both faces."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from agentsvc_nb import AgentService, APIConnectionError, AsyncAgentService, JobTimeoutError
from agentsvc_nb.testing import RunningService
from tests.faults.proxy import Fault, Proxy
from tests.service.api.conftest import Wire
from tests.service.api.operations import got

FACES = pytest.mark.parametrize("face", [AgentService, AsyncAgentService], ids=["sync", "async"])


def use(face: Any, api_key: str, base_url: str, work: Callable[[Any], Awaitable[Any]]) -> Any:
    """What `work(client)` gives; it awaits `got(...)`, so that it fits both faces."""

    async def used() -> Any:
        client = face(api_key, base_url)
        try:
            return await work(client)
        finally:
            await got(client.close())

    return asyncio.run(used())


async def read_into(events: list[Any], stream: Any) -> None:
    """So that what was read before an error is there, too."""
    if hasattr(stream, "__aiter__"):
        async for event in stream:
            events.append(event)
    else:
        events.extend(stream)


@FACES
def test_without_retries_each_cut_is_told_and_the_reader_goes_on_by_itself(
    face: Any, service: RunningService, wire: Wire
) -> None:
    run_id = wire.finish("\n".join(f"progress {n} 60 at {n}" for n in range(60)))["run_id"]
    wanted = [event["id"] for event in wire.events(run_id)]
    events: list[Any] = []
    told: list[int] = []
    after: int | None = 0

    async def read(client: Any) -> None:
        await read_into(events, await got(client.runs.attach(run_id, after=after, max_retries=0)))

    with Proxy(service.base_url, [Fault("cut", 3_000)] * 30) as proxy:
        while not events or events[-1].type != "run.ended":
            try:
                use(face, service.api_key, proxy.base_url, read)
            except APIConnectionError as error:
                after = error.last_event_id
                told.append(events[-1].id - (after or 0))
    assert set(told) == {0}
    assert len(told) > 1
    assert [event.id for event in events] == wanted


@pytest.fixture
def silent(wire: Wire) -> Iterator[str]:
    """A run that has said something, and then says nothing."""
    run_id = wire.start("say hello\nwait 3600")["run_id"]
    yield run_id
    wire("POST", f"/runs/{run_id}/cancel")


@FACES
@pytest.mark.parametrize("name", ["attach", "wait"])
def test_a_run_that_says_nothing_is_left_at_the_deadline(
    face: Any, name: str, silent: str, service: RunningService
) -> None:
    async def follow(client: Any) -> None:
        if name == "wait":
            await got(client.runs.wait(silent, timeout=0.3))
        else:
            await got((await got(client.runs.attach(silent, deadline=0.3))).final_status())

    with pytest.raises(JobTimeoutError) as caught:
        use(face, service.api_key, service.base_url, follow)
    assert caught.value.job_id == silent


def test_a_cancelled_task_ends_its_request_and_not_the_run(service: RunningService) -> None:
    async def leave() -> str:
        followed = asyncio.Event()
        async with AsyncAgentService(service.api_key, service.base_url, on_wait=lambda _: followed.set()) as client:
            run = await client.runs.start("wait 600")
            task = asyncio.create_task(client.runs.wait(run))
            await followed.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            left = (await client.runs.get(run)).status
            await client.runs.cancel(run)
            return left

    assert asyncio.run(leave()) in ("queued", "running")
