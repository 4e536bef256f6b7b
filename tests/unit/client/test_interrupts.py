"""Ctrl-C, cancellation, closing and a fork: each ends what waits, and leaves the client usable and nothing open."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import httpx
import pytest

from agentsvc_nb import AgentService, APIConnectionError, AsyncAgentService
from tests.support.waiting import until
from tests.unit.client.conftest import KEY, RUN_ID
from tests.unit.client.cutting import CuttingServer
from tests.unit.client.test_deadlines import STALLS, stalling
from tests.unit.independent.faces import Call
from tests.unit.independent.mock import Fault, Mock, Reply, Seen

# -- Ctrl-C: in a process of its own, whose main thread the signals come to --------------------------------------------

HEAD = """
import faulthandler, os, signal, sys, threading, time
from agentsvc_nb import AgentService, StefanBrainError
faulthandler.dump_traceback_later(90, exit=True)  # a client that hangs
RUN_ID, FD = "6f8d3f0e-3f60-4a57-9d0b-0d6e5a3a8c11", "/proc/self/fd"
client = AgentService("svc_sk_x", sys.argv[1])
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
    return False
"""
SILENT = """
stream = client.runs.attach(RUN_ID)
def read_on():
    for event in stream:
        got.append(event.id)
got, waits = [], [read_on, read_on, lambda: client.runs.wait(RUN_ID), lambda: client.runs.get("silent")]
client.runs.get(RUN_ID)
before = descriptors()
for wait in waits:
    began = time.monotonic()
    assert interrupted(wait, 0.3)
    took = time.monotonic() - began
    assert took < 0.3 + 0.5, took
    assert client.runs.get(RUN_ID).run_id == RUN_ID
assert got == [1, 2, 3, 4], got
stream.close()
client.close()
assert threading.active_count() == 1, threading.enumerate()
assert descriptors() <= before + 1
"""
FORKED = """
import gc, httpx
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


class SilentServer(CuttingServer):
    """A cutting server that never answers about one run."""

    def answer_to(self, seen: Seen) -> Reply | Fault:
        if seen.path == "/runs/silent":
            return Fault("silent", lambda wire, seen, good: wire.rest(60))
        return super().answer_to(seen)


