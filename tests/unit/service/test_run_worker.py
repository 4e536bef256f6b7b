"""A run's worker: what it claimed it ends, whatever reads fail, and what the agent said is written once."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel

from agentsvc_nb.service.accounts import account_records, usage_records
from agentsvc_nb.service.accounts.usage_records import ModelUsage
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.jobs import job_records, jobs
from agentsvc_nb.service.jobs.jobs import JobSubmission
from agentsvc_nb.service.ports import CommitLost, StoreUnavailable
from agentsvc_nb.service.runner import supervisor
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.service.runs import attempts, runs, tool_calls
from agentsvc_nb.service.runs.run_records import RunEnding, RunRecord
from agentsvc_nb.tools.port import BaseTool, Outcome, ToolContext
from agentsvc_nb.wire.limits import RESTARTS_MAX
from tests.faults.history import counted_text
from tests.unit.service.contexts import NOW, claimed, ended, events, started, workers

Use = Callable[..., Awaitable[Any]]


def failing(monkeypatch: pytest.MonkeyPatch, where: Any, name: str, at: int, error: Exception) -> list[int]:
    """Let the call number `at` of a use case fail; after its work if the answer to the commit is lost. Its calls."""
    use: Use = getattr(where, name)
    calls: list[int] = []

    async def fails(*given: Any, **named: Any) -> Any:
        calls.append(len(calls) + 1)
        if calls[-1] != at:
            return await use(*given, **named)
        if isinstance(error, CommitLost):
            await use(*given, **named)
        raise error

    monkeypatch.setattr(where, name, fails)
    return calls


async def written(storage: Storage, run: RunRecord) -> str:
    return "".join(event["payload"]["text"] for event in await events(storage, run, "text.delta"))


# -- faults of the disk --------------------------------------------------------------------------------------------


# -- what is billed ------------------------------------------------------------------------------------------------


class SearchInput(BaseModel):
    pass


class Search(BaseTool):
    """A search that is charged, and then fails or goes on until it is cancelled."""

    name: ClassVar[str] = "search"
    description: ClassVar[str] = "Searches."
    family: ClassVar[str] = "search"
    Input: ClassVar[type[BaseModel]] = SearchInput

    def __init__(self, fails: bool = False) -> None:
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


async def billed(storage: Storage, run: RunRecord) -> dict[str, int]:
    found = await storage.use_case.read(lambda tx: usage_records.by_key_and_month(tx, run.account))
    return {line.kind: line.quantity for line in found}


@pytest.mark.parametrize("fails", [False, True])
def test_a_call_that_is_broken_off_is_billed_and_holds_nothing(
    fails: bool, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the disk was full when its end was first stored, and another cancel came before it was tried again."""
    move, failures = tool_calls.move, [sqlite3.OperationalError("database or disk is full")]

    async def work() -> None:
        tool = Search(fails)
        run = await started(storage, "call search {}")
        worker, _ = workers(storage, tool)

        async def moved(*given: Any) -> Any:
            if failures:
                asyncio.get_running_loop().call_soon(worker.supervisor.interrupt, run.run_id)
                raise failures.pop()
            return await move(*given)

        monkeypatch.setattr(tool_calls, "move", moved)
        worker.wake(run.run_id)
        await tool.charged.wait()
        if not fails:
            await runs.cancel(storage.use_case, run.account, run.run_id)
            worker.interrupt(run.run_id)
        await worker.supervisor.wait_ended(run.run_id)
        assert await billed(storage, run) == {"web_search": 1}
        assert await runs.get_status(storage.use_case, run.run_id) == "cancelled"
        assert await storage.use_case.read(lambda tx: usage_records.sum_holds(tx, run.account, "wallet")) == 0

    monkeypatch.setattr(supervisor, "STORE_AGAIN_SECONDS", 0.05)
    asyncio.run(work())


def test_a_job_that_is_cancelled_as_the_service_stops_ends_with_what_it_used(storage: Storage) -> None:
    """It was left for the next start, which ended it without knowing what it had used."""

    async def work() -> None:
        tool = SearchJob()
        run = await started(storage, "call search {}")
        worker, job_worker = workers(storage, tool)
        worker.wake(run.run_id)
        await tool.charged.wait()
        (job,) = await storage.use_case.read(job_records.list_active)
        await storage.use_case.write(lambda tx: job_records.mark_cancelling(tx, job.job_id))
        job_worker.supervisor.stopping = True
        await worker.supervisor.stop()
        await job_worker.supervisor.stop()
        ended_job = await jobs.find(storage.use_case, job.job_id)
        assert ended_job is not None
        assert ended_job.status == "cancelled"
        assert await billed(storage, run) == {"web_search": 1}

    asyncio.run(work())


def test_a_direct_call_that_a_stop_gives_up_is_billed_once(storage: Storage) -> None:
    async def work() -> None:
        run = await started(storage, "hello")
        _, worker = workers(storage)
        key = await storage.use_case.read(lambda tx: account_records.get_key(tx, run.account, run.key_id))
        assert key is not None
        given = JobSubmission("search", "search", {}, ChatSelector(chat=run.chat), NOW, charges_microcents=1)
        call = await tool_calls.begin_call(storage.use_case, key, given)
        worker.track_charges(call)["web_search"] = 1
        await worker.end_calls()
        await worker.end_call(call.call_id)
        assert await billed(storage, run) == {"web_search": 1}

    asyncio.run(work())


# -- fences --------------------------------------------------------------------------------------------------------


