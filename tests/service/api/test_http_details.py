"""What HTTP leaves to a server: odd bodies, names, lengths, encodings and methods (docs/api/conventions.md,
docs/api/files.md)."""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import quote

import httpx
import pytest

from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.routes import V1
from tests.service.api.conftest import Wire, code
from tests.service.process.test_stop import answer as read_answer
from tests.service.process.test_stop import connected

BODY: Final = b'{"message": "say x"}'


def listed(wire: Wire, chat: str) -> list[str]:
    return [file["path"] for file in wire("GET", "/files", params={"chat_id": chat}).json()["files"]]


def sent(service: RunningService, *headers: str, body: bytes = BODY) -> tuple[int, dict[str, Any]]:
    """A start with these headers, byte for byte; its status and JSON."""
    head = [f"POST {V1}/runs HTTP/1.1", "Host: localhost", f"x-api-key: {service.api_key}", *headers]
    with connected(service.base_url) as connection:
        connection.sendall("\r\n".join([*head, "Connection: close", "", ""]).encode() + body)
        status, _, document = read_answer(connection)
    return status, document


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"\xef\xbb\xbf" + BODY, {}),
        (BODY, {"Content-Type": "application/json; charset=utf-16"}),
        (b'{"message": "lost", "message": "say x"}', {}),
    ],
    ids=["BOM", "another charset", "a field twice"],
)
def test_a_body_is_utf_8_json_whatever_its_content_type(wire: Wire, body: bytes, headers: dict[str, str]) -> None:
    assert wire("POST", "/runs", content=body, headers=headers).status_code == 202


@pytest.mark.parametrize("body", [BODY.decode().encode("utf-16"), b'{"message": "\xff"}', b"", b"[]", b"{} {}"])
def test_a_body_that_is_not_is_invalid_json(wire: Wire, body: bytes) -> None:
    assert code(wire("POST", "/runs", content=body)) == "invalid_json"


def test_a_length_that_lies_starts_nothing(service: RunningService) -> None:
    status, document = sent(service, "Content-Length: 5")
    assert (status, document["error"]["code"]) == (400, "invalid_json")


def test_a_body_shorter_than_its_length_is_waited_for_and_starts_nothing(service: RunningService, wire: Wire) -> None:
    chat = wire.new_chat()
    body = json.dumps({"message": "write a.txt x", "chat": chat}).encode()
    head = f"POST {V1}/runs HTTP/1.1\r\nx-api-key: {service.api_key}\r\nContent-Length: 999\r\n\r\n"
    with connected(service.base_url) as connection:
        connection.sendall(head.encode() + body)
    assert wire.finish("say it is free", chat=chat)["status"] == "completed"
    assert listed(wire, chat) == []


def test_a_length_over_the_limit_is_refused_before_the_body(service: RunningService) -> None:
    """10 x 100 MB + 1 MiB: at it the body is waited for, over it the answer comes at once."""
    status, document = sent(service, "Content-Length: 1001048577", "Expect: 100-continue", body=b"")
    assert (status, document["error"]["code"]) == (413, "attachment_too_large")


@pytest.mark.parametrize("text", ["..", "\0", "é", "\ud800", "x" * 3_000])
def test_an_id_that_is_none_is_malformed(wire: Wire, text: str) -> None:
    encoded = quote(text.encode(errors="surrogatepass"), safe="")
    for method, path in (("GET", "/runs/{}"), ("GET", "/runs/{}/events"), ("POST", "/runs/{}/cancel")):
        answer = wire(method, path.format(encoded.replace(".", "%2E")))
        assert (answer.status_code, code(answer)) == (400, "invalid_run_id")


def test_head_of_a_stream_does_not_wait_for_the_run(service: RunningService, wire: Wire) -> None:
    run = wire.start("wait 600")
    with httpx.Client(base_url=service.base_url, headers={"x-api-key": service.api_key}, timeout=30) as one:
        head = one.head(f"{V1}/runs/{run['run_id']}/events", headers={"Accept": "text/event-stream"})
        assert head.headers["content-type"].startswith("text/event-stream")
        for written in (run["run_id"].upper(), run["run_id"].replace("-", "%2D")):
            assert one.get(f"{V1}/runs/{written}").json()["status"] in ("queued", "running")
    wire("POST", f"/runs/{run['run_id']}/cancel")


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("тест ünï.txt", "uploads/тест ünï.txt"),
        ("../../etc/passwd", "uploads/passwd"),
        ("..\\..\\boot.ini", "uploads/boot.ini"),
        ("..", "uploads/file"),
        ("x" * 400 + ".txt", "uploads/" + "x" * 196 + ".txt"),
        ("a\u202egnp.exe", "uploads/agnp.exe"),
    ],
)
def test_a_file_name_is_made_safe(wire: Wire, name: str, path: str) -> None:
    chat = wire.new_chat()
    assert wire("POST", "/files", params={"chat_id": chat}, files={"files": (name, b"x")}).status_code == 200
    assert listed(wire, chat) == [path]
    assert wire("GET", "/files/download", params={"chat_id": chat, "path": path}).content == b"x"


def test_an_empty_file_is_a_file(wire: Wire) -> None:
    chat = wire.new_chat()
    staged = wire("POST", "/files", params={"chat_id": chat}, files={"files": ("empty.txt", b"")}).json()["files"][0]
    assert (staged["size_bytes"], staged["media_type"]) == (0, "text/plain")
    look = {"chat_id": chat, "path": "uploads/empty.txt"}
    assert wire("GET", "/files/download", params=look).content == b""
    assert code(wire("GET", "/files/download", params=look, headers={"Range": "bytes=0-"})) == "range_not_satisfiable"
    run = wire.finish("say x", file_ids=[staged["id"]], chat=chat)
    assert (run["status"], listed(wire, chat)) == ("completed", ["uploads/empty.txt"])
