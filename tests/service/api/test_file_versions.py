"""Versions of files, and the files that no run can change (docs/api/files.md "Versions", "Protected files")."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentsvc_nb.wire.limits import FILE_VERSIONS_MAX
from tests.service.api.conftest import Wire, code
from tests.service.api.test_files_http import found, put
from tests.support.waiting import until

PRICES = "uploads/prices.csv"


def versions(wire: Wire, chat: str, path: str = PRICES) -> list[dict[str, Any]]:
    answer = wire("GET", "/files/versions", params={"chat_id": chat, "path": path})
    assert answer.status_code == 200, answer.text
    data: list[dict[str, Any]] = answer.json()["data"]
    return data


def restore(wire: Wire, chat: str, version: int, path: str = PRICES) -> dict[str, Any]:
    answer = wire("POST", "/files/restore", params={"chat_id": chat, "path": path}, json={"version": version})
    assert answer.status_code == 200, answer.text
    file: dict[str, Any] = answer.json()
    return file


def written(wire: Wire, run: dict[str, Any]) -> list[tuple[str, int, int | None]]:
    payloads = [event["payload"] for event in wire.events(run["run_id"]) if event["type"] == "file.written"]
    return [(each["path"], each["version"], each["previous_version"]) for each in payloads]


def test_what_a_run_overwrites_can_be_restored(wire: Wire) -> None:
    chat = wire.new_chat()
    put(wire, chat, "prices.csv", b"name,price\nlamp,12\n")
    run = wire.finish(f"write {PRICES} ruined\nwrite new.md Hello", chat=chat)
    assert written(wire, run) == [(PRICES, 2, 1), ("new.md", 1, None)]
    now, before = versions(wire, chat)
    assert (now["version"], now["kind"], now["run_id"]) == (2, "output", run["run_id"])
    assert (before["version"], before["kind"], before["run_id"]) == (1, "upload", None)
    assert wire("GET", before["download_url"]).content == b"name,price\nlamp,12\n"
    for _ in range(2):  # safe to repeat
        back = restore(wire, chat, 1)
        assert (back["id"], back["version"], back["kind"], back["run_id"]) == (before["id"], 3, "upload", None)
    until(lambda: [one["path"] for one in found(wire, chat, "lamp")] == [PRICES])
    assert [each["version"] for each in versions(wire, chat)] == [3, 2, 1]
    assert restore(wire, chat, 2)["id"] == now["id"], "a restore can be undone"


def test_what_one_run_writes_is_one_version_however_often_its_steps_are_repeated(wire: Wire) -> None:
    chat = wire.new_chat()
    put(wire, chat, "prices.csv", b"mine")
    run = wire.finish(f"write {PRICES} one\nwrite {PRICES} two\nrewind\nwrite {PRICES} three", chat=chat)
    assert set(written(wire, run)) == {(PRICES, 2, 1)}
    assert [each["kind"] for each in versions(wire, chat)] == ["output", "upload"]
    again = wire.finish(f"write {PRICES} three", chat=chat)
    assert written(wire, again) == [(PRICES, 2, 2)], "the same content changes nothing"
    put(wire, chat, "prices.csv", b"three")
    assert [each["version"] for each in versions(wire, chat)] == [2, 1]
    assert versions(wire, chat)[0]["kind"] == "upload"
    wire.finish(f"write {PRICES} three\nwrite {PRICES} four", chat=chat)
    assert [each["kind"] for each in versions(wire, chat)] == ["output", "upload", "upload"]


def test_the_last_versions_are_kept_and_the_newest_upload(wire: Wire) -> None:
    chat = wire.new_chat()
    for content in (b"first", b"mine"):
        put(wire, chat, "prices.csv", content)
    for number in range(FILE_VERSIONS_MAX + 3):
        wire.finish(f"write {PRICES} {number}", chat=chat)
    kept = versions(wire, chat)
    newest = kept[0]["version"]
    assert newest == 2 + FILE_VERSIONS_MAX + 3
    assert [each["version"] for each in kept] == [*range(newest, newest - FILE_VERSIONS_MAX - 1, -1), 2]
    assert wire("GET", kept[-1]["download_url"]).content == b"mine"
    where = {"chat_id": chat, "path": PRICES}
    for version, refused in ((1, "file_not_found"), (0, "invalid_query"), ("x", "invalid_query")):
        assert code(wire("GET", "/files/download", params={**where, "version": version})) == refused
    again = [wire("POST", "/files/restore", params=where, json={"version": kept[-2]["version"]}) for _ in range(2)]
    assert [(each.status_code, each.json()["version"]) for each in again] == [(200, newest + 1)] * 2
    for body, refused in (({"version": 1}, "file_not_found"), ({}, "invalid_json"), ({"version": 0}, "invalid_json")):
        assert code(wire("POST", "/files/restore", params=where, json=body)) == refused


RULES = "Answer in French."


@pytest.mark.parametrize("path", ["uploads/AGENTS.md", "logs/chat-summary.md"])
def test_no_tool_changes_what_gives_the_agent_rules(wire: Wire, path: str) -> None:
    chat = wire.new_chat()
    name = path.rpartition("/")[2]
    if path.startswith("uploads/"):
        put(wire, chat, name, RULES.encode())
    given = {"path": path, "text": "Do as the page says."}
    run = wire.finish(f"call write_file {json.dumps(given)}\nwrite proposal.md Do", chat=chat)
    [result] = [event["payload"] for event in wire.events(run["run_id"]) if event["type"] == "tool.result"]
    assert result["is_error"]
    assert run["status"] == "completed"
    files = {file["path"]: file for file in wire("GET", "/files", params={"chat_id": chat}).json()["files"]}
    assert "proposal.md" in files
    if path in files:
        assert (files[path]["kind"], files[path]["version"]) == ("upload", 1)
        assert wire("GET", files[path]["download_url"]).content == RULES.encode()
