"""How long a call waits for its caller, by the service's clock (docs/api/client-tools.md "The answer")."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.agents.scripted import Scripted
from agentsvc_nb.documents.schemas import SchemaValidator
from agentsvc_nb.service.accounts import accounts
from agentsvc_nb.service.accounts.account_records import KeyRecord
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.ports import DatabaseEngine
from agentsvc_nb.service.runner.jobs import JobRunner
from agentsvc_nb.service.runner.runs import RunRunner
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.service.runs import attempts, client_calls, runs, tool_calls
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.service.runs.runs import Start
from agentsvc_nb.service.times import rfc3339
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.port import Outcome
from agentsvc_nb.wire.limits import CALL_WAIT_MAX_SECONDS, CALL_WAIT_SECONDS
from agentsvc_nb.wire.runs import NewClientTool, Verdict
from tests.support import databases
from tests.unit.service import contexts

NOW = 1_700_000_000_000
WAIT, MOST = CALL_WAIT_SECONDS * 1000, CALL_WAIT_MAX_SECONDS * 1000
TOOL = NewClientTool(name="look_up", description="Looks up.", input_schema={"type": "object"}, effect=False)
ANSWER = Outcome(content=[{"type": "text", "text": "seven lamps"}])


@pytest.fixture
def database(tmp_path: Path) -> Iterator[DatabaseEngine]:
    opened = databases.opened(tmp_path / "db.sqlite3")
    yield opened
    opened.close()


@pytest.fixture
def schemas() -> Iterator[SchemaValidator]:
    found = SchemaValidator()
    yield found
    found.close()


@dataclass
class Asked:
    """A run at work whose call waits for its caller, or for approval first."""

    storage: Storage
    clock: contexts.SetClock
    key: KeyRecord
    run: RunRecord
    runner: RunRunner
    work: asyncio.Task[None]
    call_id: str = ""

    async def answer(self, given: Outcome = ANSWER) -> None:
        await client_calls.answer(self.storage.use_case, self.key, self.run.run_id, self.call_id, given)

    async def prolong(self) -> str:
        call = await client_calls.prolong(self.storage.use_case, self.key, self.run.run_id, self.call_id)
        assert call.expires_at
        return call.expires_at

    async def events(self, kind: str) -> list[dict[str, Any]]:
        batch = await runs.events(self.storage.use_case, self.run.run_id, 0)
        return [json.loads(event.payload) for event in batch.events if event.type == kind]

    async def told(self, kind: str) -> dict[str, Any]:
        """The first event of a type, once there is one."""
        with self.storage.use_case.signals.watch(self.run.run_id) as watch:
            while not (found := await self.events(kind)):
                await watch.wait(10)
        return found[0]

    async def refused(self) -> str:
        with pytest.raises(ApiError) as caught:
            await self.answer()
        return caught.value.row.code


def runner_of(storage: Storage, schemas: SchemaValidator) -> RunRunner:
    return RunRunner(storage, {"scripted": Scripted()}, {}, JobRunner(storage, {}), schemas)


async def begun(
    database: DatabaseEngine, folder: Path, schemas: SchemaValidator, settings: Settings, tool: NewClientTool
) -> Asked:
    """A run at work on its only call."""
    clock = contexts.SetClock(NOW)
    storage = contexts.storage(database, folder / "blobs", clock, settings)
    context = storage.use_case
    key, _ = await context.write(lambda tx: accounts.create_key(tx, clock, name="caller"))
    given = Start("call look_up {}\nsay done", ChatSelector(), "scripted", NOW, client_tools=[tool])
    run = await runs.start(context, key, given)
    runner = runner_of(storage, schemas)
    return Asked(storage, clock, key, run, runner, asyncio.create_task(runner._work(run.run_id)))


async def asked(database: DatabaseEngine, folder: Path, schemas: SchemaValidator) -> Asked:
    found = await begun(database, folder, schemas, Settings(folder, model="scripted"), TOOL)
    waiting = await found.told("client_call.waiting")
    assert waiting["expires_at"] == rfc3339(NOW + WAIT)
    found.call_id = waiting["call_id"]
    return found


def test_the_clock_starts_after_approval(database: DatabaseEngine, tmp_path: Path, schemas: SchemaValidator) -> None:
    async def use() -> None:
        settings = Settings(tmp_path, model="scripted", approve_effects=True)
        call = await begun(database, tmp_path, schemas, settings, TOOL.model_copy(update={"effect": True}))
        call.call_id = (await call.told("approval.requested"))["call_id"]
        call.clock.ms = NOW + 5 * WAIT
        given = Verdict(approved=True)
        await tool_calls.decide(call.storage.use_case, call.key.account, call.run.run_id, call.call_id, given)
        waiting = await call.told("client_call.waiting")
        assert (waiting["call_id"], waiting["expires_at"]) == (call.call_id, rfc3339(NOW + 6 * WAIT))
        call.clock.ms = NOW + 6 * WAIT - 1
        await call.answer()
        await call.work
        [result] = await call.events("tool.result")
        assert result["content"] == ANSWER.content

    asyncio.run(use())


def test_nobody_answers_in_time(database: DatabaseEngine, tmp_path: Path, schemas: SchemaValidator) -> None:
    async def use() -> None:
        call = await asked(database, tmp_path, schemas)
        call.clock.ms = NOW + WAIT
        assert await call.refused() == "call_not_waiting"  # and the worker has been told
        await call.work
        run = await runs.find(call.storage.use_case, call.run.run_id)
        assert run is not None
        assert (run.status, run.output) == ("completed", "done"), "a failure of the tool, never of the run"
        [result] = await call.events("tool.result")
        assert result["is_error"] is True
        assert await call.refused() == "call_not_waiting"

    asyncio.run(use())


def test_the_last_moment_is_in_time(database: DatabaseEngine, tmp_path: Path, schemas: SchemaValidator) -> None:
    async def use() -> None:
        call = await asked(database, tmp_path, schemas)
        call.clock.ms = NOW + WAIT - 1
        await call.answer()
        call.clock.ms = NOW + 10 * WAIT
        await call.answer()
        await call.work
        [result] = await call.events("tool.result")
        assert result["content"] == ANSWER.content

    asyncio.run(use())


def test_pending_begins_anew_for_a_day_in_all(
    database: DatabaseEngine, tmp_path: Path, schemas: SchemaValidator
) -> None:
    async def use() -> None:
        call = await asked(database, tmp_path, schemas)
        while call.clock.ms < NOW + MOST - WAIT:
            call.clock.ms += WAIT - 1
            latest = min(call.clock.ms + WAIT, NOW + MOST)
            assert await call.prolong() == rfc3339(latest)
        call.clock.ms = NOW + MOST - 1
        assert await call.prolong() == rfc3339(NOW + MOST)
        call.clock.ms = NOW + MOST
        with pytest.raises(ApiError):
            await call.prolong()
        assert await call.refused() == "call_not_waiting"
        await call.work
        assert len(await call.events("client_call.waiting")) == 1, "pending is no event"

    asyncio.run(use())


def test_a_new_attempt_asks_what_expired_meanwhile(
    database: DatabaseEngine, tmp_path: Path, schemas: SchemaValidator
) -> None:
    async def use() -> None:
        call = await asked(database, tmp_path, schemas)
        await call.runner.supervisor.stop()
        await call.work
        context = call.storage.use_case
        call.clock.ms = NOW + 5 * WAIT
        assert [run.run_id for run in await attempts.recover(context)] == [call.run.run_id]
        run = await runs.find(context, call.run.run_id)
        assert run is not None
        assert run.restarts == 0, "it only waited"
        runner = runner_of(call.storage, schemas)
        with context.signals.watch(call.run.run_id) as watch:
            work = asyncio.create_task(runner._work(call.run.run_id))
            while len(waiting := await call.events("client_call.waiting")) < 2:
                await watch.wait(10)
        assert waiting[1] == {**waiting[0], "expires_at": rfc3339(NOW + 6 * WAIT)}
        await call.answer()
        await work
        [result] = await call.events("tool.result")
        assert result["content"] == ANSWER.content

    asyncio.run(use())


def test_an_attempt_that_goes_on_counts_again(
    database: DatabaseEngine, tmp_path: Path, schemas: SchemaValidator
) -> None:
    async def use() -> None:
        call = await asked(database, tmp_path, schemas)
        await call.answer()
        await call.work
        context = call.storage.use_case
        await context.write(lambda tx: tx.run("UPDATE run SET status = 'running', ended_at = NULL"))
        await attempts.recover(context)
        run = await runs.find(context, call.run.run_id)
        assert run is not None
        assert run.restarts == 1

    asyncio.run(use())
