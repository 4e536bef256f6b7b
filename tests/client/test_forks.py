"""A forked child goes on with its parent's client: on connections of its own, and never on a lock of a thread that it
has not. In a process of their own, because a child of the tests would have the tests' threads."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.client.cutting import CuttingServer

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

HEAD = """
import gc, os, sys, threading, httpx
from agentsvc_nb import AgentService
from agentsvc_nb.wire import failures
from agentsvc_nb.client.models import Run
RUN_ID = "6f8d3f0e-3f60-4a57-9d0b-0d6e5a3a8c11"
def in_child(work):
    sys.stdout.flush()
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException as error:
            print("child:", repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
def held(lock):  # by a thread that the child has not
    taken = threading.Event()
    threading.Thread(target=lambda: (lock.acquire(), taken.set(), threading.Event().wait()), daemon=True).start()
    assert taken.wait(10)
def pool_lock(client):
    return client._transport._pool._optional_thread_lock._lock
key, url = "svc_sk_x", sys.argv[1]
"""
CASES = {
    "models that a thread was building": """
held(failures._BUILDING)
def work():
    assert Run.read('{"run_id": "x", "status": "s"}').run_id == "x"
in_child(work)
""",
    "a client whose pool is in use": """
client = AgentService(key, url)
client.runs.get(RUN_ID)
held(pool_lock(client._core.io._client()))
def work():
    assert client.runs.get(RUN_ID).run_id == RUN_ID
    assert len(client.history) == 2
in_child(work)
""",
    "a client that the child drops": """
client = AgentService(key, url)
client.runs.get(RUN_ID)
held(pool_lock(client._core.io._client()))
def work():
    global client
    del client
    gc.collect()
in_child(work)
""",
    "a client of the caller's own": """
http = httpx.Client()
client = AgentService(key, url, http_client=http)
client.runs.get(RUN_ID)
held(pool_lock(http))
def work():
    for _ in range(3):
        assert client.runs.get(RUN_ID).run_id == RUN_ID
in_child(work)
""",
    "a transport of the caller's own": """
transport = httpx.HTTPTransport()
client = AgentService(key, url, transport=transport)
client.runs.get(RUN_ID)
held(transport._pool._optional_thread_lock._lock)
def work():
    assert client.runs.get(RUN_ID).run_id == RUN_ID
in_child(work)
""",
}


@pytest.mark.parametrize("case", CASES)
def test_a_fork_never_hangs_on_a_lock_of_its_parent(case: str) -> None:
    with CuttingServer(2) as server:
        code = f"{HEAD}{CASES[case]}\nprint('done', flush=True)\nos._exit(0)\n"
        done = subprocess.run([sys.executable, "-c", code, server.base_url], capture_output=True, text=True, timeout=30)
        assert done.stdout == "done\n", done.stdout + done.stderr
