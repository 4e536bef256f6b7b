"""Many followers of one run that speaks 20 times a second: does each see every event once and in order, how late is it?

python -m tests.bench.followers [--quick]
"""

from __future__ import annotations

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from typing import Final

from agentsvc_nb import AgentService
from agentsvc_nb.testing import running_service
from tests.bench.following import follow_all
from tests.bench.load import request
from tests.bench.process import cpu_seconds, resident_mb

EVENTS_A_SECOND: Final = 20
SETTLE_SECONDS: Final = 4
"""The run says nothing at first, so that every follower is there when it begins."""


def main(quick: bool) -> None:
    followers, seconds = (100, 3) if quick else (1000, 20)
    with running_service() as service, AgentService(service.api_key, service.base_url) as client:
        run_id = client.runs.start(_script(seconds)).run_id
        follow = request("GET", f"/api/developers/v1/runs/{run_id}/events", service.api_key, accept="text/event-stream")
        before = cpu_seconds(service.pid)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            ids, late = pool.submit(follow_all, service.base_url, follow, followers).result()
        cpu = (cpu_seconds(service.pid) - before) / (seconds + SETTLE_SECONDS)
        stored = [event.id for event in client.runs.iterate_events(run_id)]
        memory = resident_mb(service.pid)
    assert ids == stored, f"the followers saw {ids[-1]} of {stored[-1]} events"
    p50, p99 = (late[int(len(late) * share)] * 1000 for share in (0.5, 0.99))
    print(f"{'followers of a run':34} {'events':>7} {'p50 ms':>8} {'p99 ms':>8} {'CPU':>6} {'MB':>6}")
    print(f"{followers:<34} {len(late):7} {p50:8.1f} {p99:8.1f} {cpu:6.0%} {memory:6.0f}")


def _script(seconds: int) -> str:
    count = seconds * EVENTS_A_SECOND
    lines = [f"progress {number} {count}\nwait {1 / EVENTS_A_SECOND}" for number in range(count)]
    return "\n".join([f"wait {SETTLE_SECONDS}", *lines])


if __name__ == "__main__":
    main("--quick" in sys.argv)
