"""Processes that share a database: the queue carries each run and job to one of them, what a dead one had goes on in
another, and each sees what others write (docs/decisions/14)."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from agentsvc_nb.service.accounts import account_records, accounts, usage_records
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.jobs import jobs
from agentsvc_nb.service.jobs.job_records import JobEnding, JobRecord
from agentsvc_nb.service.jobs.jobs import JobSubmission
from agentsvc_nb.service.runner import shared
from agentsvc_nb.service.runner.shared import SharedProcess
from agentsvc_nb.service.runner.signals import LocalSignals
from agentsvc_nb.service.runner.supervisor import TaskSupervisor
from agentsvc_nb.service.runs import attempts, process_records, processes, runs, tool_calls
from agentsvc_nb.service.runs.process_records import DEAD_MS, ProcessRecord
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.service.runs.runs import Start
from agentsvc_nb.service.store.postgres import PostgresDatabase
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.settings import Settings
from agentsvc_nb.wire.limits import RESTARTS_MAX
from tests.support import databases
from tests.unit.service import contexts

NOW = 1_700_000_000_000
JOB = JobSubmission("echo_job", "echo", {}, ChatSelector(), NOW)
CENTURY_MS = 100 * 365 * 86_400_000
Contexts = tuple[UseCaseContext, ...]


@pytest.fixture
def address() -> str:
    return databases.server().new_database()


@pytest.fixture
def contexts_of_two(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Contexts]:
    """Two processes, of which the clock of the second was set back."""
    with contextlib.ExitStack() as stack:
        found = []
        for name, now in (("one", NOW), ("two", NOW - CENTURY_MS)):
            database = stack.enter_context(contextlib.closing(PostgresDatabase(address).open()))
            settings = Settings(tmp_path_factory.mktemp(name), model="scripted")
            found.append(replace(contexts.use_case(database, now, settings), process=name))
        yield tuple(found)


@pytest.fixture
def queue(address: str) -> Iterator[QueueTables]:
    with psycopg.connect(address, autocommit=True) as connection:
        yield QueueTables(connection)


class QueueTables:
    """Does to the queue what its workers do, by their own SQL functions."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def take(self, of: RunRecord | JobRecord) -> int:
        """Give the job that carries this to a new worker; the worker's number."""
        worker = self.count("SELECT worker_id FROM procrastinate_register_worker_v1()")
        carrier = self.carrier(of)
        taken = self.count("SELECT id FROM procrastinate_fetch_job_v2(NULL, %s)", worker)
        assert taken == carrier
        return worker

    def carrier(self, of: RunRecord | JobRecord) -> int:
        table, name = ("run", of.run_id) if isinstance(of, RunRecord) else ("job", of.job_id)
        return self.count(f"SELECT queue_job FROM {table} WHERE {table}_id = %s", name)

    def die(self, worker: int) -> None:
        late = "UPDATE procrastinate_workers SET last_heartbeat = now() - %s * INTERVAL '1 ms' WHERE id = %s"
        self._connection.execute(late.encode(), [DEAD_MS + 1, worker])

    def count(self, sql: str, *values: object) -> int:
        row = self._connection.execute(sql.encode(), values).fetchone()
        assert row is not None
        return int(row[0])


def of(context: UseCaseContext, *, works: int = 1, model: str = "scripted") -> ProcessRecord:
    assert context.process is not None
    return ProcessRecord(context.process, works, model, "s3://one/place")


async def started(context: UseCaseContext) -> RunRecord:
    key, _ = await context.write(lambda tx: accounts.create_key(tx, context.clock, name="caller"))
    await processes.record_start(context, of(context))
    return await runs.start(context, key, Start("hello", ChatSelector(), "scripted", NOW))


async def claimed(context: UseCaseContext, run: RunRecord) -> RunRecord:
    found = await attempts.claim(context, run.run_id)
    assert found is not None
    return found


async def now(context: UseCaseContext, run: RunRecord) -> RunRecord:
    found = await runs.find(context, run.run_id)
    assert found is not None
    return found


