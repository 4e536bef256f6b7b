"""Clients that are closed, cancelled, shared and left, connections that were idle, and records that travel."""

import asyncio
import contextlib
import copy
import pickle
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from agentsvc_nb import AgentService, AsyncAgentService, StefanBrainError
from tests.independent.checking import outcome
from tests.independent.faces import FACES, Call, Case, Group, Pool, generated
from tests.independent.mock import Fault, Mock, Reply, Seen, Wire, answer, problem
from tests.independent.operations import JSON_OPERATIONS, OPERATIONS, Operation
from tests.independent.records import KEY, RUN, run, service

SILENT = Fault("silent", lambda wire, seen, good: wire.rest(4))
FACE_CLASSES: tuple[type[Any], ...] = (AgentService, AsyncAgentService)


def _travels(operation: Operation, face: str) -> None:
    """A record is the same after a journey through pickle, and as a copy."""
    with Mock(service) as mock:
        value = outcome(mock, face, operation.call).value
    for each in value if isinstance(value, list) else [value]:
        for again in (pickle.loads(pickle.dumps(each)), copy.deepcopy(each), copy.copy(each)):
            assert type(again) is type(each)
            assert again == each
            assert str(again) == str(each)


def _closed_and_used(face: str) -> None:
    """A client that was closed opens new connections when it is used again."""

    def blocking(origin: str) -> None:
        client = AgentService(KEY, origin)
        for _ in range(3):
            assert client.tools.list()
            client.close()
            client.close()

    async def awaited(origin: str) -> None:
        client = AsyncAgentService(KEY, origin)
        for _ in range(3):
            assert await client.tools.list()
            await client.close()
            await client.close()

    with Mock(service) as mock:
        asyncio.run(awaited(mock.origin)) if face == "async" else blocking(mock.origin)
        assert mock.left()
        assert len(mock.seen) == 3


def _closed_meanwhile(call: Call) -> None:
    """Another thread closes what a call waits for: the call ends soon, with an error of the client's own or a value."""
    ends: list[Any] = []

    def use(client: AgentService) -> None:
        try:
            ends.append(call(client))
        except Exception as error:
            ends.append(error)

    with Mock(service, [SILENT] * 3) as mock:
        client = AgentService(KEY, mock.origin, max_retries=0)
        thread = threading.Thread(target=use, args=(client,))
        thread.start()
        while not mock.seen:
            time.sleep(0.01)
        time.sleep(0.2)
        client.close()
        thread.join(1.5)
        soon = not thread.is_alive()
        thread.join()
        assert soon
        assert mock.left()
        assert not isinstance(ends[0], Exception) or isinstance(ends[0], StefanBrainError), ends


def _stream_closed_meanwhile(face: str) -> None:
    """A stream that another thread closes ends for who reads it."""

    def silent(wire: Wire, seen: Seen, good: Reply) -> None:
        wire.send(good.head())
        wire.rest(20)

    with Mock(service, [Fault("silent", silent)]) as mock:
        mock.counts = lambda seen: seen.path.endswith("/events")
        with AgentService(KEY, mock.origin) as client:
            stream = client.runs.attach(RUN)
            closer = threading.Timer(0.5, stream.close)
            closer.start()
            with contextlib.suppress(StefanBrainError):
                list(stream)
            closer.join()
        assert mock.left()


def _cancelled(operation: Operation) -> None:
    """A call that is cancelled ends at once, lets its connection go, and leaves the client as good as before."""

    seen = threading.Event()

    def silent(wire: Wire, asked: Seen, good: Reply) -> None:
        seen.set()
        wire.rest(20)

    async def use(mock: Mock) -> None:
        async with AsyncAgentService(KEY, mock.origin) as client:
            task = asyncio.ensure_future(operation.call(client))
            await asyncio.to_thread(seen.wait, 5)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.sleep(0.1)
            assert len(mock.counted()) == 1
            assert operation.good(await operation.call(client))
            assert len(asyncio.all_tasks()) == 1

    with Mock(service, [Fault("silent", silent)]) as mock:
        asyncio.run(use(mock))
        assert mock.left()


def _cancelled_while_waiting(face: str) -> None:
    """A cancellation while the next attempt is waited for."""

    async def use(mock: Mock) -> None:
        async with AsyncAgentService(KEY, mock.origin) as client:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.tools.list(), 0.4)
            assert await client.tools.list()

    away = problem(503, "workspace_busy", headers={"Retry-After": "50"})
    with Mock(service, [Fault("away", lambda wire, seen, good: wire.send(away.whole), keeps=True)]) as mock:
        asyncio.run(use(mock))
        assert mock.left()


