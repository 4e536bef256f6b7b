"""`GET /runs/{id}` against the same answer from bare Starlette.

python -m tests.bench.reads [--quick]
"""

from __future__ import annotations

import statistics
import sys

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service
from tests.bench.load import Load, Measured, measure, request
from tests.bench.peer import bare_starlette
from tests.bench.raw import fetch


def main(quick: bool) -> None:
    rounds, requests = (3, 2000) if quick else (7, 20000)
    print(f"{'GET /runs/{id}, 32 connections':34} {'requests/s':>10} {'p50 ms':>8} {'p99 ms':>8}")
    with running_service() as service:
        path = f"/api/developers/v1/runs/{_ended_run(service)}"
        ask = request("GET", path, service.api_key)
        body = fetch(service.base_url, ask)
        with bare_starlette(path, body) as bare:
            loads = [Load(url, ask, 200, body, requests=requests) for url in (service.base_url, bare)]
            both = [[measure(load) for load in loads] for _ in range(rounds)]  # by turns: the machine is shared
    for name, column in zip(("the service", "bare Starlette"), zip(*both, strict=True), strict=True):
        _show(name, column)
    print(f"ratio, median of {rounds}: {statistics.median(ours.rate / peer.rate for ours, peer in both):.2f}")


def _show(name: str, column: tuple[Measured, ...]) -> None:
    rate = statistics.median(one.rate for one in column)
    p50, p99 = (statistics.median(one.quantile(share) for one in column) * 1000 for share in (0.5, 0.99))
    print(f"{name:34} {rate:10.0f} {p50:8.2f} {p99:8.2f}")


def _ended_run(service: RunningService) -> str:
    with AgentService(service.api_key, service.base_url) as client:
        return client.runs.start("say hello\nusage 100 20", sync=True).run_id


if __name__ == "__main__":
    main("--quick" in sys.argv)
