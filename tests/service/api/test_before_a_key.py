"""Bounds of heads, slow bodies and the open requests of an account (docs/api/conventions.md "Before a key is seen")."""

from __future__ import annotations

from collections import Counter

import pytest
from starlette.requests import Request

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import access
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.limits import HEAD_BYTES, HEADER_BYTES
from agentsvc_nb.wire.routes import V1
from tests.service.api.service_fixture import HURRIED, ServiceFixture
from tests.service.process.test_stop import answer, connected

GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


def sent(service: RunningService, *parts: bytes) -> tuple[int, str]:
    """The status and code of the answer, or "" for a right request."""
    with connected(service.base_url) as connection:
        connection.sendall(b"".join(parts))
        status, headers, body = answer(connection)
    assert headers["x-request-id"].startswith("req_")
    error = body.get("error")
    return status, error["code"] if isinstance(error, dict) else ""


@pytest.mark.parametrize("size", [1_000])
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


def test_an_account_leaves_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "ACCOUNT_REQUESTS_MAX", 2)
    open_requests: Counter[str] = Counter()

    def open_one(account: str) -> None:
        scope = {"type": "http", "state": {"open_requests": open_requests}}
        access.register_request(Request(scope), access.Credential("key", "x"), account, "key_x")

    open_one("a")
    open_one("a")
    with pytest.raises(ApiError, match="open"):
        open_one("a")
    open_one("b")
    open_requests["a"] -= 1
    open_one("a")


def test_a_body_that_stands_still_is_refused(stage: ServiceFixture) -> None:
    service = stage.other(**HURRIED)
    with connected(service.base_url) as connection:
        head = f"POST {V1}/runs HTTP/1.1\r\nHost: localhost\r\nx-api-key: {service.api_key}\r\nConnection: close\r\n"
        connection.sendall(f"{head}Content-Length: 30000\r\n\r\n".encode() + b'{"message":')
        status, _, body = answer(connection)
    assert status == 408
    assert "'request_timeout'" in str(body)
