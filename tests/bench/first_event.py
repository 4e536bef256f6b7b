"""From sending a start until its first event, and until the agent's first word, on one connection.

python -m tests.bench.first_event [--quick]
"""

from __future__ import annotations

import json
import socket
import statistics
import sys
import time
from http.client import HTTPResponse
from typing import Final

from agentsvc_nb.testing import running_service
from tests.bench.load import address, request
from tests.bench.starts import PATH, START

EVENTS: Final = [b"run.status", b"step.started", b"text.delta", b"run.ended"]
"""The types of a run's events, as they first come."""


def main(quick: bool) -> None:
    rounds = 50 if quick else 500
    with running_service() as service:
        found = [once(service.base_url, service.api_key) for _ in range(rounds)]
    print(f"{f'{rounds} starts, one after the other':34} {'median ms':>10} {'p95 ms':>8}")
    for name, column in zip(("first event", "the agent's first word"), zip(*found, strict=True), strict=True):
        ms = sorted(seconds * 1000 for seconds in column)
        print(f"{name:34} {statistics.median(ms):10.2f} {ms[int(len(ms) * 0.95)]:8.2f}")


def once(base_url: str, api_key: str, start: bytes = START) -> tuple[float, float]:
    """Seconds until the first event and until the first word."""
    with socket.create_connection(address(base_url)) as connection:
        begin = time.perf_counter()
        connection.sendall(request("POST", PATH, api_key, start))
        run_id = json.loads(_answer(connection, 202).read())["run_id"]
        follow = request("GET", f"{PATH}/{run_id}/events", api_key, accept="text/event-stream")
        connection.sendall(follow)
        seen: dict[bytes, float] = {}
        for line in _answer(connection, 200):
            if line.startswith(b"event: "):
                seen.setdefault(line.split()[1], time.perf_counter() - begin)
    assert list(seen) == EVENTS, seen
    return seen[b"run.status"], seen[b"text.delta"]


def _answer(connection: socket.socket, status: int) -> HTTPResponse:
    answer = HTTPResponse(connection)
    answer.begin()
    assert answer.status == status, answer.read()
    return answer


if __name__ == "__main__":
    main("--quick" in sys.argv)
