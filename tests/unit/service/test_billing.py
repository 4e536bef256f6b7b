"""Whether a run is billed is decided by the use case that ends it, whatever its worker has counted."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentsvc_nb.service.accounts import accounts, usage_records
from agentsvc_nb.service.accounts.usage_records import Spent
from agentsvc_nb.service.chats import chat_records
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.runner.storage import SystemClock
from agentsvc_nb.service.runs import attempts, runs
from agentsvc_nb.service.runs.run_records import Ending, RunRecord
from agentsvc_nb.service.runs.runs import Start
from tests.support import databases
from tests.unit.service.contexts import use_case

NOW = 1_700_000_000_000


def finished(path: Path, code: str) -> tuple[RunRecord, list[usage_records.UsageRecord]]:
    """A run that failed with `code` after it had used 1,500 tokens for 70 micro-cents, and its account's bill."""
    database = databases.opened(path / "db.sqlite3")
    try:
        key, _ = database.write_now(lambda tx: accounts.create_key(tx, SystemClock(), name="billed"))
        chat = database.write_now(lambda tx: chat_records.create(tx, key.account, None, None, NOW)).id
        given = Start("hello", ChatSelector(chat=chat), "scripted", NOW)
        ending = Ending("failed", last_error=code, steps=3, spent=Spent(1_000, 500, 70))

        async def work() -> RunRecord | None:
            context = use_case(database, NOW)
            run = await runs.start(context, key, given)
            claimed = await attempts.claim(context, run.run_id)
            assert claimed is not None
            return await attempts.finish(context, run.run_id, claimed.attempt, ending)

        ended = asyncio.run(work())
        assert ended is not None
        return ended, database.read(lambda tx: usage_records.by_key_and_month(tx, key.account))
    finally:
        database.close()


def test_a_run_that_failed_is_billed_for_what_it_used(tmp_path: Path) -> None:
    run, bill = finished(tmp_path, "agent_error")
    assert (run.input_tokens, run.output_tokens, run.cost_microcents) == (1_000, 500, 70)
    assert [(line.kind, line.quantity, line.microcents) for line in bill] == [("tokens", 1_500, 70)]


@pytest.mark.parametrize("code", [runs.STEPS_EXCEEDED, "budget_limited"])
def test_a_run_over_its_steps_shows_no_cost_and_is_not_billed(tmp_path: Path, code: str) -> None:
    run, bill = finished(tmp_path, code)
    assert (run.input_tokens, run.output_tokens, run.cost_microcents) == (1_000, 500, 0)
    assert bill == []
