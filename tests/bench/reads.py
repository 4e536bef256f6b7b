"""`GET /runs/{id}` against the same answer from bare Starlette.

python -m tests.bench.reads [--quick]
"""

from __future__ import annotations

import statistics
import sys
from typing import NamedTuple

import httpx

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service
from tests.bench.load import Load, Measured, measure, request
from tests.bench.peer import Server, bare_starlette
from tests.bench.process import cpu_seconds


class Round(NamedTuple):
    """One load on one server; `cpu` are the server's own seconds."""

    measured: Measured
    cpu: float

    @property
    def cpu_us(self) -> float:
        return self.cpu / len(self.measured.latencies) * 1e6


def main(quick: bool) -> None:
    rounds, requests = (3, 2000) if quick else (7, 20000)
    print(f"{'GET /runs/{id}, 32 connections':34} {'requests/s':>10} {'p50 ms':>8} {'p99 ms':>8} {'CPU us each':>12}")
    with running_service() as service:
        path = f"/api/developers/v1/runs/{_ended_run(service)}"
        ask = request("GET", path, service.api_key)
        headers = {"Authorization": f"Bearer {service.api_key}", "Accept": "application/json"}
        body = httpx.get(service.base_url + path, headers=headers).content
        with bare_starlette(path, body) as bare:
            servers = (Server(service.base_url, service.pid), bare)
            load = Load(ask, 200, body, requests=requests)
            both = [[_round(server, load) for server in servers] for _ in range(rounds)]  # by turns
    for name, column in zip(("the service", "bare Starlette"), zip(*both, strict=True), strict=True):
        _show(name, column)
    rates = statistics.median(ours.measured.rate / peer.measured.rate for ours, peer in both)
    cpu = statistics.median(peer.cpu_us / ours.cpu_us for ours, peer in both)
    print(f"ratio, median of {rounds}: {rates:.2f} by the clock, {cpu:.2f} by the servers' CPU time")


def _round(server: Server, load: Load) -> Round:
    before = cpu_seconds(server.pid)
    measured = measure(server.base_url, load)
    return Round(measured, cpu_seconds(server.pid) - before)


def _show(name: str, column: tuple[Round, ...]) -> None:
    rate, cpu = (
        statistics.median(values) for values in zip(*((one.measured.rate, one.cpu_us) for one in column), strict=True)
    )
    p50, p99 = (statistics.median(one.measured.quantile(share) for one in column) * 1000 for share in (0.5, 0.99))
    print(f"{name:34} {rate:10.0f} {p50:8.2f} {p99:8.2f} {cpu:12.0f}")


def _ended_run(service: RunningService) -> str:
    with AgentService(service.api_key, service.base_url) as client:
        return client.runs.start("say hello\nusage 100 20", sync=True).run_id


if __name__ == "__main__":
    main("--quick" in sys.argv)
