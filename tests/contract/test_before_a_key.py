"""What anybody can send is bounded before a key is seen (docs/api/conventions.md "Before a key is seen")."""

from __future__ import annotations

import contextlib
import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from agentsvc_nb.service.folder import DataFolder, Ready
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.limits import HEAD_BYTES, HEADER_BYTES
from agentsvc_nb.wire.routes import V1
from tests.bench.process import peak_mb
from tests.contract.conftest import Wire
from tests.contract.signing import signed_in
from tests.service.test_stop import answer, connected
from tests.waiting import PATIENCE_SECONDS, until

GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
LAST_CHUNK = b"0\r\n"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def start(service: RunningService, *parts: bytes) -> bytes:
    """A start whose body comes in chunks, and the first chunk."""
    head = f"POST {V1}/runs HTTP/1.1\r\nHost: localhost\r\nx-api-key: {service.api_key}\r\n"
    return (
        head.encode() + b'Transfer-Encoding: chunked\r\n\r\n13\r\n{"message": "say x"\r\n1\r\n}\r\n' + b"".join(parts)
    )


def sent(service: RunningService, *parts: bytes) -> tuple[int, str]:
    """The status and code of the answer, or "" for a right request."""
    with connected(service.base_url) as connection:
        connection.sendall(b"".join(parts))
        status, headers, body = answer(connection)
    assert headers["x-request-id"].startswith("req_")
    error = body.get("error")
    return status, error["code"] if isinstance(error, dict) else ""


@LINUX
@pytest.mark.parametrize("what", ["a cookie", "an address", "headers", "trailers", "an extension", "extensions"])
def test_a_head_holds_64_kb_and_costs_no_more(service: RunningService, what: str) -> None:
    """32 MB of tiny headers took 613 MB of memory, a cookie of 8 MB a second of everybody's time."""
    long, tiny = b"x" * 8_000_000, b"a:b\r\n" * 1_600_000
    request = {
        "a cookie": GET + b"Cookie: " + long + b"\r\n\r\n",
        "an address": b"GET /" + long + b" HTTP/1.1\r\n\r\n",
        "headers": GET + tiny + b"\r\n",
        "trailers": start(service, LAST_CHUNK, tiny, b"\r\n"),
        "an extension": start(service, b"1;" + long + b"\r\n \r\n" + LAST_CHUNK + b"\r\n"),
        "extensions": start(service, (b"1;" + b"x" * 1_000 + b"\r\n \r\n") * 8_000 + LAST_CHUNK + b"\r\n"),
    }[what]
    before = peak_mb(service.pid)
    assert sent(service, request) == (431, "headers_too_large")
    assert peak_mb(service.pid) - before < 20


@pytest.mark.parametrize("size", [1, 1_000, 40_000])
def test_each_header_counts_its_text_and_32_bytes(service: RunningService, size: int) -> None:
    """To the byte, with whatever Host and address count."""
    header = b"a: " + b"x" * (size - 1) + b"\r\n"
    left = HEAD_BYTES - len("/healthz") - sum(len(text) + HEADER_BYTES for text in ("hostlocalhost", "connectionclose"))
    count, rest = divmod(left, size + HEADER_BYTES)
    head = GET + b"Connection: close\r\n" + header * count
    rest -= HEADER_BYTES
    if rest > 1:
        assert sent(service, head, b"b: " + b"x" * (rest - 1) + b"\r\n\r\n") == (200, "")
    assert sent(service, head, b"b: " + b"x" * max(rest, 1) + b"\r\n\r\n") == (431, "headers_too_large")


def test_a_body_in_tiny_chunks_is_fine_and_its_trailers_are_dropped(service: RunningService, wire: Wire) -> None:
    body = start(service, b"1\r\n \r\n" * 100_000, LAST_CHUNK, b"Idempotency-Key: a b\r\n\r\n")
    with connected(service.base_url) as connection:
        connection.sendall(body.replace(b"Host:", b"Connection: close\r\nHost:"))
        status, _, run = answer(connection)
    assert status == 202
    assert until(lambda: wire("GET", f"/runs/{run['run_id']}").json()["output"]) == "x"


def test_few_requests_wait_for_the_one_before(service: RunningService) -> None:
    with connected(service.base_url) as connection:
        connection.sendall((GET + b"\r\n") * 10 + GET + b"Connection: close\r\n\r\n")
        received = b"".join(iter(lambda: connection.recv(65_536), b""))
        assert received.count(b"HTTP/1.1 200 OK") == 11
    assert sent(service, (GET + b"\r\n") * 5_000) == (400, "invalid_query")


HASTY = """
import sys
from agentsvc_nb.cli import main
from agentsvc_nb.service.server import connections
connections.HEAD_SECONDS, connections.KEEP_ALIVE_SECONDS = 1, 3
sys.exit(main(["serve", "--data", sys.argv[1], "--port", "0", "--model", "scripted"]))
"""


