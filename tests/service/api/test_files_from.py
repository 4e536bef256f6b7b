"""A start whose new chat begins with the files of another (docs/api/runs.md "Start")."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.api.conftest import Wire, code
from tests.support.waiting import until


def _paths(wire: Wire, chat: str) -> list[str]:
    return [file["path"] for file in wire("GET", "/files", params={"chat_id": chat}).json()["files"]]


def _bytes(wire: Wire, chat: str, path: str) -> bytes:
    return wire("GET", "/files/download", params={"chat_id": chat, "path": path}).content


def test_the_new_chat_has_the_files_and_goes_its_own_way(wire: Wire) -> None:
    chat: str = wire.finish("write out/plan.md Autumn plan\nwrite logs/chat-summary.md so far")["chat"]
    wire("POST", "/files", params={"chat_id": chat}, files={"files": ("a.txt", b"alpha words")})
    copy: str = wire.finish("write out/plan.md Winter plan\nwrite out/new.md x", files_from=chat)["chat"]
    assert copy != chat
    assert _paths(wire, copy) == ["out/new.md", "out/plan.md", "uploads/a.txt"]
    assert _bytes(wire, copy, "uploads/a.txt") == b"alpha words"
    assert (_bytes(wire, chat, "out/plan.md"), _bytes(wire, copy, "out/plan.md")) == (b"Autumn plan", b"Winter plan")
    found = {"chat_id": copy, "q": "alpha"}
    until(
        lambda: (
            [hit["path"] for hit in wire("GET", "/files/search", params=found).json()["results"]]
            == _paths(wire, copy)[2:]
        )
    )


def test_a_start_that_is_sent_again_copies_nothing_again(wire: Wire) -> None:
    chat: str = wire.finish("write a.md x")["chat"]
    sent = {"json": {"message": "say x", "files_from": chat, "sync": True}, "headers": {"Idempotency-Key": "once"}}
    first, second = (wire("POST", "/runs", **sent).json() for _ in range(2))
    assert first["run_id"] == second["run_id"]
    assert _paths(wire, first["chat"]) == ["a.md"]


@pytest.mark.parametrize(
    ("fields", "status", "why"),
    [
        ({"files_from": "nonsense"}, 400, "invalid_chat"),
        ({"files_from": 5}, 400, "invalid_chat"),
        ({"files_from": "chat_of_nobody"}, 404, "chat_not_found"),
        ({"files_from": "chat_of_nobody", "session": "mine"}, 400, "invalid_chat"),
    ],
)
def test_what_is_wrong_starts_nothing(wire: Wire, fields: dict[str, Any], status: int, why: str) -> None:
    answer = wire("POST", "/runs", json={"message": "say x", **fields})
    assert (answer.status_code, code(answer)) == (status, why)


def test_a_chat_with_many_files_is_not_copied(wire: Wire) -> None:
    chat: str = wire.finish("\n".join(f"write {number}.txt x" for number in range(201)))["chat"]
    answer = wire("POST", "/runs", json={"message": "say x", "files_from": chat})
    assert (answer.status_code, code(answer)) == (400, "too_many_attachments")
    assert "201 files" in answer.json()["error"]["message"]


def test_files_are_put_into_the_chat_of_a_session(wire: Wire) -> None:
    sent = [("files", (f"{number}.txt", b"x")) for number in range(10)]
    (first, *_) = wire("POST", "/files", params={"session": "brief"}, files=sent).json()["files"]
    again = wire("POST", "/files", params={"session": "brief"}, files={"files": ("more.txt", b"y")}).json()["files"]
    assert again[0]["chat"] == first["chat"]
    run = wire.finish("say x", session="brief")
    assert run["chat"] == first["chat"]
    assert len(_paths(wire, run["chat"])) == 11
    staged = wire("POST", "/files", files={"files": ("a.txt", b"y")}).json()["files"]
    assert staged[0]["chat"] is None


@pytest.mark.parametrize(
    ("params", "status", "why"),
    [
        ({"session": ""}, 400, "invalid_json"),
        ({"session": "x" * 201}, 400, "invalid_json"),
        ({"session": "x", "project": "nonsense"}, 400, "invalid_project"),
        ({"session": "x", "project": "proj_of_nobody"}, 404, "project_not_found"),
    ],
)
def test_an_upload_into_no_session_is_refused(wire: Wire, params: dict[str, str], status: int, why: str) -> None:
    answer = wire("POST", "/files", params=params, files={"files": ("a.txt", b"y")})
    assert (answer.status_code, code(answer)) == (status, why)
