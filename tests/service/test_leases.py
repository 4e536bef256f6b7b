"""Processes that share a database: each run and job is executed by one, for as long as its lease is renewed; and each
hears what others write (docs/decisions/0057-leases.md)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from agentsvc_nb.service.accounts import account_records, accounts, usage_records
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.jobs import jobs
from agentsvc_nb.service.jobs.job_records import JobEnding
from agentsvc_nb.service.jobs.jobs import Submit
from agentsvc_nb.service.ports import StoreUnusable
from agentsvc_nb.service.runner import shared
from agentsvc_nb.service.runner.shared import AWAY_SECONDS, RENEWED_SECONDS, SharedSignals, SharedWorkers, Sharing
from agentsvc_nb.service.runner.supervisor import TaskSupervisor
from agentsvc_nb.service.runs import attempts, lease_records, leases, runs, tool_calls
from agentsvc_nb.service.runs.lease_records import ProcessRecord
from agentsvc_nb.service.runs.leases import InHand
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.service.runs.runs import Start
from agentsvc_nb.service.store.postgres import PostgresDatabase
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.settings import Settings
from agentsvc_nb.wire.limits import RESTARTS_MAX
from tests import databases
from tests.service import contexts

NOW = 1_700_000_000_000
NOTHING = InHand([], [], [])
JOB = Submit("echo_job", "echo", {}, ChatSelector(), NOW)
CENTURY_MS = 100 * 365 * 86_400_000


@pytest.fixture
def address() -> str:
    return databases.server().new_database()


@pytest.fixture
def processes(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[UseCaseContext, ...]]:
    """Two processes, of which the clock of the second was set back."""
    with contextlib.ExitStack() as stack:
        found = []
        for name, now in (("one", NOW), ("two", NOW - CENTURY_MS)):
            database = stack.enter_context(contextlib.closing(PostgresDatabase(address).open()))
            settings = Settings(tmp_path_factory.mktemp(name), model="scripted")
            found.append(replace(contexts.use_case(database, now, settings), process=name))
        yield tuple(found)


def of(context: UseCaseContext, *, model: str = "scripted", contents: str = "s3://one/place") -> ProcessRecord:
    assert context.process is not None
    return ProcessRecord(context.process, 1, model, contents)


async def started(context: UseCaseContext) -> RunRecord:
    key, _ = await context.write(lambda tx: accounts.create_key(tx, context.clock, name="caller"))
    return await runs.start(context, key, Start("hello", ChatSelector(), "scripted", NOW))


async def taken(context: UseCaseContext, run: RunRecord) -> RunRecord:
    found = await attempts.take(context, run.run_id)
    assert found is not None
    return found


async def found(context: UseCaseContext) -> list[str]:
    return (await leases.look(context, of(context), NOTHING)).runs


@contextlib.contextmanager
def leases_that_end_at_once(patch: pytest.MonkeyPatch) -> Iterator[None]:
    with patch.context() as within:
        within.setattr(lease_records, "LEASE_MS", -1)
        yield


def test_a_run_is_taken_by_one(processes: tuple[UseCaseContext, ...]) -> None:
    async def work() -> None:
        one, two = processes
        run = await started(two)
        assert await found(one) == await found(two) == [run.run_id]
        both = await asyncio.gather(attempts.take(one, run.run_id), attempts.take(two, run.run_id))
        assert [each.attempt for each in both if each] == [1]
        holder, other = (one, two) if both[0] else (two, one)
        assert await found(other) == []
        assert await attempts.take(other, run.run_id) is None
        await attempts.append(holder, run.run_id, 1, [("progress", {"done": 1})])

    asyncio.run(work())


def test_who_lost_its_lease_writes_nothing_more_and_is_told(
    processes: tuple[UseCaseContext, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        one, two = processes
        run = await started(one)
        with leases_that_end_at_once(monkeypatch):
            await taken(one, run)
        assert await found(two) == [run.run_id]
        second = await taken(two, run)
        assert second.attempt == 2
        with pytest.raises(attempts.LostRun):
            await attempts.append(one, run.run_id, 1, [("progress", {"done": 1})])
        assert await leases.renew(one, of(one), InHand([run.run_id], [], [run.run_id])) == {run.run_id}
        assert await leases.renew(two, of(two), InHand([run.run_id], [], [run.run_id])) == set()
        await attempts.leave(one, run.run_id)
        assert await found(one) == []  # what it has no more it can't leave either

    asyncio.run(work())


def test_a_clock_that_is_wrong_neither_keeps_nor_takes(
    processes: tuple[UseCaseContext, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        for holder, other in (processes, processes[::-1]):
            run = await started(holder)
            await taken(holder, run)
            assert await attempts.take(other, run.run_id) is None
            with leases_that_end_at_once(monkeypatch):
                await leases.renew(holder, of(holder), InHand([run.run_id], [], []))
            assert (await taken(other, run)).attempt == 2

    asyncio.run(work())


def test_a_run_that_is_left_is_free_at_once_and_that_does_not_count(processes: tuple[UseCaseContext, ...]) -> None:
    async def work() -> None:
        one, two = processes
        run = await started(one)
        for _ in range(RESTARTS_MAX + 1):
            await taken(one, run)
            await attempts.leave(one, run.run_id)
            assert await found(two) == [run.run_id]
        last = await taken(two, run)
        assert (last.status, last.attempt) == ("running", RESTARTS_MAX + 2)

    asyncio.run(work())


def test_a_run_whose_workers_die_ends_at_last(
    processes: tuple[UseCaseContext, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        one, two = processes
        run = await started(one)
        with leases_that_end_at_once(monkeypatch):
            for _ in range(RESTARTS_MAX + 1):
                await taken(one, run)
            assert await attempts.take(two, run.run_id) is None
        ended = await runs.find(two, run.run_id)
        assert ended is not None
        assert (ended.status, ended.last_error) == ("failed", "attempts_exhausted")

    asyncio.run(work())


def test_a_cancelled_run_of_a_dead_worker_is_ended(
    processes: tuple[UseCaseContext, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        one, two = processes
        run = await started(one)
        with leases_that_end_at_once(monkeypatch):
            await taken(one, run)
        await runs.cancel(two, run.account, run.run_id)
        look = await leases.look(one, of(one), InHand([run.run_id], [], [run.run_id]))
        assert look.stopping == {run.run_id}
        assert await attempts.take(two, run.run_id) is None
        assert await runs.status(two, run.run_id) == "cancelled"

    asyncio.run(work())


def test_a_job_is_taken_over_as_a_run_is(
    processes: tuple[UseCaseContext, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        one, two = processes
        key, _ = await one.write(lambda tx: accounts.create_key(tx, one.clock, name="caller"))
        job = await jobs.submit(one, key, JOB)
        with leases_that_end_at_once(monkeypatch):
            assert await jobs.take(one, job.job_id)
        assert (await leases.look(two, of(two), NOTHING)).jobs == [job.job_id]
        second = await jobs.take(two, job.job_id)
        assert second is not None
        assert second.attempt == 2
        assert await jobs.take(one, job.job_id) is None
        assert await jobs.finish(one, job.job_id, 1, JobEnding("succeeded", [])) is None
        await jobs.leave(two, job.job_id)
        third = await jobs.take(one, job.job_id)
        assert third is not None
        assert (third.attempt, third.restarts) == (3, 1)

    asyncio.run(work())


def test_a_run_that_was_overtaken_leaves_its_job_to_the_one_that_goes_on(
    processes: tuple[UseCaseContext, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        one, two = processes
        run = await started(one)
        with leases_that_end_at_once(monkeypatch):
            await taken(one, run)
        await taken(two, run)
        key = await one.read(lambda tx: account_records.get_key(tx, run.account, run.key_id))
        assert key is not None
        job = await jobs.submit(one, key, JOB)
        await jobs.stop(one, job.job_id, run.run_id, 1)
        assert (await jobs.find(one, job.job_id)) == job
        await jobs.stop(two, job.job_id, run.run_id, 2)
        stopped = await jobs.find(one, job.job_id)
        assert stopped is not None
        assert stopped.status == "cancelled"

    asyncio.run(work())


def test_a_run_waits_for_a_process_with_its_model_while_one_lives(
    processes: tuple[UseCaseContext, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        one, two = processes
        run = await started(one)
        newer = of(two, model="offline")
        await leases.begin(one, of(one))
        assert (await leases.look(two, newer, NOTHING)).runs == []
        await leases.end(one, of(one))
        assert (await leases.look(two, newer, NOTHING)).runs == [run.run_id]

    asyncio.run(work())


def test_the_direct_call_of_a_dead_process_holds_nothing_and_of_a_frozen_one_is_billed(
    processes: tuple[UseCaseContext, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        one, two = processes
        run = await started(one)
        key = await one.read(lambda tx: account_records.get_key(tx, run.account, run.key_id))
        assert key is not None
        given = Submit("search", "search", {}, ChatSelector(chat=run.chat), NOW, charges_microcents=10**9)
        await leases.begin(one, of(one))
        held = await one.read(lambda tx: usage_records.held(tx, run.account, "wallet"))
        call = await tool_calls.begin_call(one, key, given)
        await leases.begin(two, of(two))
        assert await two.read(lambda tx: usage_records.held(tx, run.account, "wallet")) == held + 10**9
        with leases_that_end_at_once(monkeypatch):
            await leases.renew(one, of(one), NOTHING)
        await leases.renew(two, of(two), NOTHING)
        assert await two.read(lambda tx: usage_records.held(tx, run.account, "wallet")) == held
        await tool_calls.end_call(one, call, {"web_search": 1})
        await tool_calls.end_call(one, call, {"web_search": 1})
        bill = await two.read(lambda tx: usage_records.by_key_and_month(tx, run.account))
        assert [(line.kind, line.quantity) for line in bill] == [("web_search", 1)]

    asyncio.run(work())


def test_processes_with_other_contents_are_refused(processes: tuple[UseCaseContext, ...], address: str) -> None:
    async def work() -> None:
        one, _ = processes
        await leases.begin(one, of(one))

    asyncio.run(work())
    with contextlib.closing(PostgresDatabase(address)) as database:
        leases.check_contents(database, "s3://one/place")
        with pytest.raises(StoreUnusable, match=r"in s3://one/place, this one in the folder /x: give all of them"):
            leases.check_contents(database, "the folder /x")


def test_after_the_database_was_away_others_may_renew_first(
    processes: tuple[UseCaseContext, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reached it first took all that the others had: their leases had run out meanwhile."""

    async def work() -> None:
        one, two = processes
        with leases_that_end_at_once(monkeypatch):
            run = await taken(one, await started(one))
        woken: list[str] = []
        kind: Any = SimpleNamespace(supervisor=TaskSupervisor(_never, woken.append), wake=woken.append, claiming=0)
        workers: Any = SimpleNamespace(runs=kind, jobs=kind, readings=SimpleNamespace(wake=_later))
        database: Any = None  # is not looked at here
        sharing = Sharing(database, two, SharedSignals(Recorded(), "two"), workers, of(two))
        await sharing._look()
        assert woken == [run.run_id]
        sharing._reached_s -= AWAY_SECONDS
        for _ in range(3):
            await sharing._look()
        assert woken == [run.run_id]
        queued = await started(one)
        await sharing._look()
        assert woken == [run.run_id, queued.run_id], "nobody has that"
        sharing._back_s -= RENEWED_SECONDS
        await sharing._look()
        assert woken[2:] == [run.run_id, queued.run_id]

    run_within(30, work())