@contextlib.contextmanager
def served(data: Path, command: list[str]) -> Iterator[Ready]:
    """The service that this command runs; its log is beside the folder."""
    with (data.parent / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        ready = until(lambda: Ready.read(data / "ready.json"), lambda found: found is not None)
        assert ready is not None
        try:
            yield ready
        finally:
            process.terminate()


def dripped(connection: socket.socket, data: bytes, pause: float) -> bytes:
    """Send the bytes one by one, and return what is answered meanwhile."""
    connection.settimeout(pause)
    for byte in data:
        connection.sendall(bytes([byte]))
        with contextlib.suppress(TimeoutError):
            return connection.recv(65_536)
    return b""


def test_a_head_that_drips_is_refused_and_a_silent_connection_closed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HASTY, str(tmp_path / "data")]
    with served(tmp_path / "data", command) as ready, connected(ready.base_url) as silent:
        with connected(ready.base_url) as dripping:
            received = dripped(dripping, GET + b"a: " + b"x" * 600, 0.1)
        assert b"408 Request Timeout" in received
        assert b'"request_timeout"' in received
        assert silent.recv(1) == b""


def test_a_body_that_drips_is_refused_and_a_slow_one_is_not() -> None:
    with running_service(gateway_seconds=1) as service:
        head = f"POST {V1}/runs HTTP/1.1\r\nHost: localhost\r\nx-api-key: {service.api_key}\r\nConnection: close\r\n"
        body = b'{"message": "say x"}' + b" " * 30_000
        request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode()
        with connected(service.base_url) as connection:
            connection.sendall(request)
            for begin in range(0, len(body), 1_000):  # all of it takes longer than the silence that is allowed
                connection.sendall(body[begin : begin + 1_000])
                time.sleep(0.1)
            assert answer(connection)[0] == 202
        with connected(service.base_url) as connection:
            connection.sendall(request)
            received = dripped(connection, body[:600], 0.05)
        assert b"408 Request Timeout" in received
        assert b'"request_timeout"' in received


@LINUX
def test_a_full_service_closes_who_shows_no_key(tmp_path: Path) -> None:
    """400 silent connections, and a process that may have 300 descriptors: an honest one gets in, another is kept."""
    data = tmp_path / "data"
    serve = [sys.executable, "-m", "agentsvc_nb", "serve", "--data", str(data), "--port", "0", "--model", "scripted"]
    limited = ["sh", "-c", f"ulimit -n 300; exec {shlex.join(serve)}"]
    with served(data, limited) as ready, contextlib.ExitStack() as stack:
        key = {"x-api-key": DataFolder(data).own_key()}
        honest = stack.enter_context(httpx.Client(base_url=ready.base_url + V1, headers=key, timeout=PATIENCE_SECONDS))
        assert honest.get("/tools").status_code == 200
        kept = honest._transport._pool.connections  # type: ignore[attr-defined]
        for _ in range(400):
            stack.enter_context(connected(ready.base_url))
        assert httpx.get(f"{ready.base_url}{V1}/tools", headers=key, timeout=PATIENCE_SECONDS).status_code == 200
        assert len(os.listdir(f"/proc/{ready.pid}/fd")) < 290
        assert honest.get("/tools").status_code == 200
        assert honest._transport._pool.connections == kept  # type: ignore[attr-defined]
    assert (tmp_path / "log").read_text().count("\n") < 10


def test_refusals_without_a_key_are_counted() -> None:
    with running_service() as own, httpx.Client(base_url=own.base_url) as http:
        for path in ("/tools", "/nothing"):
            for _ in range(100):
                refused = http.get(V1 + path)
                assert refused.headers.get("connection", "") == ("close" if refused.status_code == 401 else "")
        for _ in range(100):
            with connected(own.base_url) as connection:
                connection.sendall(b"nonsense\r\n\r\n")
                assert answer(connection)[0] == 400
        lines = (own.data / "serve.log").read_text().splitlines()
    refusals = [line for line in lines if 'message="request"' in line]
    assert 3 <= len(refusals) < 20
    assert all(sum(f"status={status}" in line for line in refusals) >= 1 for status in (400, 401, 404))


def test_a_signed_in_browser_is_known_as_one_with_a_key_is() -> None:
    """Its refusals are logged one by one."""
    with running_service() as own, signed_in(own) as browser:
        for _ in range(3):
            assert browser.post("/app/runs/run_none/cancel").status_code == 400
        log = (own.data / "serve.log").read_text()
    assert log.count("key=session_") == 3


def test_garbage_behind_a_request_keeps_nobody_elses_answer(service: RunningService) -> None:
    """The refusal ended the output, the answer before it could no longer be written, and the connections whose data
    waited behind it for the end of the event loop's turn never got theirs."""
    for _ in range(5):
        with contextlib.ExitStack() as stack:
            both = [[stack.enter_context(connected(service.base_url)) for _ in range(8)] for _ in range(2)]
            for bad, good in zip(*both, strict=True):
                bad.sendall((GET + b"\r\n") * 2 + b"garbage\r\n\r\n")
                good.sendall(GET + b"Connection: close\r\n\r\n")
            assert [answer(good)[0] for good in both[1]] == [200] * 8
