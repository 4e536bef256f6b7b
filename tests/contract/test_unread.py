"""Answers that nobody takes: they hold little, keep nobody else from theirs, and end with their connection
(docs/api/conventions.md "Before a key is seen")."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.routes import V1
from tests import databases
from tests.bench.process import peak_mb
from tests.contract.conftest import Wire
from tests.contract.test_before_a_key import served
from tests.service.test_stop import connected
from tests.waiting import PATIENCE_SECONDS, until

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
CHARACTERS = 2_000_000
MOST_MB = {"sqlite": 80, "postgres": 160}
"""Forty answers, of 1.5 MB each once they are sent; and what makes them: one at a time, or eight threads that read."""


def asked(path: str, key: str, *, last: bool = False) -> bytes:
    close = "Connection: close\r\n" if last else ""
    return f"GET {V1}{path} HTTP/1.1\r\nHost: localhost\r\nx-api-key: {key}\r\n{close}\r\n".encode()


def long_run(http: httpx.Client) -> str:
    """The id of a run whose output and events have some `CHARACTERS` characters."""
    body = {"message": "\n".join([f"say {'x' * (CHARACTERS // 50 - 1)}"] * 50), "sync": True}
    answer = http.post(f"{V1}/runs", json=body)
    assert (answer.json()["status"], len(answer.json()["output"])) == ("completed", CHARACTERS - 1)
    return str(answer.json()["run_id"])


@LINUX
@pytest.mark.parametrize("path", ["/runs/{}", "/runs/{}/events?limit=1000"])
def test_no_answer_is_made_before_the_last_one_is_taken(service: RunningService, wire: Wire, path: str) -> None:
    """300 connections that asked for ten pages each and read none took 690 MB of memory, which stayed."""
    with httpx.Client(base_url=service.base_url, headers={"x-api-key": service.api_key}) as http:
        one = path.format(long_run(http))
    before = peak_mb(service.pid)
    with contextlib.ExitStack() as stack:
        unread = [stack.enter_context(connected(service.base_url)) for _ in range(40)]
        for connection in unread:
            connection.sendall(asked(one, service.api_key) * 20 + asked(one, service.api_key, last=True))
        until(lambda: all(connection.recv(1) for connection in unread))
        assert [wire("GET", one).status_code for _ in range(20)] == [200] * 20
        assert peak_mb(service.pid) - before < MOST_MB[databases.chosen]
        received = b"".join(iter(lambda: unread[0].recv(1_000_000), b""))
    assert received.count(b"\r\nx-request-id: req_") == 21, "whoever reads after all gets each answer"


HASTY = """
import sys
from agentsvc_nb.cli import main
from agentsvc_nb.service.server import connections
connections.UNREAD_SECONDS = 2
sys.exit(main(["serve", "--data", sys.argv[1], "--port", "0", "--model", "scripted"]))
"""


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, int, str]]:
    """Address, key and process of a service that waits two seconds for a peer, and a run with a long answer."""
    data: Path = tmp_path_factory.mktemp("hasty") / "data"
    with served(data, [sys.executable, "-c", HASTY, str(data)]) as ready:
        key = DataFolder(data).own_key()
        with httpx.Client(base_url=ready.base_url, headers={"x-api-key": key}, timeout=PATIENCE_SECONDS) as http:
            yield ready.base_url, key, ready.pid, long_run(http)


@LINUX
@pytest.mark.parametrize("path", ["/runs/{}", "/runs/{}/events?limit=1000"])
def test_a_peer_that_takes_nothing_is_ended(hasty: tuple[str, str, int, str], path: str) -> None:
    base_url, key, pid, run_id = hasty
    sockets = len(os.listdir(f"/proc/{pid}/fd"))
    with contextlib.ExitStack() as stack:
        for _ in range(5):
            unread = stack.enter_context(connected(base_url))
            unread.sendall(asked(path.format(run_id), key) * 20)
        until(lambda: len(os.listdir(f"/proc/{pid}/fd")), lambda count: count >= sockets + 5)
        until(lambda: len(os.listdir(f"/proc/{pid}/fd")), lambda count: count <= sockets)


def test_a_peer_that_takes_little_at_a_time_gets_all(hasty: tuple[str, str, int, str]) -> None:
    base_url, key, _, run_id = hasty
    with connected(base_url) as slow:
        slow.sendall(asked(f"/runs/{run_id}", key) * 5 + asked(f"/runs/{run_id}", key, last=True))
        received = b""
        while part := slow.recv(100_000):
            received += part
            time.sleep(0.03)
    documents = [json.loads(part.partition(b"\r\n\r\n")[2]) for part in received.split(b"HTTP/1.1 200 OK")[1:]]
    assert [len(document["output"]) for document in documents] == [CHARACTERS - 1] * 6


@LINUX
def test_a_steady_reader_is_not_taken_for_one_who_stands_still(hasty: tuple[str, str, int, str]) -> None:
    """The system took megabytes for it, and no more before much of them was read: it was ended after two seconds."""
    base_url, key, _, run_id = hasty
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        slow.settimeout(PATIENCE_SECONDS)
        slow.connect(("127.0.0.1", int(base_url.rpartition(":")[2])))
        slow.sendall(asked(f"/runs/{run_id}", key) * 3 + asked(f"/runs/{run_id}", key, last=True))
        received = b""
        for _ in range(60):
            received += slow.recv(10_000)
            time.sleep(0.1)
        received += b"".join(iter(lambda: slow.recv(1_000_000), b""))
    assert received.count(b"HTTP/1.1 200 OK") == 4
    assert len(received) > 4 * CHARACTERS
