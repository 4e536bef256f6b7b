"""A forked child never uses the connections of its parent. In a process of its own: the tests have threads."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.client.cutting import CuttingServer

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

PROGRAM = """
import gc, os, sys, httpx
from agentsvc_nb import AgentService, StefanBrainError
RUN_ID = "6f8d3f0e-3f60-4a57-9d0b-0d6e5a3a8c11"

def refused(work):
    try:
        work()
    except StefanBrainError as error:
        assert "forked" in str(error), error
        return True

def child():
    global stream
    assert client.runs.get(RUN_ID).run_id == RUN_ID
    assert refused(lambda: list(stream))
    assert refused(lambda: own.runs.get(RUN_ID))
    del stream
    gc.collect()

client = AgentService("svc_sk_x", sys.argv[1])
own = AgentService("svc_sk_x", sys.argv[1], http_client=httpx.Client())
own.runs.get(RUN_ID)
stream = client.runs.attach(RUN_ID)
assert next(stream).id == 1
sys.stdout.flush()
pid = os.fork()
if not pid:
    try:
        child()
    except BaseException as error:
        print("child:", repr(error), flush=True)
        os._exit(1)
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
assert [event.id for event in stream] == list(range(2, 2_001))
assert stream.reconnects == 0
"""


def test_a_forked_child_leaves_the_connections_of_its_parent_alone() -> None:
    with CuttingServer(2_000) as server:
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM, server.base_url], capture_output=True, text=True, timeout=60
        )
        assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr
