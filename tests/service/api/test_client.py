"""The client against a real service: data, asks, and one client over loops, threads and forks."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from agentsvc_nb import AgentService, AsyncAgentService
from agentsvc_nb.client.errors import ChatBusyError
from agentsvc_nb.client.options import WaitNotice
from agentsvc_nb.testing import RunningService


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
