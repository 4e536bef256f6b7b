"""A body that is too large, or has too many values, is refused before it is parsed; a start's may be longer."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.limits import MB, MIB
from agentsvc_nb.wire.routes import V1
from tests.bench.process import peak_mb, resident_mb
from tests.service.api.conftest import Wire, code
from tests.support.contents import incoming

TOOLS = ("/tools/web_search/invoke", "/tools/ask_stefanbrain/invoke", "/tools/echo_job/invoke", "/jobs")
OTHERS = (
    ("POST", "/feedback"),
    ("POST", "/projects"),
    ("PUT", "/landing-pages/page_x/labels"),
    ("POST", f"/runs/{'0' * 8}-0000-4000-8000-{'0' * 12}/calls/call_x/approval"),
    ("PATCH", "/files?chat_id=chat_x&path=x"),
)
BOUNDED = [*(("POST", path) for path in TOOLS), *OTHERS]
EVERY = [("POST", "/runs"), *BOUNDED]
BRACKETS = b"[" * 500_000
LISTS = b'{"message": "say x", "more": [' + b"[]," * 150_000 + b"1]}"
FIELDS = b'{"message": "say x", "more": {' + b'"":0,' * 150_000 + b'"":0}}'
TOO_MUCH = {"[": (BRACKETS, "100,000 values"), "[]": (LISTS, "100,000 values"), "{}": (FIELDS, "100,000 values")}
NESTED = {"deep": (b'{"message": "say x", "a": ' + b"[" * 1_000 + b"1" + b"]" * 1_000 + b"}", "100 levels")}
UNUSABLE = pytest.mark.parametrize(("body", "why"), {**TOO_MUCH, **NESTED}.values(), ids=[*TOO_MUCH, *NESTED])


@pytest.mark.parametrize(("method", "path"), BOUNDED)
def test_a_body_holds_a_megabyte(wire: Wire, method: str, path: str) -> None:
    body = {"tool": "echo_job", "input": {"query": "x", "message": "say x", "files": {}}}
    for size, refused in ((900_000, False), (1_000_001, True)):
        answer = wire(method, path, content=_padded(body, size))
        is_too_large = answer.is_error and (answer.status_code, code(answer)) == (413, "attachment_too_large")
        assert is_too_large is refused, answer.text


def _padded(body: dict[str, Any], size: int) -> bytes:
    text = json.dumps(body).encode()
    return text + b" " * (size - len(text))


@pytest.mark.parametrize(("method", "path"), EVERY)
def test_a_length_is_enough_to_be_refused(service: RunningService, method: str, path: str) -> None:
    length = 17 * MIB if path == "/runs" else MIB
    assert _status(service, method, path, f"Content-Length: {length}", lambda: iter([])) == 413


@pytest.mark.parametrize(("method", "path"), EVERY)
def test_a_body_without_a_length_is_refused_where_it_is_too_long(
    service: RunningService, method: str, path: str
) -> None:
    size = 17 * MIB if path == "/runs" else MIB

    def chunks() -> Iterator[bytes]:
        for _ in range(size // 65_536):
            yield b"10000\r\n" + b" " * 65_536 + b"\r\n"

    assert _status(service, method, path, "Transfer-Encoding: chunked", chunks) == 413


def _status(service: RunningService, method: str, path: str, header: str, body: Callable[[], Iterator[bytes]]) -> int:
    """The status that is answered to a body that never ends."""
    host, port = service.base_url.removeprefix("http://").split(":")
    head = f"{method} {V1}{path} HTTP/1.1\r\nHost: localhost\r\nx-api-key: {service.api_key}\r\n{header}\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(head.encode())
        for chunk in body():
            connection.sendall(chunk)
        return int(connection.recv(65_536).split()[1])


@pytest.mark.parametrize(("method", "path"), EVERY)
@UNUSABLE
def test_a_body_of_too_many_values_or_levels_is_none(wire: Wire, method: str, path: str, body: bytes, why: str) -> None:
    answer = wire(method, path, content=body)
    assert (answer.status_code, code(answer)) == (400, "invalid_json")
    expected = why if path == "/runs" else why.replace("100,000", "10,000")
    assert f" {expected}" in answer.json()["error"]["message"]


@UNUSABLE
def test_a_payload_is_no_exception(wire: Wire, body: bytes, why: str) -> None:
    answer = wire("POST", "/runs", data={"payload": body.decode()}, files={"files": ("a.txt", b"x")})
    assert (answer.status_code, code(answer)) == (400, "invalid_json")
    assert why in answer.json()["error"]["message"]


def test_brackets_and_commas_of_a_message_are_text(wire: Wire) -> None:
    assert wire.finish("# " + '[{"a, b"}] \\ "' * 60_000 + "\nsay x")["output"].endswith("\nx")


def test_brackets_without_end_are_refused(wire: Wire) -> None:
    """Sixteen megabytes of them stopped the service for 26 seconds."""
    lists = b"[]," * 5_000_000
    answer = wire("POST", "/tools/web_search/invoke", content=b'{"input": {"a": [' + lists + b"1]}}")
    assert (answer.status_code, code(answer)) == (413, "attachment_too_large")
    answer = wire("POST", "/runs", content=b'{"message": "say x", "more": [' + lists + b"1]}")
    assert (answer.status_code, code(answer)) == (400, "invalid_json")
    assert wire("GET", "/tools").status_code == 200


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not say how much memory a process has")
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


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not say how much memory a process has")
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


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not say how much memory a process has")
def test_a_script_of_a_million_lines_is_no_list_of_them() -> None:
    """Three took 1,000 MB, and the collection of their lines as garbage held everybody up for seven seconds."""
    with running_service("scripted") as service:
        caller = AgentService(service.api_key, base_url=service.base_url)
        caller.runs.wait(caller.runs.start("say x"))
        before = resident_mb(service.pid)
        run = caller.runs.wait(caller.runs.start("wait 0\n" * 1_000_000 + "say x"))
        assert run.output == "x"
        assert peak_mb(service.pid) - before < 60


@pytest.mark.parametrize("padding", [0, 64_000], ids=["read at once", "read aside"])
@pytest.mark.parametrize(("method", "path"), BOUNDED)
def test_what_is_checked_value_by_value_holds_ten_thousand(wire: Wire, method: str, path: str, padding: int) -> None:
    """Eight callers with 99,000 values each, within a megabyte, held everybody up for two seconds."""
    fields = {"tool": "echo_job", "input": {"files": {}, "query": "x", "message": "say x"}}
    for values, refused in ((9_000, False), (10_001, True)):
        body = json.dumps({**fields, "more": [1] * values}, separators=(",", ":")).encode() + b" " * padding
        answer = wire(method, path, content=body)
        is_too_much = answer.is_error and "more than 10,000 values" in answer.json()["error"]["message"]
        assert is_too_much is refused, answer.text


@pytest.mark.parametrize("path", ["/runs", "/files"])
def test_a_form_of_very_many_fields_is_refused(wire: Wire, path: str) -> None:
    """Six callers with 90,000 each held everybody up for two seconds."""
    field = b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n'
    payload = b'--b\r\nContent-Disposition: form-data; name="payload"\r\n\r\n{"message": "say x"}\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    for fields, refused in ((99, False), (100, True), (20_000, True)):
        answer = wire("POST", path, content=field * fields + payload + b"--b--\r\n", headers=headers)
        assert ("more than 100 parts" in answer.text) is refused, answer.text


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not say how much memory a process has")
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
