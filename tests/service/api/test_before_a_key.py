"""Bounds of heads, slow bodies and the open requests of an account (docs/api/conventions.md "Before a key is seen")."""

from __future__ import annotations

import contextlib
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.requests import Request

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.folder import Ready
from agentsvc_nb.service.http import access
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.limits import HEAD_BYTES, HEADER_BYTES
from agentsvc_nb.wire.routes import V1
from tests.service.api.conftest import Wire
from tests.service.api.signing import signed_in
from tests.service.process.test_stop import answer, connected
from tests.support.waiting import until

GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


def sent(service: RunningService, *parts: bytes) -> tuple[int, str]:
    """The status and code of the answer, or "" for a right request."""
    with connected(service.base_url) as connection:
        connection.sendall(b"".join(parts))
        status, headers, body = answer(connection)
    assert headers["x-request-id"].startswith("req_")
    error = body.get("error")
    return status, error["code"] if isinstance(error, dict) else ""


@pytest.mark.parametrize("size", [1, 1_000])
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


def test_a_body_in_tiny_chunks_is_fine(service: RunningService, wire: Wire) -> None:
    head = f"POST {V1}/runs HTTP/1.1\r\nHost: localhost\r\nx-api-key: {service.api_key}\r\nConnection: close\r\n"
    chunks = b'13\r\n{"message": "say x"\r\n1\r\n}\r\n' + b"1\r\n \r\n" * 20_000 + b"0\r\n\r\n"
    with connected(service.base_url) as connection:
        connection.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
        status, _, run = answer(connection)
    assert status == 202
    assert until(lambda: wire("GET", f"/runs/{run['run_id']}").json()["output"]) == "x"


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


def test_an_account_leaves_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "ACCOUNT_REQUESTS_MAX", 2)
    open_requests: Counter[str] = Counter()

    def open_one(account: str) -> None:
        scope = {"type": "http", "state": {"open_requests": open_requests}}
        access.authenticated(Request(scope), access.Credential("key", "x"), account, "key_x")

    open_one("a")
    open_one("a")
    with pytest.raises(ApiError, match="requests of this account are open"):
        open_one("a")
    open_one("b")
    open_requests["a"] -= 1
    open_one("a")


def test_a_body_that_stands_still_is_refused() -> None:
    with running_service(gateway_seconds=1) as service, connected(service.base_url) as connection:
        head = f"POST {V1}/runs HTTP/1.1\r\nHost: localhost\r\nx-api-key: {service.api_key}\r\nConnection: close\r\n"
        connection.sendall(f"{head}Content-Length: 30000\r\n\r\n".encode() + b'{"message":')
        status, _, body = answer(connection)
    assert status == 408
    assert "'request_timeout'" in str(body)


def test_refusals_without_a_key_are_counted_and_those_of_a_browser_logged() -> None:
    with running_service() as own, signed_in(own) as browser, httpx.Client(base_url=own.base_url) as http:
        for path in ("/tools", "/nothing"):
            for _ in range(100):
                assert http.get(V1 + path).status_code in (401, 404)
        for _ in range(3):
            assert browser.post("/app/runs/run_none/cancel").status_code == 400
        log = until((own.data / "serve.log").read_text, lambda text: text.count("key=session_") == 3)
    refusals = [line for line in log.splitlines() if 'message="request"' in line and "key=session_" not in line]
    assert 2 <= len(refusals) < 20
    assert all(any(f"status={status}" in line for line in refusals) for status in (401, 404))
