"""A file that can't be read says why, wherever it is listed (docs/api/files.md "What is read")."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.notebook.display.file_table import files_bundle
from agentsvc_nb.settings import Settings
from agentsvc_nb.testing import RunningService
from agentsvc_nb.tools import catalog
from agentsvc_nb.tools.port import WorkFailure
from tests.reports.corpus import CASES
from tests.service.api.conftest import Wire
from tests.service.api.signing import page, signed_in
from tests.support.waiting import until
from tests.unit.service.agents_harness import MemoryToolContext, MemoryWorkspace

REASONS = {
    "locked.pdf": "It needs a password. Upload a copy without one.",
    "password.docx": "It needs a password. Upload a copy without one.",
    "scan.pdf": "It is a scan without text: its 2 pages are pictures.",
    "login.pdf": "It is an HTML page, though its name ends with .pdf.",
    "cut.docx": "It is damaged or cut off. Upload it again.",
    "empty.pdf": "It is empty.",
    "hyphen.docx": None,
}
FILES = {case.name: case.build() for case in CASES if case.name in REASONS}


@pytest.fixture
def browser(service: RunningService) -> Iterator[httpx.Client]:
    with signed_in(service) as found:
        yield found


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


def test_each_file_of_the_listing_says_why_it_cannot_be_read(wire: Wire, chat: str) -> None:
    assert {file["file_name"]: file["unreadable"] for file in listed(wire, chat)} == REASONS


def test_a_search_result_says_it_too(wire: Wire, chat: str) -> None:
    [file] = found(wire, chat, "locked")
    assert (file["match"], file["unreadable"]) == ("name", REASONS["locked.pdf"])
    [file] = found(wire, chat, '"log in"')
    assert (file["match"], file["unreadable"]) == ("content", REASONS["login.pdf"])


def test_the_web_pages_of_the_chat_and_of_the_file_say_it(wire: Wire, chat: str, browser: httpx.Client) -> None:
    shown = page(browser, f"/app/chats/{chat}")
    assert all(reason in shown for reason in REASONS.values() if reason)
    assert str(REASONS["scan.pdf"]) in page(browser, f"/app/chats/{chat}/text?path=uploads/scan.pdf")


def test_a_file_with_new_content_has_no_old_reason(wire: Wire, chat: str) -> None:
    parts = {"files": ("cut.docx", FILES["hyphen.docx"])}
    assert wire("POST", "/files", params={"chat_id": chat}, files=parts).status_code == 200
    until(lambda: len(found(wire, chat, "percent ")), lambda count: count == 2)
    assert [file["unreadable"] for file in listed(wire, chat) if file["file_name"] == "cut.docx"] == [None]


def test_the_notebook_shows_it_with_the_files(service: RunningService, chat: str) -> None:
    with AgentService(base_url=service.base_url, api_key=service.api_key) as client:
        bundle = files_bundle(list(client.files.list(chat)))
    for text in bundle.values():
        assert str(text).count("It needs a password. Upload a copy without one.") == 2


def tool(folder: Path, name: str, **given: Any) -> str:
    """Call a tool of the workspace with one file that can't be read."""
    workspace = MemoryWorkspace(folder / "chat", {"plan.pdf": b"\0", "notes.md": "words"})
    workspace.reasons["plan.pdf"] = str(REASONS["locked.pdf"])
    made = catalog.within({}, Settings(folder))[name]
    outcome = asyncio.run(made.run(made.Input.model_validate(given), MemoryToolContext(workspace)))
    return str(outcome.content[0]["text"])


def test_tools_tell_an_agent_why_a_file_is_not_read(tmp_path: Path) -> None:
    reason = str(REASONS["locked.pdf"])
    assert reason in tool(tmp_path, "list_files")
    assert reason in tool(tmp_path, "search_files", query="budget")
    with pytest.raises(WorkFailure, match=reason) as failed:
        tool(tmp_path, "read_file", path="plan.pdf")
    assert failed.value.code == "no_text"
    assert reason not in tool(tmp_path, "read_file", path="notes.md")
