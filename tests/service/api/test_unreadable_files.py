"""A file that can't be read says why, wherever it is listed (docs/api/files.md "What is read")."""

from __future__ import annotations

from typing import Any

import pytest

from agentsvc_nb.testing import RunningService
from tests.reports.corpus import CASES
from tests.service.api.conftest import Wire, page, signed_in
from tests.support.waiting import until

WORDS = {
    "locked.pdf": "password",
    "password.docx": "password",
    "scan.pdf": "2 pages",
    "login.pdf": "HTML",
    "cut.docx": "damaged",
    "empty.pdf": "empty",
    "hyphen.docx": None,
}
"""A word of each file's reason."""
FILES = {case.name: case.build() for case in CASES if case.name in WORDS}


@pytest.fixture
def chat(wire: Wire) -> str:
    """A chat with the files, all of them read."""
    chat = wire.new_chat()
    parts = [("files", (name, data)) for name, data in FILES.items()]
    assert wire("POST", "/files", params={"chat_id": chat}, files=parts).status_code == 200
    until(lambda: found(wire, chat, "percent "))
    until(lambda: sum(bool(file["unreadable"]) for file in listed(wire, chat)), lambda count: count == len(FILES) - 1)
    return chat


def listed(wire: Wire, chat: str) -> list[dict[str, Any]]:
    files: list[dict[str, Any]] = wire("GET", "/files", params={"chat_id": chat}).json()["files"]
    return files


def found(wire: Wire, chat: str, q: str) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = wire("GET", "/files/search", params={"chat_id": chat, "q": q}).json()["results"]
    return results


def test_a_file_that_cannot_be_read_says_why_wherever_it_is_listed(
    wire: Wire, chat: str, service: RunningService
) -> None:
    reasons = {file["file_name"]: file["unreadable"] for file in listed(wire, chat)}
    assert reasons.keys() == WORDS.keys()
    for name, word in WORDS.items():
        assert (word in reasons[name]) if word else reasons[name] is None, name
    [file] = found(wire, chat, "locked")
    assert (file["match"], file["unreadable"]) == ("name", reasons["locked.pdf"])
    with signed_in(service) as browser:
        shown = page(browser, f"/app/chats/{chat}")
        assert all(reason in shown for reason in reasons.values() if reason)
        assert reasons["scan.pdf"] in page(browser, f"/app/chats/{chat}/text?path=uploads/scan.pdf")
    run = wire.finish('call read_file {"path": "uploads/locked.pdf"}', chat=chat)
    [result] = [event["payload"] for event in wire.events(run["run_id"]) if event["type"] == "tool.result"]
    assert reasons["locked.pdf"] in result["content"][0]["text"]
    parts = {"files": ("cut.docx", FILES["hyphen.docx"])}
    assert wire("POST", "/files", params={"chat_id": chat}, files=parts).status_code == 200
    until(lambda: len(found(wire, chat, "percent ")), lambda count: count == 2)
    assert [file["unreadable"] for file in listed(wire, chat) if file["file_name"] == "cut.docx"] == [None]
