"""How many runs can be started a second, how many are then done a second, and what one costs the service's processor.

python -m tests.bench.starts [--quick]
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import Final

from agentsvc_nb.testing import RunningService, running_service
from tests.bench.load import Load, Measured, measure, request
from tests.bench.process import completed_runs, cpu_seconds
from tests.support.waiting import until

PATH: Final = "/api/developers/v1/runs"
START: Final = json.dumps({"message": "say hello"}).encode()
QUEUED: Final = b'{"object":"agent_run","run_id":"'


def main(quick: bool) -> None:
    rounds, runs = (1, 500) if quick else (5, 5000)
    with running_service() as service:
        used = cpu_seconds(service.pid)
        found = [_round(service, runs, runs * (number + 1)) for number in range(rounds)]
        used = (cpu_seconds(service.pid) - used) / (rounds * runs) * 1000
    rate = statistics.median(measured.rate for measured, _ in found)
    p50, p99 = (statistics.median(one.quantile(share) for one, _ in found) * 1000 for share in (0.5, 0.99))
    done = statistics.median(runs / took for _, took in found)
    print(f"{'POST /runs, 32 at once':26} {'started/s':>10} {'p50 ms':>8} {'p99 ms':>8} {'ended/s':>8} {'cpu ms':>8}")
    print(f"{f'median of {rounds} x {runs}':26} {rate:10.0f} {p50:8.1f} {p99:8.1f} {done:8.0f} {used:8.2f}")


def _round(service: RunningService, runs: int, all_runs: int) -> tuple[Measured, float]:
    """Start runs, each in a chat of its own, and wait until all there are have ended; how long both took."""
    load = Load(request("POST", PATH, service.api_key, START), 202, QUEUED, whole=False, requests=runs)
    begin = time.perf_counter()
    measured = measure(service.base_url, load)
    until(lambda: completed_runs(service), lambda ended: ended == all_runs)
    return measured, time.perf_counter() - begin


if __name__ == "__main__":
    main("--quick" in sys.argv)
