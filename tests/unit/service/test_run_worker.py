"""A run's worker: what it claimed it ends, whatever reads fail, and what the agent said is written once."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel

from agentsvc_nb.agents.scripted import Scripted
from agentsvc_nb.documents.schemas import SchemaValidator
from agentsvc_nb.service.accounts import account_records, accounts, usage_records
from agentsvc_nb.service.chats import chats
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.jobs import job_records
from agentsvc_nb.service.jobs.jobs import Submit
from agentsvc_nb.service.ports import DatabaseEngine
from agentsvc_nb.service.runner import supervisor, tool_context
from agentsvc_nb.service.runner.event_log import PIECES_AT_ONCE, EventLog
from agentsvc_nb.service.runner.jobs import JobRunner
from agentsvc_nb.service.runner.runs import RunRunner
from agentsvc_nb.service.runner.storage import Readings, Storage
from agentsvc_nb.service.runs import attempts, event_records, run_records, runs, tool_calls
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.service.runs.runs import Start
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.port import BaseTool, Outcome, ToolContext, ToolInput
from agentsvc_nb.wire.limits import DELTA_CHARS
from tests.support import databases
from tests.unit.service import contexts

NOW = 1_700_000_000_000


@pytest.fixture
def database(tmp_path: Path) -> Iterator[DatabaseEngine]:
    opened = databases.opened(tmp_path / "db.sqlite3")
    yield opened
    opened.close()


@pytest.fixture
def storage(database: DatabaseEngine, tmp_path: Path) -> Storage:
    return contexts.storage(database, tmp_path, contexts.SetClock(NOW), Settings(tmp_path, model="scripted"))


async def started(storage: Storage, message: str) -> RunRecord:
    context = storage.use_case
    key, _ = await context.write(lambda tx: accounts.create_key(tx, context.clock, name="caller"))
    return await runs.start(context, key, Start(message, ChatSelector(), "scripted", NOW))


async def ended(storage: Storage, run: RunRecord) -> RunRecord:
    """The run after a worker has worked on it."""
    await RunRunner(storage, {"scripted": Scripted()}, {}, JobRunner(storage, {}), SchemaValidator())._work(run.run_id)
    found = await runs.find(storage.use_case, run.run_id)
    assert found is not None
    return found


Read = Callable[..., Awaitable[Any]]


@pytest.mark.parametrize(("where", "name"), [(runs, "inputs"), (Readings, "caught_up")])
def test_a_read_that_fails_is_tried_again(
    where: Any, name: str, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run stayed `running`, and its chat busy, until the service was started again."""
    read: Read = getattr(where, name)
    failures = [sqlite3.OperationalError("disk I/O error")]

    async def fails_once(*given: Any) -> Any:
        if failures:
            raise failures.pop()
        return await read(*given)

    async def work() -> None:
        run = await ended(storage, await started(storage, "say hello"))
        assert (run.status, run.output) == ("completed", "hello")

    monkeypatch.setattr(supervisor, "STORE_AGAIN_SECONDS", 0)
    monkeypatch.setattr(where, name, fails_once)
    asyncio.run(work())
    assert not failures


def test_a_run_whose_saved_state_cannot_be_read_fails(storage: Storage) -> None:
    async def work() -> None:
        run = await started(storage, "say hello")
        await storage.use_case.write(
            lambda tx: tx.run("INSERT INTO run_checkpoint (run_id, state) VALUES (:run_id, '{')", run_id=run.run_id)
        )
        run = await ended(storage, run)
        assert (run.status, run.last_error) == ("failed", "agent_error")

    asyncio.run(work())


async def claimed(storage: Storage) -> RunRecord:
    run = await attempts.claim(storage.use_case, (await started(storage, "hello")).run_id)
    assert run is not None
    return run


def written(database: DatabaseEngine, run: RunRecord) -> str:
    found, _ = database.read(lambda tx: event_records.events(tx, run.run_id, 0, 1_000, 10**9))
    return "".join(json.loads(event.payload)["text"] for event in found if event.type == "text.delta")


