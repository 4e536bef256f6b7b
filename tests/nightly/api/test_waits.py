"""What waits for seconds: a full service says when to come back."""

from __future__ import annotations

import asyncio
from typing import Any

from agentsvc_nb import AsyncAgentService, MapProgress
from agentsvc_nb.client.options import RetryNotice
from tests.service.api.service_fixture import ServiceFixture
from tests.service.api.test_map import rows


def test_a_full_service_is_waited_for_with_fewer_rows(stage: ServiceFixture) -> None:
    told: list[RetryNotice] = []
    seen: list[MapProgress] = []
    service, asked = stage.other(run_capacity=2), rows(6)

    async def work() -> Any:
        key = stage.account(service).key
        async with AsyncAgentService(key, service.base_url, on_retry=told.append) as client:
            return await client.map(asked, "wait 0.2\nsay {{text}}", max_concurrency=4, on_progress=seen.append)

    assert asyncio.run(work()).answer.tolist() == asked.text.tolist()
    assert {notice.error.code for notice in told} == {"runtime_capacity_busy"}
    assert {notice.seconds for notice in told} == {5.0}
    waited = next(number for number, progress in enumerate(seen) if progress.waiting > 0)
    assert max(progress.running for progress in seen[waited + len(told) :]) <= 2