def _many_at_once(face: str) -> None:
    """Threads and tasks that share a client each get their own answer."""

    def echo(seen: Seen) -> Reply:
        time.sleep(0.005)
        return answer(run(run_id=seen.path.split("/")[2]))

    ids = [RUN[:-3] + f"{i:03d}" for i in range(100, 160)]

    async def awaited(origin: str) -> list[str]:
        async with AsyncAgentService(KEY, origin) as client:
            return [each.run_id for each in await asyncio.gather(*(client.runs.get(i) for i in ids))]

    with Mock(echo) as mock:
        if face == "async":
            assert asyncio.run(awaited(mock.origin)) == ids
        else:
            with AgentService(KEY, mock.origin) as client, ThreadPoolExecutor(8) as threads:
                assert [each.run_id for each in threads.map(client.runs.get, ids)] == ids
        assert mock.left()


def _on_many_loops(face: str) -> None:
    """One client on loops that come and go, some at the same time."""
    with Mock(service) as mock:
        client = AsyncAgentService(KEY, mock.origin)

        async def use() -> None:
            assert await client.tools.list()
            await client.close()

        for _ in range(3):
            asyncio.run(use())
        threads = [threading.Thread(target=lambda: asyncio.run(use())) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(mock.seen) == 6


def _twice(mock: Mock, face: str, first: Call, second: Call, pause: float) -> Any:
    def sync(client: Any) -> Any:
        first(client)
        time.sleep(pause)
        return second(client)

    async def awaited(client: Any) -> Any:
        await first(client)
        await asyncio.sleep(pause)
        return await second(client)

    return outcome(mock, face, awaited if face == "async" else sync)


def _idle_closed(operation: Operation, face: str) -> None:
    """A connection that the service closed while it was idle costs nothing: what may be sent once is, and once."""

    def closing(wire: Wire, seen: Seen, good: Reply) -> None:
        wire.send(good.whole)

    with Mock(service) as mock:
        mock.counts = lambda seen: seen.path == "/models"
        mock.script = [Fault("closing", closing)]
        result = _twice(mock, face, lambda c: c.models.list(), operation.call, 0.2)
        assert operation.good(result.value), result.error
        assert len([seen for seen in mock.seen if operation.is_mine(seen)]) == 1


def _stray(operation: Operation, face: str, pause: float) -> None:
    """An answer that nobody asked for is not taken as that of the next call."""
    sent = threading.Event()

    def two(wire: Wire, seen: Seen, good: Reply) -> None:
        stray = answer({"object": "list", "data": [], "run_id": "stray", "id": "stray", "name": "stray"}).whole
        wire.send(good.whole if pause else good.whole + stray)
        if pause:
            wire.rest(pause)
            wire.send(stray)
        sent.set()

    with Mock(service) as mock:
        mock.counts = lambda seen: seen.path == "/projects"
        mock.script = [Fault("two", two, keeps=True)]
        # One that comes after the request was sent cannot be told from its answer.
        result = _twice(mock, face, lambda c: c.projects.list(), lambda c: sent.wait(10) and operation.call(c), 0.2)
        assert operation.good(result.value) if operation.again or pause else result.failure


def _cases() -> list[Case]:
    cases: list[Case] = []
    faces = list(FACES)

    def add(name: str, check: Callable[..., None], *rest: Any, face: str = "") -> None:
        face = face or faces[len(cases) % 3]
        cases.append(Case(f"{name}-{face}", partial(check, face, *rest)))

    for i, operation in enumerate(OPERATIONS):
        if not operation.name.startswith(("files.download", "files.head")):
            face = faces[i % 3]
            cases.append(Case(f"travels-{operation.name}-{face}", partial(_travels, operation, face)))
    for face in faces:
        add("closed and used", _closed_and_used, face=face)
        add("many at once", _many_at_once, face=face)
    add("cancelled while waiting", _cancelled_while_waiting, face="async")
    add("on many loops", _on_many_loops, face="async")
    add("a stream closed meanwhile", _stream_closed_meanwhile, face="blocking")
    for operation in JSON_OPERATIONS:
        if operation.paged:
            continue
        if operation.name in ("runs.get", "runs.start", "ask", "files.upload"):
            name = f"closed meanwhile-{operation.name}"
            cases.append(Case(name, partial(_closed_meanwhile, operation.call)))
        cases.append(Case(f"cancelled-{operation.name}", partial(_cancelled, operation)))
        if operation.path != "/models":
            face = faces[len(cases) % 3]
            cases.append(Case(f"idle-{operation.name}-{face}", partial(_idle_closed, operation, face)))
        if operation.path != "/projects":
            face = faces[len(cases) % 3]
            cases.append(Case(f"stray-{operation.name}-{face}", partial(_stray, operation, face, 0.05)))
            face = faces[(len(cases) // 2) % 3]
            cases.append(Case(f"stray at once-{operation.name}-{face}", partial(_stray, operation, face, 0)))
    return cases


@generated(_cases())
def test_lives(group: Group, pool: Pool) -> None:
    pool.check(group)
