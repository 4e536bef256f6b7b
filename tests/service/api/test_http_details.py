"""What HTTP leaves to a server: odd bodies, names, lengths, encodings and methods (docs/api/conventions.md,
docs/api/files.md)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

import httpx
import pytest

from agentsvc_nb.wire.routes import V1
from tests.service.api.conftest import Wire, code
from tests.service.api.service_fixture import ServiceFixture, stop
from tests.service.process.test_stop import answer as read_answer
from tests.service.process.test_stop import connected

BODY: Final = b'{"message": "say x"}'


def listed(wire: Wire, chat: str) -> list[str]:
    return [file["path"] for file in wire("GET", "/files", params={"chat_id": chat}).json()["files"]]


def sent(stage: ServiceFixture, *headers: str, body: bytes = BODY, close: bool = True) -> tuple[int, dict[str, Any]]:
    """A start with these headers, byte for byte; its status and JSON."""
    head = [f"POST {V1}/runs HTTP/1.1", "Host: localhost", f"x-api-key: {stage.service.api_key}", *headers]
    with connected(stage.service.base_url) as connection:
        connection.sendall("\r\n".join([*head, *(["Connection: close"] if close else []), "", ""]).encode() + body)
        status, _, document = read_answer(connection)
    return status, document


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"\xef\xbb\xbf" + BODY, {}),
        (BODY, {"Content-Type": "text/plain; charset=latin-1"}),
        (BODY, {"Content-Type": "application/json; charset=utf-16"}),
        (b'{"message": "lost", "message": "say x"}', {}),
        (json.dumps({"message": "say \N{SNOWMAN}"}).encode(), {}),
    ],
    ids=["BOM", "text", "another charset", "a field twice", "escapes"],
)
def test_a_body_is_utf_8_json_whatever_its_content_type(wire: Wire, body: bytes, headers: dict[str, str]) -> None:
    assert wire("POST", "/runs", content=body, headers=headers).status_code == 202


@pytest.mark.parametrize(
    "body", [BODY.decode().encode("utf-16"), b'{"message": "\xff"}', b"", b"null", b"[]", b"{} {}"]
)
def test_a_body_that_is_not_is_invalid_json(wire: Wire, body: bytes) -> None:
    assert code(wire("POST", "/runs", content=body)) == "invalid_json"


def test_a_body_in_chunks_is_one_body(stage: ServiceFixture) -> None:
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (BODY[:7], BODY[7:])) + b"0\r\n\r\n"
    assert sent(stage, "Transfer-Encoding: chunked", body=chunks)[0] == 202


def test_a_length_that_lies_starts_nothing(stage: ServiceFixture) -> None:
    status, document = sent(stage, "Content-Length: 5")
    assert (status, document["error"]["code"]) == (400, "invalid_json")


def test_a_body_shorter_than_its_length_is_waited_for_and_starts_nothing(stage: ServiceFixture) -> None:
    chat = stage.wire.new_chat()
    body = json.dumps({"message": "write a.txt x", "chat": chat}).encode()
    head = f"POST {V1}/runs HTTP/1.1\r\nx-api-key: {stage.service.api_key}\r\nContent-Length: 999\r\n\r\n"
    with connected(stage.service.base_url) as connection:
        connection.sendall(head.encode() + body)
    assert stage.wire.finish("say it is free", chat=chat)["status"] == "completed"
    assert listed(stage.wire, chat) == []


def test_a_length_over_the_limit_is_refused_before_the_body(stage: ServiceFixture) -> None:
    """10 x 100 MB + 1 MiB: at it the body is waited for, over it the answer comes at once."""
    status, document = sent(stage, "Content-Length: 1001048577", "Expect: 100-continue", body=b"")
    assert (status, document["error"]["code"]) == (413, "attachment_too_large")


@pytest.mark.parametrize("change", [str.upper, lambda run_id: run_id.replace("-", "%2D")])
def test_an_id_may_be_written_in_other_ways(wire: Wire, change: Callable[[str], str]) -> None:
    run = wire.finish("say x")
    assert wire("GET", f"/runs/{change(run['run_id'])}").json()["run_id"] == run["run_id"]


@pytest.mark.parametrize("text", ["..", "\0", "é", "\n", " ", "\ud800", "x" * 3_000])
def test_an_id_that_is_none_is_malformed(wire: Wire, text: str) -> None:
    encoded = quote(text.encode(errors="surrogatepass"), safe="")
    for method, path in (("GET", "/runs/{}"), ("GET", "/runs/{}/events"), ("POST", "/runs/{}/cancel")):
        answer = wire(method, path.format(encoded.replace(".", "%2E")))
        assert (answer.status_code, code(answer)) == (400, "invalid_run_id")


@pytest.mark.parametrize("path", ["/runs/a%2Fb", "/tools/", "//tools", "/tools?x#y/", "/%00", "/.."])
def test_a_path_is_taken_as_it_is(wire: Wire, path: str) -> None:
    expected = 200 if "?" in path else 404
    assert wire("GET", path).status_code == expected


def test_bearer_wins_when_both_headers_carry_a_key(stage: ServiceFixture) -> None:
    good, bad = stage.service.api_key, "svc_sk_unknown"
    for bearer, other, status in ((good, bad, 200), (bad, good, 401)):
        headers = {"Authorization": f"Bearer {bearer}", "x-api-key": other}
        assert httpx.get(f"{stage.service.base_url}{V1}/tools", headers=headers).status_code == status


def test_head_of_a_stream_does_not_wait_for_the_run(stage: ServiceFixture) -> None:
    run = stage.wire.start("wait 600")
    with httpx.Client(base_url=stage.service.base_url, headers={"x-api-key": stage.service.api_key}, timeout=30) as one:
        head = one.head(f"{V1}/runs/{run['run_id']}/events", headers={"Accept": "text/event-stream"})
        assert head.headers["content-type"].startswith("text/event-stream")
        assert one.get(f"{V1}/runs/{run['run_id']}").json()["status"] in ("queued", "running")
    stop(stage.wire, run)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("тест ünï.txt", "uploads/тест ünï.txt"),
        ("../../etc/passwd", "uploads/passwd"),
        ("..\\..\\boot.ini", "uploads/boot.ini"),
        ("..", "uploads/file"),
        (" ", "uploads/file"),
        ("x" * 400 + ".txt", "uploads/" + "x" * 196 + ".txt"),
        (".hidden", "uploads/.hidden"),
        ("a\u202egnp.exe", "uploads/agnp.exe"),
    ],
)
def test_a_file_name_is_made_safe(wire: Wire, name: str, path: str) -> None:
    chat = wire.new_chat()
    assert wire("POST", "/files", params={"chat_id": chat}, files={"files": (name, b"x")}).status_code == 200
    assert listed(wire, chat) == [path]
    assert wire("GET", "/files/download", params={"chat_id": chat, "path": path}).content == b"x"


def test_a_nul_in_a_name_is_dropped(stage: ServiceFixture) -> None:
    chat = stage.wire.new_chat()
    part = b'--b\r\nContent-Disposition: form-data; name="files"; filename="a\0b.txt"\r\n\r\nx\r\n--b--\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    answer = stage.wire("POST", "/files", params={"chat_id": chat}, content=part, headers=headers)
    assert (answer.status_code, listed(stage.wire, chat)) == (200, ["uploads/ab.txt"])


@pytest.mark.parametrize("path", ["a\0b", "../../etc/passwd", "/etc/passwd", "x" * 9_000, "", "%"])
def test_a_path_that_no_file_has_is_not_found(wire: Wire, path: str) -> None:
    answer = wire("GET", "/files/download", params={"chat_id": wire.new_chat(), "path": path})
    assert code(answer) == ("file_not_found" if path else "invalid_query")


def test_an_empty_file_is_a_file(wire: Wire) -> None:
    chat = wire.new_chat()
    staged = wire("POST", "/files", params={"chat_id": chat}, files={"files": ("empty.txt", b"")}).json()["files"][0]
    assert (staged["size_bytes"], staged["media_type"]) == (0, "text/plain")
    look = {"chat_id": chat, "path": "uploads/empty.txt"}
    assert wire("GET", "/files/download", params=look).content == b""
    assert code(wire("GET", "/files/download", params=look, headers={"Range": "bytes=0-"})) == "range_not_satisfiable"
    run = wire.finish("say x", file_ids=[staged["id"]], chat=chat)
    assert (run["status"], listed(wire, chat)) == ("completed", ["uploads/empty.txt"])


def test_ranges_of_a_download(wire: Wire) -> None:
    chat = wire.finish("write a.txt 0123456789")["chat"]
    for asked, content in (("0-0", b"0"), ("8-99", b"89"), ("-3", b"789"), ("-99", b"0123456789")):
        answer = wire(
            "GET",
            "/files/download",
            params={"chat_id": chat, "path": "a.txt"},
            headers={"Range": f"bytes={asked}"},
        )
        assert (answer.status_code, answer.content) == (206, content)
        assert answer.headers["content-range"].endswith("/10")
