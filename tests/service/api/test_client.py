"""The client against a real service: data, asks, and one client over loops, threads and forks."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pandas as pd
import pytest
from pydantic import BaseModel

from agentsvc_nb import AgentService, AsyncAgentService, JobTimeoutError
from agentsvc_nb.client.errors import ChatBusyError, JobFailedError, ToolResultError
from agentsvc_nb.client.options import WaitNotice
from agentsvc_nb.testing import RunningService
from tests.service.api.service_fixture import HASTY, ServiceFixture


class Item(BaseModel):
    name: str
    price: float


class Offer(BaseModel):
    items: list[Item]


OFFER = 'answer {"items": [{"name": "lamp", "price": 12}]}'


def test_structured_output_comes_as_the_model(client: AgentService) -> None:
    offer = Offer(items=[Item(name="lamp", price=12)])
    assert client.runs.wait(client.runs.start(OFFER, output_config=Offer)).data == offer
    done = client.runs.start(OFFER, output_config=Offer, sync=True)
    assert done.data == client.runs.get(done.run_id).parse(Offer) == offer


def test_a_dataframe_goes_up_and_comes_back(client: AgentService) -> None:
    chat = client.runs.start("say x", sync=True).chat or ""
    prices = pd.DataFrame({"product": ["lamp", "chair"], "price": [12.5, 80.0]})
    client.files.upload(prices, ("same.csv", prices), chat=chat)
    listed = client.files.list(chat).to_frame()
    assert list(listed["path"]) == ["uploads/same.csv", "uploads/table.csv"]
    assert listed["id"].nunique() == 1
    assert client.files.download("uploads/table.csv", chat=chat) == b"product,price\nlamp,12.5\nchair,80.0\n"


def test_a_tools_failure_names_its_request(client: AgentService) -> None:
    """The one in whose answer it was told: what the team that runs the service looks for."""
    with pytest.raises(ToolResultError) as asked:
        client.ask("fail brain_gone It went away.", chat="new")
    assert asked.value.request_id == client.history[-1].request_id
    with pytest.raises(JobFailedError) as worked:
        client.jobs.submit_and_wait("echo_job", {"steps": 1, "fail": True}, chat="new", poll=0.02)
    assert worked.value.request_id == client.history[-1].request_id


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


def test_a_forked_child_and_its_parent_both_go_on(service: RunningService, client: AgentService) -> None:
    script = [sys.executable, "-c", FORKING, service.api_key, service.base_url]
    done = subprocess.run(script, capture_output=True, text=True, timeout=60, check=False)
    count = str(len(client.tools.list()))
    assert (done.stdout.split(), done.stderr) == (["child", count, "parent", count], "")


def test_a_long_turn_has_its_answer_and_may_be_given_up(stage: ServiceFixture) -> None:
    late = stage.other(**HASTY)
    with AgentService(late.api_key, late.base_url) as client:
        long = client.ask("wait 0.2\nsay hello", chat="new")
        assert long.answer == "hello"
        assert client.runs.get(long.run_id or "").chat == long.chat
        with pytest.raises(JobTimeoutError) as caught:
            client.ask("wait 30", chat=long.chat, timeout=0.5)
        client.jobs.cancel(caught.value.job_id or "", chat=caught.value.chat)
