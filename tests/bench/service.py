"""What a read and a run cost the service: `GET /runs/{id}` against bare Starlette, and runs started a second.

python -m tests.bench.service [--quick]
"""

from __future__ import annotations

import contextlib
import http.client
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final
from urllib.parse import urlsplit

import httpx

from agentsvc_nb import AgentService
from agentsvc_nb.service.keyring import open_beside
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import V1
from tests.bench.harness import Server, bare_starlette, compare, cpu_seconds, resident_mb
from tests.support.waiting import until

CONNECTIONS: Final = 32
GROWTH_MB: Final = 10.0
"""Over the later half of the runs."""
START: Final = b'{"message": "say hello"}'


def main(quick: bool) -> None:
    _reads(*((2_000, 3) if quick else (20_000, 7)))
    _starts(*((250, 4) if quick else (1_000, 10)))


def _reads(requests: int, rounds: int) -> None:
    with running_service() as service:
        with AgentService(service.api_key, service.base_url) as client:
            path = f"{V1}/runs/" + client.runs.start("say hello\nusage 100 20", sync=True).run_id
        headers = {"Authorization": f"Bearer {service.api_key}", "Accept": "application/json"}
        body = httpx.get(service.base_url + path, headers=headers).content

        def cost(server: Server) -> float:
            """Microseconds of the server's CPU time for a request."""
            before = cpu_seconds(server.pid)
            _load(server.base_url, requests, ("GET", path, None, headers), (200, body.__eq__))
            return (cpu_seconds(server.pid) - before) / requests * 1e6

        with bare_starlette(path, body) as bare:
            servers = {"the service": Server(service.base_url, service.pid), "bare Starlette": bare}
            works = {name: partial(cost, server) for name, server in servers.items()}
            compare("GET /runs/{id}", "CPU us", works, rounds)


def _starts(runs: int, rounds: int) -> None:
    memory, rates = [], []
    with running_service() as service:
        headers = {"Authorization": f"Bearer {service.api_key}", "Content-Type": "application/json"}
        for number in range(rounds):
            begin, used = time.perf_counter(), cpu_seconds(service.pid)
            _load(
                service.base_url,
                runs,
                ("POST", f"{V1}/runs", START, headers),
                (202, lambda body: body.startswith(b'{"object":"agent_run"')),
            )
            rates.append(runs / (time.perf_counter() - begin))
            until(lambda: _completed(service), partial(int.__eq__, runs * (number + 1)))
            used = (cpu_seconds(service.pid) - used) / runs * 1000
            memory.append(resident_mb(service.pid))
    print(
        f"\n{rounds} x {runs} runs: {sorted(rates)[rounds // 2]:.0f} started a second, {used:.2f} CPU ms each at last"
    )
    grown = memory[-1] - memory[rounds // 2 - 1]
    assert grown < GROWTH_MB, f"the later half of the runs left {grown:.1f} MB"


def _load(
    base_url: str,
    requests: int,
    request: tuple[str, str, bytes | None, dict[str, str]],
    right: tuple[int, Callable[[bytes], bool]],
) -> None:
    """Send the same request many times over kept connections, one at a time on each, and check each answer."""
    host = urlsplit(base_url).netloc

    def ask(times: int) -> None:
        with contextlib.closing(http.client.HTTPConnection(host)) as connection:
            for _ in range(times):
                connection.request(*request)
                answer = connection.getresponse()
                body = answer.read()
                assert answer.status == right[0], body
                assert right[1](body), body

    shares = [len(range(first, requests, CONNECTIONS)) for first in range(CONNECTIONS)]
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(ask, shares))


def _completed(service: RunningService) -> int:
    with open_beside(service.folder) as database:
        [row] = database.read(lambda tx: tx.all("SELECT COUNT(*) AS runs FROM run WHERE status = 'completed'"))
    return int(row["runs"])


if __name__ == "__main__":
    main("--quick" in sys.argv)