async def _never(_: str) -> None:
    raise AssertionError


async def _later() -> None: ...


class Recorded:
    """A channel in memory, which nobody listens to."""

    def __init__(self) -> None:
        self.sent: list[Sequence[str]] = []

    def listen(self, sender: str, heard: Callable[[Sequence[str]], None]) -> None: ...
    def send(self, sender: str, names: Sequence[str]) -> None:
        self.sent.append(names)

    def close(self) -> None: ...


def test_the_first_is_told_at_once_and_what_follows_together() -> None:
    async def work() -> list[Sequence[str]]:
        channel = Recorded()
        signals = SharedSignals(channel, "one")
        signals.notify("run")
        await asyncio.sleep(0)
        for name in ("run", "other", "run"):
            signals.notify(name)
        await signals.close()
        return channel.sent

    assert asyncio.run(work()) == [["run"], ["run", "other"]]


def test_each_wait_looks_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "LOOK_SECONDS", 0.01)

    async def work() -> None:
        signals = SharedSignals(Recorded(), "one")
        signals.listen(lambda names: None)
        sent = signals.sent
        with signals.watch("run") as watch:
            assert await watch.wait(3600)
        assert signals.sent > sent  # what was read before counts no more
        await signals.close()

    asyncio.run(work())


def run_within(seconds: float, test: Coroutine[Any, Any, None]) -> None:
    async def in_time() -> None:
        async with asyncio.timeout(seconds):
            await test

    asyncio.run(in_time())


