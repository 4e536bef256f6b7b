"""One client across event loops, threads and a fork, against the real service."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

from agentsvc_nb.client.api import AgentService, AsyncAgentService
from agentsvc_nb.testing import RunningService

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


LEAVING = """
import gc, sys
from agentsvc_nb import AgentService

AgentService(sys.argv[1], sys.argv[2]).tools.list()
left = AgentService(sys.argv[1], sys.argv[2])
left.itself = left
left.tools.list()
del left
gc.collect()
"""


def test_a_client_that_was_let_go_leaves_no_connection(service: RunningService) -> None:
    """Also one in a circle; Python would warn of the sockets. The end of the program closes them in any case."""
    script = [sys.executable, "-W", "always", "-c", LEAVING, service.api_key, service.base_url]
    done = subprocess.run(script, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
