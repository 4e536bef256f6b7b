"""The client against a real service: data, asks, streams that break, and one client over loops, threads and forks."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pytest
from pydantic import BaseModel

from agentsvc_nb import AgentService, APIConnectionError, AsyncAgentService, JobTimeoutError
from agentsvc_nb.client.errors import ChatBusyError, JobFailedError, ToolResultError
from agentsvc_nb.client.options import WaitNotice
from agentsvc_nb.testing import RunningService
from tests.faults.proxy import Fault, Proxy
from tests.service.api.conftest import Wire
from tests.service.api.faces import Face
from tests.service.api.operations import got, use
from tests.service.api.service_fixture import HASTY, ServiceFixture

FACES = pytest.mark.parametrize("face", [AgentService, AsyncAgentService], ids=["sync", "async"])


class Item(BaseModel):
    name: str
    price: float


class Offer(BaseModel):
    items: list[Item]


@dataclass
class Plain:
    name: str
    count: int = 0


OFFER = 'answer {"items": [{"name": "lamp", "price": 12}]}'


def test_structured_output_comes_as_the_model(face: Face) -> None:
    started = face(lambda client: client.runs.start(OFFER, output_config=Offer))
    assert face(lambda client: client.runs.wait(started)).data == Offer(items=[Item(name="lamp", price=12)])
    done = face(lambda client: client.runs.start(OFFER, output_config=Offer, sync=True))
    assert done.data == Offer(items=[Item(name="lamp", price=12)])
    assert face(lambda client: client.runs.get(done.run_id)).parse(Offer) == done.data


def test_structured_output_comes_as_the_dataclass(face: Face) -> None:
    done = face(lambda client: client.runs.start('answer {"name": "a"}', output_config=Plain, sync=True))
    assert done.data == Plain("a")


def test_a_dataframe_goes_up_and_comes_back(face: Face, wire: Wire) -> None:
    chat = wire.new_chat()
    prices = pd.DataFrame({"product": ["lamp", "chair"], "price": [12.5, 80.0]})
    face(lambda client: client.files.upload(prices, ("same.csv", prices), chat=chat))
    listed = face(lambda client: client.files.list(chat).to_frame())
    assert list(listed["path"]) == ["uploads/same.csv", "uploads/table.csv"]
    assert listed["id"].nunique() == 1
    content = face(lambda client: client.files.download("uploads/table.csv", chat=chat))
    assert content == b"product,price\nlamp,12.5\nchair,80.0\n"


def test_a_tools_failure_names_its_request(face: Face) -> None:
    """The one in whose answer it was told: what the team that runs the service looks for."""
    used: list[Any] = []

    def ask(client: Any) -> Any:
        used.append(client)
        return client.ask("fail brain_gone It went away.", chat="new")

    def work(client: Any) -> Any:
        used.append(client)
        return client.jobs.submit_and_wait("echo_job", {"steps": 1, "fail": True}, chat="new", poll=0.02)

    for call, kind in ((ask, ToolResultError), (work, JobFailedError)):
        with pytest.raises(kind) as caught:
            face(call)
        last = used[-1].history[-1]
        assert caught.value.request_id
        assert (caught.value.request_id, caught.value.method) == (last.request_id, last.method)


def test_a_busy_chat_is_refused_or_waited_for(client: AgentService) -> None:
    first = client.runs.start("wait 1\nsay first")
    with pytest.raises(ChatBusyError) as caught:
        client.ask("say no", chat=first.chat)
    assert caught.value.active_run_id == first.run_id
    told: list[WaitNotice] = []
    patient = client.with_options(on_wait=told.append)
    assert patient.ask("say second", chat=first.chat, on_busy="wait").answer == "second"
    assert client.runs.get(first.run_id).status == "completed"
    assert told[0] == WaitNotice("chat_busy", first.run_id)


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


FORKING = """
import os, sys
from agentsvc_nb import AgentService

client = AgentService(sys.argv[1], sys.argv[2])
client.tools.list()
reading, writing = os.pipe()
if os.fork() == 0:
    names = [tool.name for tool in client.tools.list()]
    os.write(writing, b"child %d" % len(names))
    os._exit(0)
os.wait()
print(os.read(reading, 99).decode(), "parent", len(client.tools.list()))
"""


def test_one_async_client_over_several_loops(service: RunningService) -> None:
    client = AsyncAgentService(service.api_key, service.base_url)

    async def cell() -> str:
        try:
            async with await client.runs.start_and_stream("say hello") as stream:
                return (await stream.final_status()).output or ""
        finally:
            await client.close()

    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(asyncio.run(cell()))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [asyncio.run(cell()), asyncio.run(cell()), *found] == ["hello"] * 5


def test_a_forked_child_and_its_parent_both_go_on(service: RunningService) -> None:
    script = [sys.executable, "-c", FORKING, service.api_key, service.base_url]
    done = subprocess.run(script, capture_output=True, text=True, timeout=60, check=False)
    with AgentService(service.api_key, service.base_url) as client:
        count = len(client.tools.list())
    assert (done.stdout.split(), done.stderr) == (["child", str(count), "parent", str(count)], "")


def test_a_short_and_a_long_turn_have_the_same_answer(client: AgentService, stage: ServiceFixture) -> None:
    late = stage.other(**HASTY)
    short = client.ask("say hello", chat="new")
    with AgentService(late.api_key, late.base_url) as other:
        long = other.ask("wait 0.2\nsay hello", chat="new")
        assert (short.answer, long.answer) == ("hello", "hello")
        assert other.runs.get(long.run_id or "").chat == long.chat
        with pytest.raises(JobTimeoutError) as caught:
            other.ask("wait 30", chat=long.chat, timeout=0.5)
        other.jobs.cancel(caught.value.job_id or "", chat=caught.value.chat)
