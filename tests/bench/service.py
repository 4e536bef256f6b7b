"""Runs started a second, what each costs the service, and the memory that many leave.

python -m tests.bench.service [--quick]
"""

from __future__ import annotations

import contextlib
import http.client
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from agentsvc_nb.service.keyring import open_database
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import V1
from tests.bench.harness import cpu_seconds, resident_mb
from tests.support.waiting import until

CONNECTIONS: Final = 32
GROWTH_MB: Final = 10.0
"""Over the later half of the runs."""
START: Final = b'{"message": "say hello"}'


def main(quick: bool) -> None:
    runs, rounds = (250, 4) if quick else (1_000, 10)
    memory, rates = [], []
    with running_service() as service:
        headers = {"Authorization": f"Bearer {service.api_key}", "Content-Type": "application/json"}
        for number in range(rounds):
            begin, used = time.perf_counter(), cpu_seconds(service.pid)
            _start(service.base_url, runs, headers)
            rates.append(runs / (time.perf_counter() - begin))
            until(lambda: _completed(service), partial(int.__eq__, runs * (number + 1)))
            used = (cpu_seconds(service.pid) - used) / runs * 1000
            memory.append(resident_mb(service.pid))
    print(
        f"\n{rounds} x {runs} runs: {sorted(rates)[rounds // 2]:.0f} started a second, {used:.2f} CPU ms each at last"
    )
    grown = memory[-1] - memory[rounds // 2 - 1]
    assert grown < GROWTH_MB, f"the later half of the runs left {grown:.1f} MB"


def _start(base_url: str, runs: int, headers: dict[str, str]) -> None:
    """Start runs over kept connections, one at a time on each, and check each answer."""
    host = urlsplit(base_url).netloc

    def ask(times: int) -> None:
        with contextlib.closing(http.client.HTTPConnection(host)) as connection:
            for _ in range(times):
                connection.request("POST", f"{V1}/runs", START, headers)
                answer = connection.getresponse()
                body = answer.read()
                assert (answer.status, body[:21]) == (202, b'{"object":"agent_run"'), body

    shares = [len(range(first, runs, CONNECTIONS)) for first in range(CONNECTIONS)]
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(ask, shares))


def _completed(service: RunningService) -> int:
    with open_database(service.folder) as database:
        [row] = database.read(lambda tx: tx.all("SELECT COUNT(*) AS runs FROM run WHERE status = 'completed'"))
    return int(row["runs"])


if __name__ == "__main__":
    main("--quick" in sys.argv)
