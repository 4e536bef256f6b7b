"""A body that is too large, or has too many values, is refused before it is parsed; a start's may be longer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.limits import MIB
from agentsvc_nb.wire.routes import V1
from tests.service.api.conftest import Wire, code
from tests.service.process.test_stop import connected

BOUNDED = (
    ("POST", "/tools/ask_stefanbrain/invoke"),
    ("POST", "/jobs"),
    ("POST", "/projects"),
    ("POST", f"/runs/{'0' * 8}-0000-4000-8000-{'0' * 12}/calls/call_x/approval"),
    ("PATCH", "/files?chat_id=chat_x&path=x"),
)
EVERY = [("POST", "/runs"), *BOUNDED]
FIELDS = {"tool": "echo_job", "input": {"query": "x", "message": "say x", "files": {}}}
UNUSABLE = {
    "lists": (b'{"message": "say x", "more": [' + b"[]," * 150_000 + b"1]}", "100,000 values"),
    "deep": (b'{"message": "say x", "a": ' + b"[" * 1_000 + b"1" + b"]" * 1_000 + b"}", "100 levels"),
}


@pytest.mark.parametrize(("method", "path"), BOUNDED)
def test_a_body_holds_a_megabyte_and_ten_thousand_values(wire: Wire, method: str, path: str) -> None:
    text = json.dumps(FIELDS).encode()
    for size, refused in ((900_000, False), (1_000_001, True)):
        answer = wire(method, path, content=text + b" " * (size - len(text)))
        is_too_large = answer.is_error and (answer.status_code, code(answer)) == (413, "attachment_too_large")
        assert is_too_large is refused, answer.text
    for values, refused in ((9_000, False), (10_001, True)):
        for padding in (0, 64_000):  # read at once, read aside
            body = json.dumps({**FIELDS, "more": [1] * values}, separators=(",", ":")).encode() + b" " * padding
            answer = wire(method, path, content=body)
            is_too_much = answer.is_error and "10,000 values" in answer.json()["error"]["message"]
            assert is_too_much is refused, answer.text


@pytest.mark.rule("The JSON of a start must not exceed 16 MiB.")
@pytest.mark.parametrize(("method", "path"), EVERY)
def test_a_body_is_refused_by_its_length_or_where_it_is_too_long(
    service: RunningService, method: str, path: str
) -> None:
    size = 17 * MIB if path == "/runs" else MIB

    def chunks() -> Iterator[bytes]:
        for _ in range(size // 65_536):
            yield b"10000\r\n" + b" " * 65_536 + b"\r\n"

    assert _status(service, method, path, f"Content-Length: {size}", lambda: iter([])) == 413
    assert _status(service, method, path, "Transfer-Encoding: chunked", chunks) == 413


def _status(service: RunningService, method: str, path: str, header: str, body: Callable[[], Iterator[bytes]]) -> int:
    """The status that is answered to a body that never ends."""
    head = f"{method} {V1}{path} HTTP/1.1\r\nHost: localhost\r\nx-api-key: {service.api_key}\r\n{header}\r\n\r\n"
    with connected(service.base_url) as connection:
        connection.sendall(head.encode())
        for chunk in body():
            connection.sendall(chunk)
        return int(connection.recv(65_536).split()[1])


@pytest.mark.parametrize(("body", "why"), UNUSABLE.values(), ids=UNUSABLE)
def test_a_body_of_too_many_values_or_levels_is_none(wire: Wire, body: bytes, why: str) -> None:
    form = wire("POST", "/runs", data={"payload": body.decode()}, files={"files": ("a.txt", b"x")})
    for answer in (wire("POST", "/runs", content=body), form):
        assert (answer.status_code, code(answer)) == (400, "invalid_json")
        assert why in answer.json()["error"]["message"]


@pytest.mark.parametrize("path", ["/runs", "/files"])
def test_a_form_of_very_many_fields_is_refused(wire: Wire, path: str) -> None:
    """Six callers with 90,000 each held everybody up for two seconds."""
    field = b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n'
    payload = b'--b\r\nContent-Disposition: form-data; name="payload"\r\n\r\n{"message": "say x"}\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    for fields, refused in ((99, False), (100, True)):
        answer = wire("POST", path, content=field * fields + payload + b"--b--\r\n", headers=headers)
        assert ("100 parts" in answer.text) is refused, answer.text
