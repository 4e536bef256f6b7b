"""What HTTP leaves to a server: odd bodies, names, lengths, encodings and methods (docs/api/conventions.md,
docs/api/files.md)."""

from __future__ import annotations

import json
from typing import Final
from urllib.parse import quote

import pytest

from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.routes import V1
from tests.service.api.conftest import Wire, code
from tests.service.process.test_stop import connected

BODY: Final = b'{"message": "say x"}'


def listed(wire: Wire, chat: str) -> list[str]:
    return [file["path"] for file in wire("GET", "/files", params={"chat_id": chat}).json()["files"]]


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


def test_a_body_shorter_than_its_length_is_waited_for_and_starts_nothing(service: RunningService, wire: Wire) -> None:
    chat = wire.new_chat()
    body = json.dumps({"message": "write a.txt x", "chat": chat}).encode()
    head = f"POST {V1}/runs HTTP/1.1\r\nx-api-key: {service.api_key}\r\nContent-Length: 999\r\n\r\n"
    with connected(service.base_url) as connection:
        connection.sendall(head.encode() + body)
    assert wire.finish("say it is free", chat=chat)["status"] == "completed"
    assert listed(wire, chat) == []


@pytest.mark.parametrize("text", ["..", "\0", "é", "\ud800", "x" * 3_000])
def test_an_id_that_is_none_is_malformed(wire: Wire, text: str) -> None:
    encoded = quote(text.encode(errors="surrogatepass"), safe="")
    for method, path in (("GET", "/runs/{}"), ("GET", "/runs/{}/events"), ("POST", "/runs/{}/cancel")):
        answer = wire(method, path.format(encoded.replace(".", "%2E")))
        assert (answer.status_code, code(answer)) == (400, "invalid_run_id")


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
    wire("POST", "/files", params={"chat_id": chat}, files={"files": ("empty.txt", b"")})
    look = {"chat_id": chat, "path": "uploads/empty.txt"}
    assert wire("GET", "/files/download", params=look).content == b""
    assert code(wire("GET", "/files/download", params=look, headers={"Range": "bytes=0-"})) == "range_not_satisfiable"