@pytest.mark.rule("A stale worker writes nothing to a run that was taken over.")
def test_a_run_of_a_dead_worker_is_carried_by_a_new_job_whatever_a_clock_says(
    contexts_of_two: Contexts, queue: QueueTables
) -> None:
    async def work() -> None:
        for holder, other in (contexts_of_two, contexts_of_two[::-1]):
            run = await started(holder)
            worker, before = queue.take(run), queue.carrier(run)
            first = await claimed(holder, run)
            await processes.sweep(other, [])
            assert queue.carrier(run) == before
            queue.die(worker)
            assert (await processes.check_sweep(other, of(other), [run.run_id])).strays is False
            assert (await processes.check_sweep(other, of(other), [])).strays
            await processes.sweep(other, [])
            assert queue.carrier(run) > before
            assert (await now(other, run)).restarts == 1
            second = await attempts.resume(other, run.run_id, first.attempt)
            assert second is not None
            assert (second.attempt, second.worker_id) == (2, other.process)
            with pytest.raises(attempts.LostRun):
                await attempts.append(holder, run.run_id, 1, [("progress", {"done": 1})])
            await attempts.release(holder, run.run_id, 1)  # what it has no more it can't leave either
            queue.take(run)

    asyncio.run(work())


@pytest.mark.rule("Another worker continues the runs of a killed one.")
def test_a_run_that_is_left_waits_for_the_next_worker_and_that_does_not_count(
    contexts_of_two: Contexts, queue: QueueTables
) -> None:
    async def work() -> None:
        one, two = contexts_of_two
        run = await started(one)
        queue.take(run)
        last = await claimed(one, run)
        for _ in range(RESTARTS_MAX + 1):
            await attempts.release(one, run.run_id, last.attempt)
            queue.take(run)
            resumed = await attempts.resume(two, run.run_id, last.attempt)
            assert resumed is not None
            last = resumed
        assert (last.status, last.attempt, last.restarts) == ("running", RESTARTS_MAX + 2, 0)

    asyncio.run(work())


def test_a_cancelled_run_of_a_dead_worker_is_ended(contexts_of_two: Contexts, queue: QueueTables) -> None:
    async def work() -> None:
        one, two = contexts_of_two
        run = await started(one)
        worker = queue.take(run)
        await claimed(one, run)
        await runs.cancel(two, run.account, run.run_id)
        (state,) = await processes.read_states(one, [run.run_id])
        assert (state.worker_id, state.status) == ("one", "cancelling")
        queue.die(worker)
        await processes.sweep(two, [])
        assert await runs.get_status(two, run.run_id) == "cancelled"

    asyncio.run(work())


def test_a_job_is_taken_over_as_a_run_is(contexts_of_two: Contexts, queue: QueueTables) -> None:
    async def work() -> None:
        one, two = contexts_of_two
        key, _ = await one.write(lambda tx: accounts.create_key(tx, one.clock, name="caller"))
        job = await jobs.submit(one, key, JOB)
        worker, before = queue.take(job), queue.carrier(job)
        assert await jobs.claim(one, job.job_id, before)
        queue.die(worker)
        await processes.sweep(two, [])
        assert await jobs.claim(one, job.job_id, before) is None
        queue.take(job)
        second = await jobs.claim(two, job.job_id, queue.carrier(job))
        assert second is not None
        assert (second.attempt, second.restarts) == (2, 1)
        assert await jobs.finish(one, job.job_id, 1, JobEnding("succeeded", [])) is None
        await jobs.leave(two, second)
        queue.take(job)
        third = await jobs.claim(one, job.job_id, queue.carrier(job))
        assert third is not None
        assert (third.attempt, third.restarts) == (3, 1)

    asyncio.run(work())


def test_a_run_waits_for_a_process_with_its_model_while_one_lives_and_is_ended_without_one(
    contexts_of_two: Contexts, queue: QueueTables
) -> None:
    async def work() -> None:
        one, two = contexts_of_two
        run = await started(one)
        await processes.record_start(two, of(two, model="offline"))
        await processes.sweep(two, [])
        assert (await now(two, run)).status == "queued"
        await processes.record_end(one, of(one))
        await processes.sweep(two, [])
        assert (await now(two, run)).last_error == "model_changed"

    asyncio.run(work())


