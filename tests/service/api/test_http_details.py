"""What HTTP leaves to a server: odd bodies, names, lengths, encodings and methods (docs/api/conventions.md,
docs/api/files.md)."""

from __future__ import annotations

import json
from typing import Final

import pytest

from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.routes import V1
from tests.service.api.conftest import Wire, code
from tests.service.process.test_stop import connected

BODY: Final = b'{"message": "say x"}'


def listed(wire: Wire, chat: str) -> list[str]:
    return [file["path"] for file in wire("GET", "/files", params={"chat_id": chat}).json()["files"]]


@pytest.mark.rule("A body is UTF-8 JSON, whatever its Content-Type.")
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


@pytest.mark.rule("A body that is not a JSON object is `invalid_json`.")
@pytest.mark.parametrize("body", [BODY.decode().encode("utf-16"), b'{"message": "\xff"}', b"", b"[]", b"{} {}"])
def test_a_body_that_is_not_is_invalid_json(wire: Wire, body: bytes) -> None:
    assert code(wire("POST", "/runs", content=body)) == "invalid_json"


def test_a_body_shorter_than_its_length_is_waited_for_and_starts_nothing(service: RunningService, wire: Wire) -> None:
    chat = wire.new_chat()
    body = json.dumps({"message": "write a.txt x", "chat": chat}).encode()
    head = f"POST {V1}/runs HTTP/1.1\r\nx-api-key: {service.api_key}\r\nContent-Length: 999\r\n\r\n"
    with connected(service.base_url) as connection:
        connection.sendall(head.encode() + body)
    assert wire.finish("say it is free", chat=chat)["status"] == "completed"
    assert listed(wire, chat) == []


@pytest.mark.rule("A malformed run id is `400 invalid_run_id`.")
@pytest.mark.parametrize("text", ["%2E%2E", "%00", "x" * 3_000])
def test_an_id_that_is_none_is_malformed(wire: Wire, text: str) -> None:
    for method, path in (("GET", f"/runs/{text}"), ("GET", f"/runs/{text}/events"), ("POST", f"/runs/{text}/cancel")):
        assert code(wire(method, path)) == "invalid_run_id"


@pytest.mark.rule("File names lose folders, control characters and reversed reading direction.")
@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("тест ünï.txt", "uploads/тест ünï.txt"),
        ("../../etc/passwd", "uploads/passwd"),
        ("..\\..\\boot.ini", "uploads/boot.ini"),
        ("x" * 400 + ".txt", "uploads/" + "x" * 196 + ".txt"),
        ("a\u202egnp.exe", "uploads/agnp.exe"),
    ],
)
def test_a_file_name_is_made_safe(wire: Wire, name: str, path: str) -> None:
    chat = wire.new_chat()
    assert wire("POST", "/files", params={"chat_id": chat}, files={"files": (name, b"x")}).status_code == 200
    assert listed(wire, chat) == [path]
    assert wire("GET", "/files/download", params={"chat_id": chat, "path": path}).content == b"x"
