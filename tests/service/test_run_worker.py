"""A run's worker: what it claimed it ends, whatever reads fail, and what the agent said is written once."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.agents.scripted import Scripted
from agentsvc_nb.formats.schemas.judges import Judges
from agentsvc_nb.service.records import runs as run_records
from agentsvc_nb.service.records.runs import RunRecord
from agentsvc_nb.service.runner import supervisor
from agentsvc_nb.service.runner.event_log import PIECES_AT_ONCE, EventLog
from agentsvc_nb.service.runner.jobs import JobRunner
from agentsvc_nb.service.runner.readings import Readings
from agentsvc_nb.service.runner.runs import RunRunner
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.service.store.sqlite import SqliteDatabase
from agentsvc_nb.service.usecases import accounts, attempts, runs
from agentsvc_nb.service.usecases.chats import ChatSelector
from agentsvc_nb.service.usecases.runs import Start
from agentsvc_nb.settings import Settings
from agentsvc_nb.wire.limits import DELTA_CHARS
from tests.service import contexts

NOW = 1_700_000_000_000


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    opened = SqliteDatabase(tmp_path / "db.sqlite3").open()
    yield opened
    opened.close()


@pytest.fixture
def storage(database: SqliteDatabase, tmp_path: Path) -> Storage:
    return contexts.storage(database, tmp_path, contexts.SetClock(NOW), Settings(tmp_path, model="scripted"))


async def started(storage: Storage, message: str) -> RunRecord:
    context = storage.use_case
    key, _ = await context.write(lambda tx: accounts.create_key(tx, context.clock, name="caller"))
    return await runs.start(context, key, Start(message, ChatSelector(), "scripted", NOW))


async def ended(storage: Storage, run: RunRecord) -> RunRecord:
    """The run after a worker has worked on it."""
    await RunRunner(storage, Scripted(), {}, JobRunner(storage, {}), Judges())._work(run.run_id)
    found = await runs.find(storage.use_case, run.run_id)
    assert found is not None
    return found


Read = Callable[..., Awaitable[Any]]


@pytest.mark.parametrize(("where", "name"), [(runs, "message"), (runs, "saved"), (Readings, "caught_up")])
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


def written(database: SqliteDatabase, run: RunRecord) -> str:
    found, _ = database.read(lambda tx: run_records.events(tx, run.run_id, 0, 1_000, 10**9))
    return "".join(json.loads(event.payload)["text"] for event in found if event.type == "text.delta")


TEXT = "".join(f"{number:,} " for number in range(3 * PIECES_AT_ONCE * DELTA_CHARS // 7))


@pytest.mark.parametrize("turns", range(1, 15))
def test_a_cancel_leaves_no_text_unwritten(turns: int, storage: Storage, database: SqliteDatabase) -> None:
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
    storage: Storage, database: SqliteDatabase
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
        found, _ = database.read(lambda tx: run_records.events(tx, run.run_id, 0, 1_000, 10**9))
        assert [event.type for event in found[-4:]] == ["text.delta", "thinking.delta", "text.delta", "warning"]
        assert written(database, run) == "ac"

    asyncio.run(work())


def test_text_that_could_not_be_written_is_written_next(
    storage: Storage, database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
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