def test_the_direct_call_of_a_dead_process_holds_nothing_and_of_a_frozen_one_is_billed(
    contexts_of_two: Contexts, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        one, two = contexts_of_two
        run = await started(one)
        key = await one.read(lambda tx: account_records.get_key(tx, run.account, run.key_id))
        assert key is not None
        given = JobSubmission("search", "search", {}, ChatSelector(chat=run.chat), NOW, charges_microcents=10**9)
        held = await one.read(lambda tx: usage_records.sum_holds(tx, run.account, "wallet"))
        call = await tool_calls.begin_call(one, key, given)
        await processes.record_start(two, of(two))
        assert await two.read(lambda tx: usage_records.sum_holds(tx, run.account, "wallet")) == held + 10**9
        with monkeypatch.context() as within:
            within.setattr(process_records, "DEAD_MS", -1)
            await processes.record_heartbeat(one, of(one), [])
        await processes.record_heartbeat(two, of(two), [])
        assert await two.read(lambda tx: usage_records.sum_holds(tx, run.account, "wallet")) == held
        await tool_calls.end_call(one, call, {"web_search": 1})
        await tool_calls.end_call(one, call, {"web_search": 1})
        bill = await two.read(lambda tx: usage_records.by_key_and_month(tx, run.account))
        assert [(line.kind, line.quantity) for line in bill] == [("web_search", 1)]

    asyncio.run(work())


class Worker:
    """Notes the runs that a process was given, and does nothing with them."""

    def __init__(self) -> None:
        self.given: list[str] = []
        self.supervisor = TaskSupervisor(LocalSignals())

    def wake(self, name: str, queue_job: int) -> None:
        self.given.append(name)
        self.supervisor.start(name, self._work)

    async def _work(self, name: str) -> None: ...


class NoReadings:
    async def wake(self) -> None: ...


@contextlib.asynccontextmanager
async def sharing(context: UseCaseContext, *, works: int = 1) -> AsyncIterator[Worker]:
    """What the process does beside its requests; yields its worker."""
    worker = Worker()
    workers: Any = SimpleNamespace(runs=worker, jobs=worker, readings=NoReadings(), works=bool(works))
    database: Any = context.database
    assert isinstance(context.signals, LocalSignals)
    made = SharedProcess(database, database.queue(), context, context.signals, workers, of(context, works=works))
    await made.start()
    try:
        async with asyncio.timeout(60):
            yield worker
    finally:
        await made.drain(5)
        await made.close()


def test_what_others_have_is_taken_over_only_once_they_could_say_that_they_live(
    contexts_of_two: Contexts, queue: QueueTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the database was away all of them look dead to the first that reaches it."""
    monkeypatch.setattr(shared, "GRACE_SECONDS", 0.5)
    monkeypatch.setattr(shared, "SWEEP_SECONDS", 0.05)

    async def work() -> None:
        one, two = contexts_of_two
        run = await started(one)
        queue.die(queue.take(run))
        began = time.monotonic()
        async with sharing(two) as worker:
            while run.run_id not in worker.given:  # noqa: ASYNC110 - what it waits for has no event
                await asyncio.sleep(0.02)
        assert time.monotonic() - began >= 0.5

    asyncio.run(work())


def test_what_one_process_writes_wakes_those_who_watch_at_another(contexts_of_two: Contexts) -> None:
    async def work() -> None:
        one, two = contexts_of_two
        run = await started(one)
        async with sharing(two, works=0):
            with two.signals.watch(run.run_id) as watch, two.signals.watch("run_of_nobody") as other:
                assert await watch.wait(3600)  # at first sight
                assert await other.wait(3600)
                claim = await claimed(one, run)
                assert await watch.wait(3600)
                await attempts.append(one, run.run_id, claim.attempt, [("progress", {"done": 1})])
                assert await watch.wait(3600)
                assert not await other.wait(0.3)
                assert not await watch.wait(0.3)

    asyncio.run(work())