def test_an_earlier_attempt_of_a_run_writes_nothing(storage: Storage) -> None:
    async def work() -> None:
        context, run = storage.use_case, await claimed(storage)
        run_id, late, used = run.run_id, run.attempt, attempts.AgentUsage(1, ModelUsage())
        call = await tool_calls.open_call(context, run, late, "1", "read_file", {})
        now = await attempts.resume(context, run_id, late)
        assert now is not None
        assert now.attempt == late + 1
        before = await runs.find(context, run_id), await events(storage, run)
        assert await attempts.finish(context, run_id, late, RunEnding("completed")) is None
        for write in (
            attempts.append(context, run_id, late, [("progress", {})]),
            attempts.checkpoint(context, run_id, late, {"state": {}}, 0, used),
            attempts.hold(context, run, late, 0, tokens=1),
            tool_calls.open_call(context, run, late, "2", "read_file", {}),
            tool_calls.move(context, run, late, call, "done", Outcome(), {"web_search": 1}),
        ):
            with pytest.raises(attempts.LostRun):
                await write
        assert (await runs.find(context, run_id), await events(storage, run)) == before
        assert await billed(storage, run) == {}
        assert await attempts.finish(context, run_id, now.attempt, RunEnding("completed"))
        assert await attempts.finish(context, run_id, now.attempt, RunEnding("failed")) is None, (
            "an end is never changed"
        )

    asyncio.run(work())


def test_an_earlier_attempt_of_a_job_neither_ends_it_nor_holds_for_a_call(storage: Storage) -> None:
    async def work() -> None:
        context, run = storage.use_case, await started(storage, "hello")
        key = await context.read(lambda tx: account_records.get_key(tx, run.account, run.key_id))
        assert key is not None
        job = await jobs.submit(context, key, JobSubmission("echo_job", "echo", {}, ChatSelector(chat=run.chat), NOW))
        late = await jobs.claim(context, job.job_id)
        now = await jobs.claim(context, job.job_id)
        assert late is not None
        assert now is not None
        assert now.attempt == late.attempt + 1
        with pytest.raises(jobs.LostJob):
            await jobs.hold(context, late, 0, 1, 0)
        assert not await jobs.finish(context, job.job_id, late.attempt, job_records.JobEnding("failed", []))
        assert await jobs.finish(context, job.job_id, now.attempt, job_records.JobEnding("succeeded", []))

    asyncio.run(work())


def test_a_call_that_is_moved_twice_is_billed_once(storage: Storage) -> None:
    async def work() -> None:
        context, run = storage.use_case, await claimed(storage)
        call = await tool_calls.open_call(context, run, run.attempt, "1", "web_search", {})
        for _ in range(2):
            await tool_calls.move(context, run, run.attempt, call, "done", Outcome(), {"web_search": 1})
        assert await billed(storage, run) == {"web_search": 1}

    asyncio.run(work())


# -- a database that is away ---------------------------------------------------------------------------------------

LOST = pytest.mark.parametrize(
    "lost", [StoreUnavailable("away"), CommitLost("at the commit")], ids=["away", "commit lost"]
)


@LOST
@pytest.mark.parametrize("name", ["append", "checkpoint", "hold"])
def test_a_run_goes_on_from_its_checkpoint(
    name: str, lost: Exception, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a crash; nothing is written twice. It failed with agent_error."""
    calls = failing(monkeypatch, attempts, name, 2, lost)

    async def work() -> None:
        script = "say one\nusage 20000 0\nstep 1\nusage 20000 0\nsay two\nsay three\nstep 1\nsay four"
        run = await ended(storage, await started(storage, script))
        assert (run.status, run.last_error, run.output) == ("completed", None, "one\ntwo\nthree\nfour")
        assert (run.cost_microcents, run.restarts) == (4_000_000, 0)
        assert counted_text(await events(storage, run)) == "one\ntwo\nthree\nfour\n"

    asyncio.run(work())
    assert len(calls) > 2


# -- attempts that count (docs/decisions/07) ------------------------------------------


async def waits_for_approval(storage: Storage, run: RunRecord, time: int) -> None:
    call = await tool_calls.open_call(storage.use_case, run, run.attempt, "1", "send_email", {})
    await tool_calls.wait(storage.use_case, run, run.attempt, call)


async def opens_a_call(storage: Storage, run: RunRecord, time: int) -> None:
    await tool_calls.open_call(storage.use_case, run, run.attempt, "1", "send_email", {})


async def saves(storage: Storage, run: RunRecord, time: int) -> None:
    used = attempts.AgentUsage(time, ModelUsage())
    await attempts.checkpoint(storage.use_case, run.run_id, run.attempt, {"state": {"step": time}}, 0, used)


async def says_the_same(storage: Storage, run: RunRecord, time: int) -> None:
    await attempts.append(storage.use_case, run.run_id, run.attempt, [("text.delta", {"text": "one"})])


@pytest.mark.parametrize(
    ("work", "status"),
    [
        (saves, "running"),
        (waits_for_approval, "running"),
        (opens_a_call, "failed"),
        (says_the_same, "failed"),
    ],
)
def test_a_run_that_makes_progress_or_waits_outlives_any_number_of_workers(
    work: Use, status: str, storage: Storage
) -> None:
    async def use() -> None:
        context, run = storage.use_case, await claimed(storage)
        for time in range(2 * RESTARTS_MAX + 2):
            await work(storage, run, time)
            left = await attempts.recover(context)
            if not left:
                break
            run = await attempts.resume(context, run.run_id, run.attempt) or run
        assert await runs.get_status(context, run.run_id) == status

    asyncio.run(use())
