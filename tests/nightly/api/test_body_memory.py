"""How much memory large bodies take in the service (docs/api/conventions.md)."""

from __future__ import annotations

import contextlib
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import running_service
from agentsvc_nb.wire.limits import MB
from agentsvc_nb.wire.routes import V1
from tests.bench.harness import peak_mb, resident_mb
from tests.support.contents import incoming

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the system does not say how much memory a process has")


@pytest.mark.parametrize(("model", "begin"), [("offline", ""), ("scripted", "fail nothing ")])
def test_long_messages_leave_no_memory_behind(model: str, begin: str) -> None:
    message = begin + "a" * 8 * MB

    def memory_after(runs: int) -> float:
        for _ in range(runs):
            caller.runs.wait(caller.runs.start(message))
        return resident_mb(service.pid)

    with running_service(model) as service:
        caller = AgentService(service.api_key, base_url=service.base_url)
        before = memory_after(2)
        assert memory_after(5) - before < 20


def test_large_bodies_are_in_the_service_once_each() -> None:
    """Six at once, of which four are taken in: each was there twice while it waited, and twice more as it was read."""
    body = b'{"message": "say x", "more": "' + b"a" * 16 * MB + b'"}'
    with running_service("scripted") as service, ThreadPoolExecutor(6) as threads:
        headers = {"x-api-key": service.api_key, "content-type": "application/json"}

        def start(_: int) -> int:
            return httpx.post(f"{service.base_url}{V1}/runs", content=body, headers=headers, timeout=60).status_code

        start(0)
        before = resident_mb(service.pid)
        assert set(threads.map(start, range(12))) == {202}
        assert peak_mb(service.pid) - before < 6 * 16
        assert resident_mb(service.pid) - before < 2 * 16  # what the allocator keeps included


def test_a_script_of_a_million_lines_is_no_list_of_them() -> None:
    """Three took 1,000 MB, and the collection of their lines as garbage held everybody up for seven seconds."""
    with running_service("scripted") as service:
        caller = AgentService(service.api_key, base_url=service.base_url)
        caller.runs.wait(caller.runs.start("say x"))
        before = resident_mb(service.pid)
        run = caller.runs.wait(caller.runs.start("wait 0\n" * 1_000_000 + "say x"))
        assert run.output == "x"
        assert peak_mb(service.pid) - before < 60


def test_payloads_that_are_on_their_way_are_not_in_memory() -> None:
    """Only how many bodies without a form are in memory was limited."""
    part = b'--b\r\nContent-Disposition: form-data; name="payload"\r\n\r\n{"message": "say x", "more": "'
    body, end = part + b"a" * 15 * MB, b'"}\r\n--b--\r\n'
    with running_service("scripted") as service, contextlib.ExitStack() as opened:
        head = (
            f"POST {V1}/runs HTTP/1.1\r\nHost: localhost\r\nx-api-key: {service.api_key}\r\nConnection: close\r\n"
            f"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {len(body) + len(end)}\r\n\r\n"
        )
        callers: list[socket.socket] = []
        address = urlsplit(service.base_url)
        before = resident_mb(service.pid)
        for _ in range(10):
            one = opened.enter_context(socket.create_connection((address.hostname, address.port), timeout=60))
            one.sendall(head.encode() + body)
            callers.append(one)
        assert resident_mb(service.pid) - before < 40
        for one in callers:
            one.sendall(end)
        assert {one.recv(65_536).split()[1] for one in callers} == {b"202"}
        assert peak_mb(service.pid) - before < 6 * 16
        assert not any(incoming(service).iterdir())