def run_script(script: str, *arguments: str) -> None:
    command = [sys.executable, "-W", "ignore::RuntimeWarning", "-c", HEAD + script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr[-2_000:]  # an interrupt in a finalizer is only printed


@on_posix
def test_ctrl_c_ends_a_call_or_a_stream_within_half_a_second() -> None:
    """The client is usable after it, a stream loses nothing, and nothing is left open."""
    with SilentServer(5, silent=True) as server:
        run_script(SILENT, server.origin)
        assert server.left()


def test_a_cancelled_task_leaves_the_client_usable() -> None:
    """It ends at once, a stream loses nothing, and nothing is left open."""

    async def use(server: SilentServer) -> None:
        async with AsyncAgentService(KEY, server.origin) as client:
            stream, got = await client.runs.attach(RUN_ID), list[int]()

            async def read_on() -> None:
                async for event in stream:
                    got.append(event.id)

            for work in (read_on(), read_on(), client.runs.get("silent")):
                before = len(server.seen)
                task = asyncio.create_task(work)
                await asyncio.to_thread(until, lambda before=before: len(server.seen) > before and len(got) == 4)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                assert task.cancelled()
                assert (await client.runs.get(RUN_ID)).run_id == RUN_ID
            assert got == [1, 2, 3, 4]
            await stream.close()
            assert len(asyncio.all_tasks()) == 1

    with SilentServer(5, silent=True) as server:
        asyncio.run(use(server))
        assert server.left()


@on_posix
def test_a_forked_child_leaves_the_connections_of_its_parent_alone() -> None:
    """It opens its own, or says that it needs a new client; the parent reads on."""
    with CuttingServer(2_000) as server:
        run_script(FORKED, server.origin)


# -- closing -----------------------------------------------------------------------------------------------------------


def in_thread(work: Callable[[], Any]) -> Future[Any]:
    """Do the work in a thread that no failed test waits for."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def asked(mock: Mock, where: str) -> None:
    """Wait until the service has a request with `where` in its first line."""
    until(lambda: any(where in f"{seen.method} {seen.path}" for seen in mock.seen))


def closed(error: BaseException | None) -> APIConnectionError:
    assert isinstance(error, APIConnectionError), error
    assert (error.closed, error.attempts) == (True, 1), "it is not sent again"
    return error


@pytest.mark.parametrize("how", STALLS)
def test_a_closed_stream_ends_its_reader(how: str) -> None:
    with stalling("/events", how) as server, AgentService(KEY, server.origin) as client:
        stream = client.runs.attach(RUN_ID)
        reader = in_thread(lambda: [event.id for event in stream])
        asked(server, "/events")
        stream.close()
        assert reader.result(10) in ([], [1])  # whether the first event was read before


@pytest.mark.parametrize("how", STALLS)
@pytest.mark.parametrize(
    ("where", "call", "says"),
    [
        ("/runs/", lambda client: client.runs.get(RUN_ID), "The client was closed before the service answered."),
        ("POST", lambda client: client.runs.start("Think"), "may have started"),
    ],
    ids=["a read", "a start"],
)
def test_a_closed_client_ends_a_call(how: str, where: str, call: Call, says: str) -> None:
    with stalling(where, how) as server:
        client = AgentService(KEY, server.origin)
        caller = in_thread(lambda: call(client))
        asked(server, where)
        client.close()
        assert says in str(closed(caller.exception(10)))


@pytest.mark.parametrize("call", ["stream", "wait"])
def test_a_closed_client_ends_those_who_follow_a_run(call: str) -> None:
    with CuttingServer(3, silent=True) as server:
        client = AgentService(KEY, server.origin)
        stream = client.runs.attach(RUN_ID)
        caller = in_thread(lambda: list(stream) if call == "stream" else client.runs.wait(RUN_ID))
        asked(server, "/events")
        until(lambda: call == "wait" or stream.cursor == 2)
        client.close()
        error = closed(caller.exception(10))
        assert call == "wait" or error.last_event_id == 2
        assert client.runs.get(RUN_ID).run_id == RUN_ID, "used again, it opens connections again"
        client.close()
        assert server.left()


def test_a_connection_that_is_opened_as_the_client_is_closed_is_not_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    connect, connecting, go_on = socket.create_connection, threading.Event(), threading.Event()

    def slowly(*arguments: Any, **more: Any) -> socket.socket:
        connecting.set()
        assert go_on.wait(10)
        return connect(*arguments, **more)

    monkeypatch.setattr(socket, "create_connection", slowly)
    with CuttingServer(3) as server:
        client = AgentService(KEY, server.origin)
        caller = in_thread(lambda: client.runs.get(RUN_ID))
        assert connecting.wait(10)
        client.close()
        go_on.set()
        closed(caller.exception(10))
        assert server.left()


@pytest.mark.parametrize("face", ["blocking", "async"])
def test_a_client_of_ones_own_that_is_closed_is_an_error_of_ours(face: str) -> None:
    async def get() -> None:
        http = httpx.AsyncClient()
        await http.aclose()
        await AsyncAgentService(KEY, http_client=http).runs.get(RUN_ID)

    http = httpx.Client()
    http.close()
    with pytest.raises(APIConnectionError, match="The client was closed") as raised:
        asyncio.run(get()) if face == "async" else AgentService(KEY, http_client=http).runs.get(RUN_ID)
    assert (raised.value.closed, raised.value.sent, raised.value.attempts) == (True, False, 1)


def test_a_stream_that_nobody_waits_for_goes_on_after_its_client_was_closed() -> None:
    with CuttingServer(3, silent=True, each=1) as server:
        client = AgentService(KEY, server.origin)
        stream = client.runs.attach(RUN_ID)
        assert next(stream).id == 1
        client.close()
        assert (next(stream).id, stream.reconnects) == (2, 1)
        stream.close()
        client.close()


async def closing(server: Mock, where: str, what: str) -> Any:
    """Return what a task gets whose stream or client is closed while it waits."""

    async def read() -> list[Any]:
        return [event.id async for event in stream] if stream else [(await client.runs.get(RUN_ID)).run_id]

    client = AsyncAgentService(KEY, server.origin)
    stream = await client.runs.attach(RUN_ID) if what == "stream" else None
    task = asyncio.create_task(read())
    await asyncio.to_thread(asked, server, where)
    await (stream or client).close()
    async with asyncio.timeout(10):
        outcomes = await asyncio.gather(task, return_exceptions=True)
    await client.close()
    return outcomes[0]


@pytest.mark.parametrize("how", STALLS)
@pytest.mark.parametrize(("what", "where"), [("stream", "/events"), ("client", "/runs/")])
def test_closing_ends_the_task_that_waits(how: str, what: str, where: str) -> None:
    with stalling(where, how) as server:
        outcome = asyncio.run(closing(server, where, what))
        assert outcome in ([], [1]) if what == "stream" else closed(outcome)
