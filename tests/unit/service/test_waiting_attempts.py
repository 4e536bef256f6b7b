"""What counts against the number of times that a run may be cut off: no attempt that only waited for an approval, and
none before the run made progress (docs/decisions/0070-cut-off-without-progress.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from agentsvc_nb.service.accounts.usage_records import Spent
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.service.runs import attempts, runs, tool_calls
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.tools.port import Outcome
from agentsvc_nb.wire.limits import RESTARTS_MAX
from tests.unit.service.test_run_worker import claimed, database, storage

__all__ = ["database", "storage"]


@pytest.mark.parametrize(("waits", "status"), [(True, "running"), (False, "failed")])
def test_a_run_that_waits_outlives_any_number_of_workers(waits: bool, status: str, storage: Storage) -> None:
    """It failed with attempts_exhausted."""

    async def work() -> None:
        context, run = storage.use_case, await claimed(storage)
        call = await tool_calls.open(context, run, run.attempt, "1", "send_email", {})
        for _ in range(RESTARTS_MAX + 2):
            if waits:
                call = await tool_calls.wait(context, run, run.attempt, call)
            for left in await attempts.recover(context):
                run = await attempts.resume(context, left.run_id, left.attempt) or run
        assert await runs.status(context, run.run_id) == status

    asyncio.run(work())


async def saves(storage: Storage, run: RunRecord, time: int) -> None:
    used = attempts.Used(time, Spent())
    await attempts.checkpoint(storage.use_case, run.run_id, run.attempt, {"state": {"step": time}}, 0, used)


async def ends_a_call(storage: Storage, run: RunRecord, time: int) -> None:
    call = await tool_calls.open(storage.use_case, run, run.attempt, str(time), "read_file", {})
    await tool_calls.move(storage.use_case, run, run.attempt, call, "done", Outcome())


async def says_the_same(storage: Storage, run: RunRecord, time: int) -> None:
    """What it says after its last checkpoint is said again by the next attempt."""
    await attempts.append(storage.use_case, run.run_id, run.attempt, [("text.delta", {"text": "one"})])


async def ends_the_same_call(storage: Storage, run: RunRecord, time: int) -> None:
    await ends_a_call(storage, run, 1)


Work = Callable[[Storage, RunRecord, int], Awaitable[None]]


@pytest.mark.parametrize(
    ("work", "status"),
    [(saves, "running"), (ends_a_call, "running"), (says_the_same, "failed"), (ends_the_same_call, "failed")],
)
def test_a_run_that_makes_progress_outlives_any_number_of_workers(work: Work, status: str, storage: Storage) -> None:
    """It failed with attempts_exhausted."""

    async def use() -> None:
        context, run = storage.use_case, await claimed(storage)
        for time in range(2 * RESTARTS_MAX + 2):
            await work(storage, run, time)
            left = await attempts.recover(context)
            if not left:
                break
            run = await attempts.resume(context, run.run_id, run.attempt) or run
        assert await runs.status(context, run.run_id) == status

    asyncio.run(use())
