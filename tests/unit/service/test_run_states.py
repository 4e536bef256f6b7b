"""A model of runs, driven at random against the real actions on SQLite.

Held: at most one active run a chat; event ids dense from 1; a terminal run never changes; a late attempt writes
nothing; one key, one run; nothing is stuck in the end.
"""

from __future__ import annotations

import asyncio
import dataclasses
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from agentsvc_nb.service.accounts import accounts
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats import chat_records
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.runner.storage import ServiceClock, Storage
from agentsvc_nb.service.runs import attempts, event_records, run_records
from agentsvc_nb.service.runs import runs as run_usecases
from agentsvc_nb.service.runs.run_records import RunEnding
from agentsvc_nb.service.runs.runs import Start
from agentsvc_nb.settings import Settings
from agentsvc_nb.wire.runs import ACTIVE, TERMINAL
from tests.support import databases
from tests.unit.service import contexts
from tests.unit.service.contexts import NOW, use_case

pytestmark = pytest.mark.rule("Terminal states never change, and a chat has at most one active turn.")

SCRIPTED = Settings(data=Path(), model="scripted")


class RunStates(RuleBasedStateMachine):
    """Two chats, three keys, any order of starts, claims, crashes, cancels and endings."""

    attempts = Bundle("attempts")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.database: Any = databases.opened(Path(self.folder.name) / "db.sqlite3")
        self.context = use_case(self.database, NOW, SCRIPTED)
        self.runner = asyncio.Runner()
        self.key, _ = self.database.write_now(lambda tx: accounts.create_key(tx, ServiceClock(), name="model"))
        account = self.key.account
        self.chats = [
            self.database.write_now(lambda tx: chat_records.create(tx, account, None, None, NOW)).id for _ in range(2)
        ]
        self.by_key: dict[tuple[str, str], str] = {}
        self.ended: dict[str, Any] = {}

    def teardown(self) -> None:
        for run in self.database.read(run_records.list_active):
            if run.status == "queued":
                assert self.run(attempts.claim(self.context, run.run_id))
            found = self.database.read(lambda tx, run=run: run_records.get(tx, run.run_id))
            ended = self.run(attempts.finish(self.context, found.run_id, found.attempt, RunEnding("completed")))
            assert ended, "a run is stuck"
        self.check()
        self.runner.close()
        self.database.close()
        self.folder.cleanup()

    def run(self, use_case: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(use_case)

    @rule(chat=st.integers(0, 1), key=st.sampled_from([None, "k1", "k2"]))
    def start(self, chat: int, key: str | None) -> None:
        where = ChatSelector(chat=self.chats[chat])
        given = Start("hello", where, "scripted", NOW, idempotency_key=key)
        busy = self.database.read(lambda tx: run_records.get_active_of_chat(tx, self.chats[chat]))
        known = self.by_key.get((self.chats[chat], key)) if key else None

        def begin() -> Any:
            return self.run(run_usecases.start(self.context, self.key, given))

        if busy is not None and known is None:  # a replay never meets its own 409
            with pytest.raises(ApiError) as caught:
                begin()
            assert caught.value.row.code == "agent_run_rejected"
            assert caught.value.top == {"activeRunId": busy.run_id}
            return
        started = {run["run_id"] for run in self.database.read(lambda tx: tx.all("SELECT run_id FROM run"))}
        record = begin()
        assert (record.run_id in started) == (known is not None)
        if known:
            assert record.run_id == known
        elif key:
            self.by_key[(self.chats[chat], key)] = record.run_id

    @rule(target=attempts, chat=st.integers(0, 1))
    def claim(self, chat: int) -> tuple[str, int]:
        run = self.database.read(lambda tx: run_records.get_active_of_chat(tx, self.chats[chat]))
        claimed = run and self.run(attempts.claim(self.context, run.run_id))
        return (claimed.run_id, claimed.attempt) if claimed else ("none", 0)

    @rule(target=attempts, attempt=consumes(attempts))
    def crash_and_resume(self, attempt: tuple[str, int]) -> tuple[str, int]:
        """The worker of `attempt` is dead; another takes over, if the run is still that attempt's."""
        record = self.run(attempts.resume(self.context, *attempt))
        if record is None:
            return attempt
        assert (
            self.database.write_now(lambda tx: event_records.append(tx, attempt[0], attempt[1], "text.delta", {}, NOW))
            is None
        )
        return record.run_id, record.attempt

    @rule(attempt=attempts)
    def append(self, attempt: tuple[str, int]) -> None:
        current = self.database.read(lambda tx: run_records.get(tx, attempt[0]))
        written = self.database.write_now(
            lambda tx: event_records.append(tx, *attempt, "text.delta", {"text": "x"}, NOW)
        )
        owns = current is not None and current.attempt == attempt[1] and current.status in ACTIVE
        assert (written is not None) == owns

    @rule(attempt=attempts, status=st.sampled_from(sorted(TERMINAL)))
    def finish(self, attempt: tuple[str, int], status: str) -> None:
        current = self.database.read(lambda tx: run_records.get(tx, attempt[0]))
        basis = {"basis": "nothing"} if status == "completed" else None
        record = self.run(attempts.finish(self.context, *attempt, RunEnding(status, basis=basis)))
        owns = current is not None and current.attempt == attempt[1] and current.status in ACTIVE
        assert (record is not None) == owns

    @rule(chat=st.integers(0, 1))
    def cancel(self, chat: int) -> None:
        run = self.database.read(lambda tx: run_records.get_active_of_chat(tx, self.chats[chat]))
        if run is not None:
            record = self.run(run_usecases.cancel(self.context, self.key.account, run.run_id))
            assert record.status in ("cancelled", "cancelling")

    @rule()
    def restart_the_service(self) -> None:
        for run in self.run(attempts.recover(self.context)):
            assert run.status in ("queued", "running")

    @invariant()
    def check(self) -> None:
        every = self.database.read(lambda tx: [row["run_id"] for row in tx.all("SELECT run_id FROM run")])
        found = [self.database.read(lambda tx, one=one: run_records.get(tx, one)) for one in every]
        for chat in self.chats:
            assert sum(run.chat == chat and run.status in ACTIVE for run in found) <= 1
        for run in found:
            self.check_run(run)

    def check_run(self, run: Any) -> None:
        events, _ = self.database.read(lambda tx: event_records.list_events(tx, run.run_id, 0, 10_000, 10**9))
        assert [event.id for event in events] == list(range(1, len(events) + 1))
        ends = [event.id for event in events if event.type == "run.ended"]
        assert ends == ([len(events)] if run.status in TERMINAL else [])
        if run.status in TERMINAL:
            assert self.ended.setdefault(run.run_id, dataclasses.astuple(run)) == dataclasses.astuple(run)


RunStates.TestCase.settings = settings(max_examples=12, stateful_step_count=25, deadline=None, derandomize=True)
TestRunStates = RunStates.TestCase


def test_a_run_that_is_cancelled_before_a_new_server_goes_on_with_it_ends(storage: Storage) -> None:
    async def recover_and_cancel() -> None:
        context, run = storage.use_case, await contexts.claimed(storage)
        worker, _ = contexts.workers(storage)
        await worker.recover()
        await run_usecases.cancel(context, run.account, run.run_id)
        worker.interrupt(run.run_id)
        worker.wake(run.run_id)
        await worker.supervisor.wait_ended(run.run_id)
        assert await run_usecases.get_status(context, run.run_id) == "cancelled"

    asyncio.run(recover_and_cancel())
