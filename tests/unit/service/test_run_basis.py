"""What an agent says its answer rests on, as the service writes it (docs/api/events.md "answer.basis")."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.documents.schemas import SchemaValidator
from agentsvc_nb.service.accounts import accounts
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.runner.jobs import JobRunner
from agentsvc_nb.service.runner.runs import RunRunner
from agentsvc_nb.service.runs import event_records, run_records
from agentsvc_nb.service.runs import runs as run_usecases
from agentsvc_nb.service.runs.runs import Start
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.wire.runs import TERMINAL, AnswerBasis
from tests.support import databases
from tests.support.waiting import PATIENCE_SECONDS
from tests.unit.service import contexts

Script = Callable[[RunContext], Awaitable[None]]
QUOTED = AnswerBasis(basis="quoted")
COMPUTED = AnswerBasis(basis="computed", headline="Total: 3", values=["3"])


class Saying:
    """An agent that does what its script does."""

    def __init__(self, script: Script) -> None:
        self.script = script

    async def run(self, turn: RunContext) -> str | None:
        await turn.say("hello")
        await self.script(turn)
        return None


async def twice(turn: RunContext) -> None:
    turn.rests_on(QUOTED)
    turn.rests_on(COMPUTED)
    await turn.say(" and more")


async def before_a_rewind(turn: RunContext) -> None:
    turn.rests_on(QUOTED)
    await turn.rewind()


async def anew_after_a_rewind(turn: RunContext) -> None:
    await before_a_rewind(turn)
    turn.rests_on(COMPUTED)


async def and_fails(turn: RunContext) -> None:
    turn.rests_on(COMPUTED)
    raise WorkFailure("model_unavailable", "It went away.")


async def and_waits(turn: RunContext) -> None:
    turn.rests_on(COMPUTED)
    await asyncio.sleep(PATIENCE_SECONDS)


async def finished(folder: Path, script: Script, cancel: bool = False) -> tuple[Any, list[Any]]:
    """The record and the events of a run of this agent."""
    database = databases.opened(folder / "db.sqlite3")
    storage = contexts.storage(database, folder / "blobs")
    storage.tables.start()
    context = storage.use_case
    key, _ = database.write_now(lambda tx: accounts.create_key(tx, context.clock, name="basis"))
    runner = RunRunner(storage, {"saying": Saying(script)}, {}, JobRunner(storage, {}), SchemaValidator())
    run = await run_usecases.start(context, key, Start("hello", ChatSelector(), "saying", context.now))
    with context.signals.watch(run.run_id) as watch:
        runner.wake(run.run_id)
        while (record := database.read(lambda tx: run_records.get(tx, run.run_id))) and record.status not in TERMINAL:
            if cancel and record.last_event > 2:
                await run_usecases.cancel(context, key.account, run.run_id)
                runner.interrupt(run.run_id)
                cancel = False
            assert await watch.wait(PATIENCE_SECONDS), "the run is stuck"
    events, _ = database.read(lambda tx: event_records.events(tx, run.run_id, 0, 100, 10**9))
    database.close()
    storage.tables.close()
    return record, events


@pytest.mark.parametrize("script", [twice, anew_after_a_rewind])
def test_the_last_one_is_told_once_before_the_end(script: Script, tmp_path: Path) -> None:
    record, events = asyncio.run(finished(tmp_path, script))
    assert record.basis
    assert json.loads(record.basis) == COMPUTED.model_dump()
    assert [event.type for event in events][-3:] == ["answer.basis", "run.status", "run.ended"]
    assert [json.loads(event.payload) for event in events if event.type == "answer.basis"] == [COMPUTED.model_dump()]
    assert [event.id for event in events] == list(range(1, record.last_event + 1))


@pytest.mark.parametrize(
    ("script", "status"), [(before_a_rewind, "completed"), (and_fails, "failed"), (and_waits, "cancelled")]
)
def test_it_is_not_told_for_what_was_taken_back_failed_or_was_cancelled(
    script: Script, status: str, tmp_path: Path
) -> None:
    record, events = asyncio.run(finished(tmp_path, script, cancel=status == "cancelled"))
    assert (record.status, record.basis) == (status, None)
    assert "answer.basis" not in [event.type for event in events]
