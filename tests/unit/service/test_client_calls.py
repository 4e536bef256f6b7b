"""How long a call waits for its caller, by the service's clock (docs/api/client-tools.md "The answer")."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.documents.schemas import SchemaValidator
from agentsvc_nb.service.accounts import accounts
from agentsvc_nb.service.accounts.account_records import KeyRecord
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.ports import DatabaseEngine
from agentsvc_nb.service.runner.runs import RunRunner
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.service.runs import client_calls, runs, tool_calls
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.service.runs.runs import Start
from agentsvc_nb.service.times import rfc3339
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.port import Outcome
from agentsvc_nb.wire.limits import CALL_WAIT_MAX_SECONDS, CALL_WAIT_SECONDS
from agentsvc_nb.wire.runs import NewClientTool, Verdict
from tests.unit.service import contexts
from tests.unit.service.contexts import NOW

WAIT, MOST = CALL_WAIT_SECONDS * 1000, CALL_WAIT_MAX_SECONDS * 1000
ANSWER = Outcome(content=[{"type": "text", "text": "seven lamps"}])


@dataclass
class Asked:
    """A run at work on its only call, which waits for its caller, or for approval first."""

    storage: Storage
    clock: contexts.SetClock
    key: KeyRecord
    run: RunRecord
    worker: RunRunner
    call_id: str = ""

    async def answer(self) -> None:
        await client_calls.answer(self.storage.use_case, self.key, self.run.run_id, self.call_id, ANSWER)

    async def prolong(self) -> str | None:
        call = await client_calls.prolong(self.storage.use_case, self.key, self.run.run_id, self.call_id)
        return call.expires_at

    async def told(self, kind: str, count: int = 1) -> Any:
        """The payload of an event of this type, once there are so many."""
        with self.storage.use_case.signals.watch(self.run.run_id) as watch:
            while len(found := await contexts.events(self.storage, self.run, kind)) < count:
                await watch.wait(10)
        return found[-1]["payload"]

    async def refused(self) -> str:
        with pytest.raises(ApiError) as caught:
            await self.answer()
        return caught.value.row.code

    async def result(self) -> Any:
        """What the agent got, when the run has ended."""
        await self.worker.supervisor.wait_ended(self.run.run_id)
        return await self.told("tool.result")

    async def record(self) -> RunRecord:
        found = await runs.find(self.storage.use_case, self.run.run_id)
        assert found is not None
        return found


async def asked(
    database: DatabaseEngine, schemas: SchemaValidator, folder: Path, approve_effects: bool = False
) -> Asked:
    settings = Settings(folder, model="scripted", approve_effects=approve_effects)
    clock = contexts.SetClock(NOW)
    storage = contexts.storage(database, folder / "blobs", clock, settings)
    context = storage.use_case
    key, _ = await context.write(lambda tx: accounts.create_key(tx, clock, name="caller"))
    tool = NewClientTool(
        name="look_up", description="Looks up.", input_schema={"type": "object"}, effect=approve_effects
    )
    given = Start("call look_up {}\nsay done", ChatSelector(), "scripted", NOW, client_tools=[tool])
    run = await runs.start(context, key, given)
    worker, _ = contexts.workers(storage, schemas=schemas)
    worker.wake(run.run_id)
    found = Asked(storage, clock, key, run, worker)
    waiting = await found.told("approval.requested" if approve_effects else "client_call.waiting")
    assert approve_effects or waiting["expires_at"] == rfc3339(NOW + WAIT)
    found.call_id = waiting["call_id"]
    return found


Begin = Callable[..., Awaitable[Asked]]


@pytest.fixture
def begin(database: DatabaseEngine, schemas: SchemaValidator, tmp_path: Path) -> Begin:
    return partial(asked, database, schemas, tmp_path)


def test_the_clock_starts_after_approval(begin: Begin) -> None:
    async def use() -> None:
        call = await begin(approve_effects=True)
        call.clock.ms = NOW + 5 * WAIT
        verdict = Verdict(approved=True)
        await tool_calls.decide(call.storage.use_case, call.key.account, call.run.run_id, call.call_id, verdict)
        waiting = await call.told("client_call.waiting")
        assert (waiting["call_id"], waiting["expires_at"]) == (call.call_id, rfc3339(NOW + 6 * WAIT))
        call.clock.ms = NOW + 6 * WAIT - 1  # the last moment is in time
        await call.answer()
        assert (await call.result())["content"] == ANSWER.content

    asyncio.run(use())


@pytest.mark.rule("A client tool call without an answer in 120 s is `client_gone`, and the run continues.")
def test_nobody_answers_in_time(begin: Begin) -> None:
    async def use() -> None:
        call = await begin()
        call.clock.ms = NOW + WAIT
        assert await call.refused() == "call_not_waiting"  # and the worker has been told
        assert (await call.result())["is_error"] is True
        run = await call.record()
        assert (run.status, run.output) == ("completed", "done"), "a failure of the tool, never of the run"
        assert await call.refused() == "call_not_waiting"

    asyncio.run(use())


def test_pending_begins_anew_for_a_day_in_all(begin: Begin) -> None:
    async def use() -> None:
        call = await begin()
        while call.clock.ms < NOW + MOST - WAIT:
            call.clock.ms += WAIT - 1
            assert await call.prolong() == rfc3339(min(call.clock.ms + WAIT, NOW + MOST))
        call.clock.ms = NOW + MOST - 1
        assert await call.prolong() == rfc3339(NOW + MOST)
        call.clock.ms = NOW + MOST
        with pytest.raises(ApiError):
            await call.prolong()
        assert await call.refused() == "call_not_waiting"
        assert (await call.result())["is_error"] is True

    asyncio.run(use())