def test_what_one_process_writes_the_others_hear(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "LOOK_SECONDS", 3600.0)

    async def work() -> None:
        with contextlib.ExitStack() as stack:
            opened = [stack.enter_context(contextlib.closing(PostgresDatabase(address).open())) for _ in range(2)]
            one, two = (SharedSignals(each.channel(), name) for each, name in zip(opened, "ab", strict=True))
            heard: list[str] = []
            listening = asyncio.Event()

            def hear(names: Sequence[str]) -> None:
                heard.extend(names)
                listening.set()

            one.listen(lambda names: heard.append("its own"))
            two.listen(hear)
            await listening.wait()
            many = [f"run_{number:060}" for number in range(300)]  # more than one notification holds
            with two.watch(many[-1]) as watch:
                for name in many:
                    one.notify(name)
                assert await watch.wait(3600)
            await asyncio.gather(one.close(), two.close())
            assert {*many} <= {*heard}

    run_within(60, work())


def test_one_worker_is_told_each_in_its_turn_and_all_where_they_differ() -> None:
    async def work() -> list[str]:
        channel = Recorded()
        signals = SharedSignals(channel, "replica")
        workers = SharedWorkers(signals, works=False)
        workers.wake_run("run_1")  # it knows of none yet
        workers.others = [ProcessRecord(name, 1, "scripted", "s3://one/place") for name in ("a", "b")]
        for name in ("run_2", "run_3", "job_4"):
            (workers.wake_job if name.startswith("job") else workers.wake_run)(name)
        workers.others = [*workers.others, ProcessRecord("c", 1, "other", "s3://one/place")]
        workers.wake_run("run_5")
        await signals.close()
        return [name for names in channel.sent for name in names]

    assert asyncio.run(work()) == ["work", "work:b:run_2", "work:a:run_3", "work:b:job_4"]


def test_who_has_runs_to_claim_looks_for_no_others(processes: tuple[UseCaseContext, ...]) -> None:
    async def work() -> None:
        one, _ = processes
        await started(one)
        assert (await leases.look(one, of(one), NOTHING, most=0)).runs == []

    asyncio.run(work())


def test_who_waits_for_a_run_of_a_model_that_no_process_has_is_told_at_once(
    processes: tuple[UseCaseContext, ...],
) -> None:
    async def work() -> None:
        one, _ = processes
        run = await started(one)
        other = replace(one, settings=one.settings.model_copy(update={"model": "offline"}))
        waiting = asyncio.create_task(runs.wait(one, run, NOW + 3_600_000))
        await asyncio.sleep(0.05)  # it has looked, and waits
        assert await attempts.take(other, run.run_id) is None
        assert (await waiting).last_error == "model_changed"

    run_within(60, work())