TEXT = "".join(f"{number:,} " for number in range(3 * PIECES_AT_ONCE * DELTA_CHARS // 7))


@pytest.mark.parametrize("turns", range(1, 15))
def test_a_cancel_leaves_no_text_unwritten(turns: int, storage: Storage, database: DatabaseEngine) -> None:
    """The run's output had all of it, its events only the beginning."""

    async def work() -> None:
        run = await claimed(storage)
        log = EventLog(storage, run)
        speaking = asyncio.ensure_future(log.speak("text.delta", TEXT))
        for _ in range(turns):
            await asyncio.sleep(0)
        speaking.cancel()
        await asyncio.wait([speaking])
        await log.flush()
        assert written(database, run) == TEXT

    asyncio.run(work())


def test_what_is_said_while_thoughts_are_written_is_written_after_a_cancel(
    storage: Storage, database: DatabaseEngine
) -> None:
    async def work() -> None:
        run = await claimed(storage)
        log = EventLog(storage, run)
        await log.speak("text.delta", "a")
        await log.speak("thinking.delta", "b")
        speaking = asyncio.ensure_future(log.speak("text.delta", "c"))
        await asyncio.sleep(0)
        speaking.cancel()
        await asyncio.wait([speaking])
        await log.append("warning", {})
        found, _ = database.read(lambda tx: event_records.events(tx, run.run_id, 0, 1_000, 10**9))
        assert [event.type for event in found[-4:]] == ["text.delta", "thinking.delta", "text.delta", "warning"]
        assert written(database, run) == "ac"

    asyncio.run(work())


class Search(BaseTool):
    """A search that is charged, and then fails or goes on until it is cancelled."""

    name: ClassVar[str] = "search"
    description: ClassVar[str] = "Searches."
    family: ClassVar[str] = "search"
    Input: ClassVar[type[BaseModel]] = ToolInput

    def __init__(self, fails: bool) -> None:
        self.fails = fails
        self.charged = asyncio.Event()

    def max_charges(self, given: Any) -> Mapping[str, int]:
        return {"web_search": 1}

    async def run(self, given: Any, context: ToolContext) -> Outcome:
        context.charge("web_search")
        self.charged.set()
        if self.fails:
            raise ZeroDivisionError
        return await asyncio.Event().wait() and Outcome()


class SearchJob(Search):
    """The same as a job."""

    asynchronous: ClassVar[bool] = True


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("fails", [False, True])
def test_a_call_that_is_broken_off_is_billed(
    fails: bool, full: bool, storage: Storage, database: DatabaseEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`full`: the disk, when it is first tried, and another cancel comes before it is tried again."""
    move, failures = tool_calls.move, [sqlite3.OperationalError("database or disk is full")] * full

    async def work() -> None:
        tool = Search(fails)
        run = await started(storage, "call search {}")
        worker = RunRunner(
            storage, {"scripted": Scripted()}, {"search": tool}, JobRunner(storage, {}), SchemaValidator()
        )

        async def moved(*given: Any) -> Any:
            if failures:
                asyncio.get_running_loop().call_later(0.01, worker.supervisor.interrupt, run.run_id)
                raise failures.pop()
            return await move(*given)

        monkeypatch.setattr(tool_calls, "move", moved)
        working = asyncio.ensure_future(worker._work(run.run_id))
        await tool.charged.wait()
        if not fails:
            await runs.cancel(storage.use_case, run.account, run.run_id)
            worker.interrupt(run.run_id)
        await working
        (line,) = database.read(lambda tx: usage_records.by_key_and_month(tx, run.account))
        assert (line.kind, line.quantity) == ("web_search", 1)
        found = await runs.find(storage.use_case, run.run_id)
        assert found is not None
        assert found.status == ("failed" if fails and not full else "cancelled")
        assert database.read(lambda tx: usage_records.held(tx, run.account, "wallet")) == 0

    monkeypatch.setattr(supervisor, "STORE_AGAIN_SECONDS", 0.1)
    asyncio.run(work())


def test_a_direct_call_that_is_cancelled_has_its_charges(storage: Storage) -> None:
    async def work() -> None:
        run, tool, charges = await started(storage, "hello"), Search(fails=False), dict[str, int]()
        chat = await chats.get(storage.use_case, run.account, run.chat)
        calling = asyncio.ensure_future(tool_context.run(storage, tool, ToolInput(), chat, charges))
        await tool.charged.wait()
        calling.cancel()
        await asyncio.wait([calling])
        assert charges == {"web_search": 1}

    asyncio.run(work())


def test_a_run_is_left_for_the_next_start_though_that_can_not_be_noted(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was ended as failed by a fault of the disk at the stop."""

    async def fails(*_: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    async def work() -> None:
        tool = Search(fails=False)
        run = await started(storage, "call search {}")
        worker = RunRunner(
            storage, {"scripted": Scripted()}, {"search": tool}, JobRunner(storage, {}), SchemaValidator()
        )
        worker.wake(run.run_id)
        await tool.charged.wait()
        await stopped(worker)
        assert await runs.status(storage.use_case, run.run_id) == "running"

    monkeypatch.setattr(attempts, "leave", fails)
    asyncio.run(work())


async def stopped(worker: RunRunner) -> None:
    """The stop of the service, in its order."""
    worker._jobs.supervisor.stopping = True
    await worker.supervisor.stop()
    await worker._jobs.supervisor.stop()


async def billed(storage: Storage, run: RunRecord) -> dict[str, int]:
    found = await storage.use_case.read(lambda tx: usage_records.by_key_and_month(tx, run.account))
    return {line.kind: line.quantity for line in found}


def test_a_job_that_is_cancelled_as_the_service_stops_is_billed(storage: Storage) -> None:
    """It was left for the next start, which ended it without knowing what it had used."""

    async def work() -> None:
        tool = SearchJob(fails=False)
        run = await started(storage, "call search {}")
        worker = RunRunner(
            storage, {"scripted": Scripted()}, {"search": tool}, JobRunner(storage, {"search": tool}), SchemaValidator()
        )
        worker.wake(run.run_id)
        await tool.charged.wait()
        (job,) = await storage.use_case.read(job_records.active)
        await storage.use_case.write(
            lambda tx: job_records.cancelling(tx, job.job_id)
        )  # its tool is not told before the stop
        await stopped(worker)
        ended = await storage.use_case.read(lambda tx: job_records.get(tx, job.job_id))
        assert ended is not None
        assert ended.status == "cancelled"
        assert await billed(storage, run) == {"web_search": 1}

    asyncio.run(work())


def test_a_run_that_is_cancelled_as_the_service_stops_ends_with_what_it_used(storage: Storage) -> None:
    async def work() -> None:
        tool = Search(fails=False)
        run = await started(storage, "usage 1000 0\nsay so far\ncall search {}")
        worker = RunRunner(
            storage, {"scripted": Scripted()}, {"search": tool}, JobRunner(storage, {}), SchemaValidator()
        )
        worker.wake(run.run_id)
        await tool.charged.wait()
        await storage.use_case.write(lambda tx: run_records.cancelling(tx, run.run_id))
        await stopped(worker)
        found = await runs.find(storage.use_case, run.run_id)
        assert found is not None
        assert (found.status, found.output, found.input_tokens) == ("cancelled", "so far", 1_000)

    asyncio.run(work())


def test_a_direct_call_that_a_stop_gives_up_is_billed_once(storage: Storage) -> None:
    async def work() -> None:
        run, worker = await started(storage, "hello"), JobRunner(storage, {})
        key = await storage.use_case.read(lambda tx: account_records.get_key(tx, run.account, run.key_id))
        assert key is not None
        given = Submit("search", "search", {}, ChatSelector(chat=run.chat), NOW, charges_microcents=1)
        call = await tool_calls.begin_call(storage.use_case, key, given)
        worker.charges_of(call)["web_search"] = 1
        await worker.end_calls()
        await worker.end_call(call.call_id)
        assert await billed(storage, run) == {"web_search": 1}

    asyncio.run(work())


@pytest.mark.parametrize("state", ["{", "[]", '{"counted": 1}', '{"counted": {"steps": 1, "unknown": 2}}'])
def test_a_damaged_state_does_not_keep_the_service_from_starting(state: str, storage: Storage) -> None:
    async def work() -> None:
        run = await claimed(storage)
        await storage.use_case.write(lambda tx: run_records.cancelling(tx, run.run_id))
        sql = "INSERT INTO run_checkpoint (run_id, state) VALUES (:run_id, :state)"
        await storage.use_case.write(lambda tx: tx.run(sql, run_id=run.run_id, state=state))
        assert await attempts.recover(storage.use_case) == []
        assert await runs.status(storage.use_case, run.run_id) == "cancelled"

    asyncio.run(work())


def test_text_that_could_not_be_written_is_written_next(
    storage: Storage, database: DatabaseEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, batches = attempts.append, 0

    async def fails_at_the_third(*given: Any) -> None:
        nonlocal batches
        batches += 1
        if batches == 3:
            raise sqlite3.OperationalError("disk I/O error")
        await append(*given)

    async def work() -> None:
        run = await claimed(storage)
        log = EventLog(storage, run)
        with pytest.raises(sqlite3.OperationalError):
            await log.speak("text.delta", TEXT)
        await log.append("warning", {})
        assert written(database, run) == TEXT

    monkeypatch.setattr(attempts, "append", fails_at_the_third)
    asyncio.run(work())
