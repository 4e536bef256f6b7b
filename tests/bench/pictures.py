"""How many ads does a service draw a second, and does its memory stay bounded?

python -m tests.bench.pictures [--quick]
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any, Final

import httpx

from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import V1
from tests.bench.process import cpu_seconds, resident_mb
from tests.support.waiting import until
from tests.unit.tools.briefs import BRIEFS

PICTURES: Final = 20
GROWTH_MB: Final = 40.0
"""Over the later half of the rounds: one picture kept of each would be more."""
PROMISE: Final = 20.0


def main(quick: bool) -> None:
    rounds = 4 if quick else 20
    with running_service() as service, httpx.Client(base_url=service.base_url, timeout=60) as http:
        http.headers["Authorization"] = f"Bearer {service.api_key}"
        _job(http, 0)
        found = [_measured(service, http, number) for number in range(rounds)]
    print(f"{'pictures':>8} {'a second':>9} {'ms of processor each':>21} {'MB':>8}")
    for number, (rate, used, resident) in enumerate(found):
        print(f"{PICTURES * (number + 1):8} {rate:9.1f} {used:21.0f} {resident:8.1f}")
    print(f"best {max(rate for rate, *_ in found):.1f} a second; promised: {PROMISE:.0f} on two idle cores")
    growth = found[-1][2] - found[rounds // 2 - 1][2]
    assert growth < GROWTH_MB, f"the later half of the rounds left {growth:.1f} MB"


def _measured(service: RunningService, http: httpx.Client, number: int) -> tuple[float, float, float]:
    """Pictures a second, milliseconds of processor time for each, and the memory held after them."""
    began, used = time.perf_counter(), cpu_seconds(service.pid)
    _job(http, number)
    spent = 1000 * (cpu_seconds(service.pid) - used) / PICTURES
    return PICTURES / (time.perf_counter() - began), spent, resident_mb(service.pid)


def _job(http: httpx.Client, number: int) -> None:
    """Twenty pictures of a brief of its own, from submit to end."""
    brief = [*BRIEFS.values()][number % len(BRIEFS)]
    request = {**brief, "brief": f"{brief['brief']}\nround {number}", "outputs": {"count": PICTURES}}
    body = json.dumps({"tool": "create_images", "input": {"request": request}})
    job = http.post(f"{V1}/jobs", content=body).json()

    def read() -> dict[str, Any]:
        document: dict[str, Any] = http.get(f"{V1}/jobs/{job['job_id']}", params={"chat": job["chat"]}).json()
        return document

    ended = until(read, lambda found: found["status"] in ("succeeded", "failed"))
    assert ended["status"] == "succeeded", ended["error"]
    assert len(ended["data"]["images"]) == PICTURES


if __name__ == "__main__":
    main("--quick" in sys.argv)
