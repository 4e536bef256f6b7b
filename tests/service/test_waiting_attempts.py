"""An attempt that only waited for an approval does not count against the number of times that a run may be cut off."""

from __future__ import annotations

import asyncio

import pytest

from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.service.usecases import attempts, runs, tool_calls
from agentsvc_nb.wire.limits import RESTARTS_MAX
from tests.service.test_run_worker import claimed, database, storage

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
