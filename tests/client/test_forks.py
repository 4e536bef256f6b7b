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
import asyncio, gc, os, socket, sys, threading, httpx
from agentsvc_nb import AgentService, AsyncAgentService, JobTimeoutError
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
    "a stream that the child drops": """
client = AgentService(key, url)
stream = client.runs.attach(RUN_ID)
next(stream)
held(pool_lock(client._core.io._client()))
def work():
    global stream
    del stream
    gc.collect()
in_child(work)
""",
    "a stream that the child closes": """
client = AgentService(key, url)
stream = client.runs.attach(RUN_ID)
next(stream)
held(pool_lock(client._core.io._client()))
in_child(stream.close)
""",
    "a stream that the child leaves when it ends": """
client = AgentService(key, url)
stream = client.runs.attach(RUN_ID)
next(stream)
held(pool_lock(client._core.io._client()))
child = os.fork()
if not child:
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
""",
    "a stream that the parent goes on reading": """
client = AgentService(key, url)
stream = client.runs.attach(RUN_ID, deadline=1)
next(stream)
def work():
    global stream, client
    stream.close()
    client.close()
    del stream, client
    gc.collect()
in_child(work)
try:
    stream.final_status()
except JobTimeoutError:
    pass
assert stream.reconnects == 0
""",
    "a stream that the child goes on reading": """
client = AgentService(key, url)
stream = client.runs.attach(RUN_ID)
next(stream)
def work():
    assert next(stream).id == 2
    assert stream.reconnects == 1
in_child(work)
""",
    "a stream on the loop of both": """
listener, left = socket.create_server(("127.0.0.1", 0)), threading.Event()
def serve():
    for body in (b'{"run_id": "%s", "status": "running", "chat": "c"}' % RUN_ID.encode(), None):
        connection, _ = listener.accept()
        connection.recv(65536)
        kind, end = b"application/json", b"Content-Length: %d\\r\\n\\r\\n%s" % (len(body or b""), body or b"")
        if body is None:
            kind, end = b"text/event-stream", b"\\r\\n" + event(1)
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Type: " + kind + b"\\r\\n" + end)
        if body is not None:
            connection.close()
    left.wait()
    connection.sendall(event(2))
def event(number):
    return b'id: %d\\ndata: {"id": %d, "type": "step", "created_at": "", "payload": {}}\\n\\n' % (number, number)
threading.Thread(target=serve, daemon=True).start()
async def begin():
    stream = await client.runs.attach(RUN_ID)
    assert (await anext(stream)).id == 1
    return stream
async def leave():
    await stream.close()
    await client.close()
async def go_on():
    async with asyncio.timeout(10):
        assert (await anext(stream)).id == 2
    assert stream.reconnects == 0
loop = asyncio.new_event_loop()
client = AsyncAgentService(key, f"http://127.0.0.1:{listener.getsockname()[1]}")
stream = loop.run_until_complete(begin())
in_child(lambda: loop.run_until_complete(leave()))
left.set()
loop.run_until_complete(go_on())
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
    with CuttingServer(5, silent=True, each=1) as server:
        code = f"{HEAD}{CASES[case]}\nprint('done', flush=True)\nos._exit(0)\n"
        done = subprocess.run([sys.executable, "-c", code, server.base_url], capture_output=True, text=True, timeout=30)
        assert done.stdout == "done\n", done.stdout + done.stderr
