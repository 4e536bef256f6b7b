"""Whether a run is billed is decided by the use case that ends it, whatever its worker has counted."""

from __future__ import annotations

import asyncio

import pytest

from agentsvc_nb.service.accounts import accounts, usage_records
from agentsvc_nb.service.accounts.usage_records import Spent
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.ports import DatabaseEngine
from agentsvc_nb.service.runs import attempts, runs
from agentsvc_nb.service.runs.run_records import Ending, RunRecord
from agentsvc_nb.service.runs.runs import Start
from tests.unit.service.contexts import NOW, use_case


def finished(database: DatabaseEngine, code: str) -> tuple[RunRecord, list[usage_records.UsageRecord]]:
    """A run that failed with `code` after it had used 1,500 tokens for 70 micro-cents, and its account's bill."""

    async def work() -> RunRecord | None:
        context = use_case(database, NOW)
        key, _ = await context.write(lambda tx: accounts.create_key(tx, context.clock, name="billed"))
        run = await runs.start(context, key, Start("hello", ChatSelector(), "scripted", NOW))
        claimed = await attempts.claim(context, run.run_id)
        assert claimed is not None
        ending = Ending("failed", last_error=code, steps=3, spent=Spent(1_000, 500, 70))
        return await attempts.finish(context, run.run_id, claimed.attempt, ending)

    ended = asyncio.run(work())
    assert ended is not None
    return ended, database.read(lambda tx: usage_records.by_key_and_month(tx, ended.account))


def test_a_run_that_failed_is_billed_for_what_it_used(database: DatabaseEngine) -> None:
    run, bill = finished(database, "agent_error")
    assert (run.input_tokens, run.output_tokens, run.cost_microcents) == (1_000, 500, 70)
    assert [(line.kind, line.quantity, line.microcents) for line in bill] == [("tokens", 1_500, 70)]


@pytest.mark.parametrize("code", [runs.STEPS_EXCEEDED, "budget_limited"])
def test_a_run_over_its_steps_shows_no_cost_and_is_not_billed(database: DatabaseEngine, code: str) -> None:
    run, bill = finished(database, code)
    assert (run.input_tokens, run.output_tokens, run.cost_microcents) == (1_000, 500, 0)
    assert bill == []
