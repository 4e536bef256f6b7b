"""Does the service's memory stay flat over many runs?

python -m tests.bench.memory [--quick]
"""

from __future__ import annotations

import sys
from typing import Final

from agentsvc_nb.testing import RunningService, running_service
from tests.bench.load import Load, measure, request
from tests.bench.process import completed_runs, resident_mb
from tests.bench.starts import PATH, QUEUED, START
from tests.support.waiting import until

GROWTH_MB: Final = 10.0
"""Over the later half: what is kept of each of 5,000 runs, 2 KB or more, would be more than this."""


def main(quick: bool) -> None:
    rounds, runs = (4, 250) if quick else (10, 1000)
    with running_service() as service:
        found = [_round(service, runs, runs * (number + 1)) for number in range(rounds)]
    print(f"{'runs':>8} {'MB':>8}")
    for number, resident in enumerate(found):
        print(f"{runs * (number + 1):8} {resident:8.1f}")
    growth = found[-1] - found[rounds // 2 - 1]
    assert growth < GROWTH_MB, f"the later half of the runs left {growth:.1f} MB"


def _round(service: RunningService, runs: int, all_runs: int) -> float:
    """What the service holds (MB) when so many more runs have ended."""
    measure(service.base_url, Load(request("POST", PATH, service.api_key, START), 202, QUEUED, False, requests=runs))
    until(lambda: completed_runs(service), lambda ended: ended == all_runs)
    return resident_mb(service.pid)


if __name__ == "__main__":
    main("--quick" in sys.argv)
