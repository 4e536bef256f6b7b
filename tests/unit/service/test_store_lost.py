"""A run or job whose database is away goes on from what is stored, as after a crash, and writes nothing twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agentsvc_nb.service.accounts import account_records
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.jobs import job_records, jobs
from agentsvc_nb.service.jobs.jobs import Submit
from agentsvc_nb.service.ports import CommitLost, StoreAway
from agentsvc_nb.service.runner import supervisor
from agentsvc_nb.service.runner.event_log import EventLog
from agentsvc_nb.service.runner.jobs import JobRunner
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.service.runs import attempts, event_records
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.tools.echo_job import EchoJob
from agentsvc_nb.tools.port import ToolServices
from tests.faults.history import counted_text
from tests.unit.service.test_run_worker import NOW, claimed, database, ended, started, storage

__all__ = ["database", "storage"]

Write = Callable[..., Awaitable[Any]]
LOST = pytest.mark.parametrize(
    "lost",
    [StoreAway("the server does not answer"), CommitLost("the server was lost at the commit")],
    ids=["away", "commit lost"],
)


def lost_the_second_time(write: Write, lost: Exception) -> tuple[Write, list[Any]]:
    """`write`, whose second call is lost; and its calls."""
    calls: list[Any] = []

    async def writes(*given: Any, **more: Any) -> Any:
        calls.append(given)
        if len(calls) != 2:
            return await write(*given, **more)
        if isinstance(lost, CommitLost):
            await write(*given, **more)
        raise lost

    return writes, calls


@LOST
@pytest.mark.parametrize("name", ["append", "checkpoint", "hold"])
def test_a_run_goes_on_from_its_checkpoint(
    name: str, lost: Exception, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It failed with agent_error."""

    async def work() -> None:
        script = "say one\nusage 20000 0\nstep 1\nusage 20000 0\nsay two\nsay three\nstep 1\nsay four"
        run = await ended(storage, await started(storage, script))
        assert (run.status, run.last_error, run.output) == ("completed", None, "one\ntwo\nthree\nfour")
        assert (run.cost_microcents, run.restarts) == (4_000_000, 0)
        assert counted_text(await events(storage, run)) == "one\ntwo\nthree\nfour\n"

    writes, calls = lost_the_second_time(getattr(attempts, name), lost)
    monkeypatch.setattr(attempts, name, writes)
    asyncio.run(work())
    assert len(calls) > 2


async def events(storage: Storage, run: RunRecord) -> list[dict[str, Any]]:
    found, _ = await storage.use_case.read(lambda tx: event_records.events(tx, run.run_id, 0, 1_000, 10**9))
    return [{"id": each.id, "type": each.type, "payload": json.loads(each.payload)} for each in found]


def test_words_that_may_be_stored_are_not_written_again(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The flush that followed wrote them twice."""
    right: Write = attempts.append

    async def lost(*given: Any) -> None:
        await right(*given)
        raise CommitLost

    async def work() -> None:
        run = await claimed(storage)
        log = EventLog(storage, run)
        with monkeypatch.context() as patch:
            patch.setattr(attempts, "append", lost)
            with pytest.raises(CommitLost):
                await log.speak("text.delta", "once")
        with pytest.raises(CommitLost):
            await log.flush()
        assert [event["type"] for event in await events(storage, run)].count("text.delta") == 1

    asyncio.run(work())


@LOST
def test_a_job_begins_again(lost: Exception, storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """It failed with agent_error."""

    async def work() -> None:
        job = await submitted(storage)
        await runner(storage)._work(job.job_id)
        found = await jobs.find(storage.use_case, job.job_id)
        assert found is not None
        assert (found.status, found.attempt, found.restarts, found.files) == ("succeeded", 2, 0, ["a.txt"])

    writes, calls = lost_the_second_time(jobs.report, lost)
    monkeypatch.setattr(jobs, "report", writes)
    asyncio.run(work())
    assert len(calls) > 2


def test_a_job_that_is_cancelled_meanwhile_ends(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = ""

    async def lost(*_: Any) -> None:
        await storage.use_case.write(lambda tx: job_records.cancelling(tx, job_id))
        raise StoreAway

    async def work() -> None:
        nonlocal job_id
        job_id = (await submitted(storage)).job_id
        await runner(storage)._work(job_id)
        found = await jobs.find(storage.use_case, job_id)
        assert found is not None
        assert found.status == "cancelled"

    monkeypatch.setattr(supervisor, "STORE_AGAIN_SECONDS", 0)
    monkeypatch.setattr(jobs, "report", lost)
    asyncio.run(work())


async def submitted(storage: Storage) -> job_records.JobRecord:
    run = await started(storage, "hello")
    key = await storage.use_case.read(lambda tx: account_records.get_key(tx, run.account, run.key_id))
    assert key is not None
    given = Submit("echo_job", "echo", {"steps": 3, "files": {"a.txt": "a"}}, ChatSelector(chat=run.chat), NOW)
    return await jobs.submit(storage.use_case, key, given)


def runner(storage: Storage) -> JobRunner:
    return JobRunner(storage, {"echo_job": EchoJob(ToolServices(storage.use_case.settings))})
