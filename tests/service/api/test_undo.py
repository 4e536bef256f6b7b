"""Undo of what a run changed in files, and redo (docs/api/runs.md "Undo")."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from agentsvc_nb.testing import RunningService
from tests.service.api.conftest import Wire, code, page, signed_in
from tests.service.api.test_file_versions import PRICES, restore, versions
from tests.service.api.test_files_http import found, put
from tests.support.waiting import until

pytestmark = pytest.mark.rule("An undo of a run restores the files that it changed, and can be undone.")


def undo(wire: Wire, run: dict[str, Any], **given: bool) -> list[tuple[str, str, int | None]]:
    answer = wire("POST", f"/runs/{run['run_id']}/undo", json=given)
    assert answer.status_code == 200, answer.text
    return [(file["path"], file["reason"] or file["outcome"], file["version"]) for file in answer.json()["files"]]


def contents(wire: Wire, chat: str) -> dict[str, bytes]:
    listed = wire("GET", "/files", params={"chat_id": chat}).json()["files"]
    return {file["path"]: wire("GET", file["download_url"]).content for file in listed}


def undone_at(wire: Wire, run: dict[str, Any]) -> str | None:
    at: str | None = wire("GET", f"/runs/{run['run_id']}").json()["undone_at"]
    return at


def test_a_run_is_undone_and_the_undo_is_undone(wire: Wire) -> None:
    chat = wire.new_chat()
    put(wire, chat, "prices.csv", b"name,price\nlamp,12\n")
    before = contents(wire, chat)
    run = wire.finish(f"write {PRICES} ruined\nwrite new.md Hello\nwrite logs/x.txt log", chat=chat)
    after = contents(wire, chat)
    assert undone_at(wire, run) is None
    assert undo(wire, run) == [("new.md", "removed", None), (PRICES, "restored", 3)]
    assert contents(wire, chat) == {**before, "logs/x.txt": b"log"}
    assert undone_at(wire, run)
    until(lambda: [one["path"] for one in found(wire, chat, "lamp or hello")] == [PRICES])
    assert undo(wire, run) == [("new.md", "unchanged", None), (PRICES, "unchanged", 3)], "safe to repeat"
    assert [each["version"] for each in versions(wire, chat, "new.md")] == [1], "its versions are kept"
    assert undo(wire, run, redo=True) == [("new.md", "restored", 2), (PRICES, "restored", 4)]
    assert contents(wire, chat) == after
    assert undone_at(wire, run) is None
    assert undo(wire, run, redo=True) == [("new.md", "unchanged", 2), (PRICES, "unchanged", 4)]
    assert undo(wire, run) == [("new.md", "removed", None), (PRICES, "restored", 5)]
    assert restore(wire, chat, 1, "new.md")["version"] == 3, "a removed file can be restored alone"


def test_what_was_changed_since_is_left_unless_it_is_forced(wire: Wire) -> None:
    chat = wire.new_chat()
    put(wire, chat, "prices.csv", b"mine")
    run = wire.finish(f"write {PRICES} ruined\nwrite new.md Hello\nwrite note.md Hi", chat=chat)
    put(wire, chat, "prices.csv", b"mine, corrected")
    later = wire.finish("write new.md Changed", chat=chat)
    assert undo(wire, run) == [
        ("new.md", "changed_since", 2),
        ("note.md", "removed", None),
        (PRICES, "changed_since", 3),
    ]
    assert contents(wire, chat) == {PRICES: b"mine, corrected", "new.md": b"Changed"}
    assert undo(wire, later) == [("new.md", "restored", 3)]
    assert undo(wire, run, force=True) == [
        ("new.md", "removed", None),
        ("note.md", "unchanged", None),
        (PRICES, "restored", 4),
    ]
    assert contents(wire, chat) == {PRICES: b"mine"}
    other = wire.finish("write new.md Other", chat=chat)
    assert undo(wire, other) == [("new.md", "removed", None)], "not to the content that was removed before"
    assert undo(wire, later) == [("new.md", "changed_since", None)]


def test_files_of_jobs_count_and_a_run_that_is_active_is_refused(wire: Wire) -> None:
    run = wire.finish('call echo_job {"steps": 0, "files": {"made.txt": "by a job"}}')
    assert undo(wire, run) == [("made.txt", "removed", None)]
    assert contents(wire, run["chat"]) == {}
    nothing = wire.finish("say x")
    assert undo(wire, nothing) == []
    assert undone_at(wire, nothing) is None
    active = wire.start("write a.txt x\nwait 60")
    until(lambda: "file.written" in [event["type"] for event in wire.events(active["run_id"])])
    answer = wire("POST", f"/runs/{active['run_id']}/undo")
    assert (answer.status_code, code(answer)) == (409, "run_not_finished")
    wire("POST", f"/runs/{active['run_id']}/cancel")
    until(lambda: wire("GET", f"/runs/{active['run_id']}").json()["ended_at"])
    assert undo(wire, active) == [("a.txt", "removed", None)]


def test_a_version_that_is_no_longer_kept_is_not_guessed(wire: Wire) -> None:
    chat = wire.new_chat()
    wire.finish("write a.txt before", chat=chat)
    run = wire.finish("write a.txt by the run", chat=chat)
    for number in range(10):
        wire.finish(f"write a.txt {number}", chat=chat)
    assert undo(wire, run, force=True) == [("a.txt", "version_not_kept", 12)]
    assert undone_at(wire, run) is None


def test_the_page_undoes_a_run_and_names_what_it_left(service: RunningService, wire: Wire) -> None:
    chat = wire.new_chat()
    put(wire, chat, "prices.csv", b"lamp 12\n<b>oil</b> 3\n")
    edit = f'call edit_file {{"path": "{PRICES}", "old": "lamp 12", "new": "lamp 13"}}'
    run = wire.finish(f"{edit}\nwrite new.md Hello", chat=chat)
    with signed_in(service) as browser:
        shown = page(browser, f"/app/chats/{chat}")
        assert '<span class="removed">-lamp 12' in shown
        assert '<span class="added">+lamp 13' in shown
        assert "&lt;b&gt;oil&lt;/b&gt;" in shown
        (address,) = re.findall(r'action="(/app/runs/[^"]*/undo)"', shown)
        foreign = browser.post(address, data={"what": "undo"}, headers={"Origin": "https://evil.example"})
        assert foreign.status_code == 403
        assert _post(browser, address, what="undo").headers["location"] == f"/app/chats/{chat}#run_{run['run_id']}"
        assert contents(wire, chat) == {PRICES: b"lamp 12\n<b>oil</b> 3\n"}
        shown = page(browser, f"/app/chats/{chat}")
        assert "undone</span>" in shown
        assert 'value="redo"' in shown
        put(wire, chat, "prices.csv", b"lamp 14\n")
        left = _post(browser, address, what="redo").text
        assert f"{PRICES}: it was changed after the run" in left
        assert _post(browser, address, what="redo", force="yes").status_code == 303
        assert contents(wire, chat) == {PRICES: b"lamp 13\n<b>oil</b> 3\n", "new.md": b"Hello"}


def _post(browser: httpx.Client, address: str, **form: str) -> httpx.Response:
    return browser.post(address, data=form)
