"""The memory of streams that wait for events.

python -m tests.bench.idle_streams [--quick]
"""

from __future__ import annotations

import contextlib
import resource
import socket
import sys
import time
from typing import Final
from urllib.parse import urlsplit

from agentsvc_nb import AgentService
from agentsvc_nb.testing import running_service
from tests.bench.load import request
from tests.bench.process import resident_mb

WARM_UP: Final = 50
"""Streams before the first measurement: the first ones pay for caches that all share."""


def main(quick: bool) -> None:
    count = 300 if quick else 2_000
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # the service inherits it
    with running_service() as service, AgentService(service.api_key, service.base_url) as client:
        run_id = client.runs.start("say hello\nwait 600").run_id
        follow = request("GET", f"/api/developers/v1/runs/{run_id}/events", service.api_key, accept="text/event-stream")
        with contextlib.ExitStack() as stack:
            _open(stack, service.base_url, follow, WARM_UP)
            before = resident_mb(service.pid)
            _open(stack, service.base_url, follow, count)
            grown = resident_mb(service.pid) - before
        client.runs.cancel(run_id)
    print(f"{'idle streams':24} {'kB each':>8}")
    print(f"{count:<24} {grown * 1000 / count:8.1f}")


def _open(stack: contextlib.ExitStack, base_url: str, follow: bytes, count: int) -> None:
    """Open streams and read the first event of each."""
    address = urlsplit(base_url)
    opened = [stack.enter_context(socket.create_connection((address.hostname, address.port))) for _ in range(count)]
    for connection in opened:
        connection.sendall(follow)
    for connection in opened:
        received = b""
        while b"text.delta" not in received:
            received += connection.recv(65536)
    time.sleep(1)


if __name__ == "__main__":
    main("--quick" in sys.argv)
