"""Ctrl-C, cancellation, closing and a fork: each ends what waits, and leaves the client usable and nothing open."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading

import pytest

from agentsvc_nb import AgentService, APIConnectionError, AsyncAgentService
from tests.support.waiting import until
from tests.unit.client.conftest import KEY, RUN_ID, run
from tests.unit.client.streams import events, frames
from tests.unit.client.test_deadlines import Exchange, Server

HEAD = """
import faulthandler, gc, os, signal, sys, threading
import httpx
from agentsvc_nb import AgentService, StefanBrainError
faulthandler.dump_traceback_later(90, exit=True)  # a client that hangs
RUN_ID, FD = "6f8d3f0e-3f60-4a57-9d0b-0d6e5a3a8c11", "/proc/self/fd"
client = AgentService("svc_sk_x", sys.argv[1])
"""
SILENT = """
signal.signal(signal.SIGALRM, signal.default_int_handler)
def descriptors():
    return len(os.listdir(FD)) if os.path.isdir(FD) else 0
def interrupted(call, seconds):
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            call()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return True
stream, got = client.runs.attach(RUN_ID), []
def read_on():
    for event in stream:
        got.append(event.id)
        signal.setitimer(signal.ITIMER_REAL, 0.1)  # of silence
client.runs.get(RUN_ID)
before = descriptors()
for wait in (read_on, read_on, lambda: client.runs.wait(RUN_ID), lambda: client.runs.get("silent")):
    assert interrupted(wait, 30 if wait is read_on and not got else 0.2)
    assert client.runs.get(RUN_ID).run_id == RUN_ID
assert got == [1, 2], got
stream.close()
client.close()
assert threading.active_count() == 1, threading.enumerate()
assert descriptors() <= before + 1
"""
FORKED = """
def refused(work):
    try:
        work()
    except StefanBrainError as error:
        assert "forked" in str(error), error
        return True
own = AgentService("svc_sk_x", sys.argv[1], http_client=httpx.Client())
own.runs.get(RUN_ID)
client.runs.get(RUN_ID)
stream = client.runs.attach(RUN_ID)
assert next(stream).id == 1
child = os.fork()
if not child:
    try:
        assert client.runs.get(RUN_ID).run_id == RUN_ID
        assert refused(lambda: list(stream))
        assert refused(lambda: own.runs.get(RUN_ID))
        del stream
        gc.collect()
    except BaseException as error:
        print("child:", repr(error), flush=True)
        os._exit(1)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert [event.id for event in stream] == list(range(2, 2_001))
assert stream.reconnects == 0
"""
on_posix = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers and no fork on this system")


def silent_run(exchange: Exchange) -> None:
    """Answer for a run of two events that goes on without a word; the run `silent` is not answered at all."""
    if "/runs/silent" in exchange.path:
        exchange.stall()
    elif "event-stream" in exchange.headers.get("accept", ""):
        exchange.begin("text/event-stream")
        after = int(exchange.headers.get("last-event-id", 0))
        exchange.wfile.write(b"retry: 0\n\n" + frames(events(3)[after:2]))
        exchange.stall()
    else:
        exchange.json(run("running"))


def run_script(script: str, *arguments: str) -> None:
    command = [sys.executable, "-W", "ignore::RuntimeWarning", "-c", HEAD + script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr[-2_000:]


@on_posix
def test_ctrl_c_ends_a_call_or_a_stream_at_once() -> None:
    """The client is usable after it, a stream loses nothing, and nothing is left open."""
    with Server(silent_run) as server:
        run_script(SILENT, server.origin)
        server.left()


@pytest.mark.rule("A forked child never uses the connections of its parent.")
@on_posix
def test_a_forked_child_leaves_the_connections_of_its_parent_alone() -> None:
    """It opens its own, or says that it needs a new client; the parent reads on."""

    def long_run(exchange: Exchange) -> None:
        if "event-stream" in exchange.headers.get("accept", ""):
            exchange.begin("text/event-stream")
            exchange.wfile.write(frames(events(2_000)))
            exchange.close_connection = True
        else:
            exchange.json(run())

    with Server(long_run) as server:
        run_script(FORKED, server.origin)


@pytest.mark.rule("A client works after Ctrl-C or a cancellation.")
def test_a_cancelled_task_leaves_the_client_usable() -> None:
    """A stream loses nothing, and nothing is left open."""

    async def use(server: Server) -> None:
        async with AsyncAgentService(KEY, server.origin) as client:
            stream, got = await client.runs.attach(RUN_ID), list[int]()

            async def read_on() -> None:
                async for event in stream:
                    got.append(event.id)

            for work in (read_on(), read_on(), client.runs.get("silent")):
                before = len(server.seen)
                task = asyncio.create_task(work)
                await asyncio.to_thread(until, lambda before=before: len(server.seen) > before and len(got) == 2)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                assert task.cancelled()
                assert (await client.runs.get(RUN_ID)).run_id == RUN_ID
            assert got == [1, 2]
            await stream.close()
            assert len(asyncio.all_tasks()) == 1

    with Server(silent_run) as server:
        asyncio.run(use(server))
        server.left()


@pytest.mark.parametrize("call", ["stream", "wait"])
def test_a_closed_client_ends_those_who_follow_a_run(call: str) -> None:
    """Nothing is sent again. Used again, the client opens connections again, on another event loop, too."""
    errors: list[APIConnectionError] = []

    def follow() -> None:
        try:
            list(stream) if call == "stream" else client.runs.wait(RUN_ID)
        except APIConnectionError as error:
            errors.append(error)

    with Server(silent_run) as server:
        client = AgentService(KEY, server.origin)
        stream = client.runs.attach(RUN_ID)
        threading.Thread(target=follow, daemon=True).start()
        until(lambda: stream.cursor == 2 if call == "stream" else any("/events" in seen for seen in server.seen))
        client.close()
        [error] = until(lambda: errors, patience=10)
        assert (error.closed, error.attempts) == (True, 1)
        assert call == "wait" or error.last_event_id == 2
        assert client.runs.get(RUN_ID).run_id == RUN_ID
        client.close()
        server.left()


def test_a_client_lives_through_two_event_loops() -> None:
    async def read() -> str:
        async with client:
            return (await client.runs.get(RUN_ID)).run_id

    with Server(silent_run) as server:
        client = AsyncAgentService(KEY, server.origin)
        assert [asyncio.run(read()), asyncio.run(read())] == [RUN_ID] * 2
