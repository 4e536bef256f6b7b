"""A model that makes the same call again and again (docs/models.md "When a model does not answer"), on the wire."""

from __future__ import annotations

import json

from tests.service.agents.serving import Serving
from tests.unit.agents.chat_server import Reply

LIST = Reply(calls=(("list_files", "{}"),))
DONE = Reply(("Done.",))


def test_the_same_call_is_answered_from_the_runs_own_results_and_told_at_the_third_time(it: Serving) -> None:
    run = it.ask("Which files?", LIST, LIST, LIST, DONE)
    assert run.output == "Done."
    assert len(it.events(run, "tool.call")) == 1, "it was made once"
    results = [message["content"] for message in it.last() if message["role"] == "tool"]
    assert results[0] == results[1]
    assert results[2].endswith(results[0])
    assert "3 times with the same input" in results[2]
    assert [payload["code"] for payload in it.events(run, "warning")] == ["call_repeated"]


def test_at_the_sixth_time_the_run_ends(it: Serving) -> None:
    run = it.ask("Which files?", LIST)
    assert (run.status, run.last_error, len(it.server.asked)) == ("failed", "call_repeated", 6)
    assert "list_files 6 times" in (run.last_error_message or "")


def test_the_same_edit_is_made_twice(it: Serving) -> None:
    write = Reply(calls=(("write_file", json.dumps({"path": "a.txt", "text": "a"})),))
    edit = Reply(calls=(("edit_file", json.dumps({"path": "a.txt", "old": "a", "new": "aa", "all": True})),))
    run = it.ask("Go on.", write, edit, edit, DONE)
    [file] = it.client.files.list(chat=run.chat)
    assert file.size_bytes == 4
    assert run.status == "completed"


def test_a_call_is_made_again_once_a_file_has_changed(it: Serving) -> None:
    write = Reply(calls=(("write_file", json.dumps({"path": "a.txt", "text": "x"})),))
    other = Reply(calls=(("write_file", json.dumps({"path": "a.txt", "text": "y"})),))
    run = it.ask("Go on.", LIST, write, LIST, other, LIST, LIST, DONE)
    assert run.status == "completed"
    assert [payload["tool"] for payload in it.events(run, "tool.call")].count("list_files") == 3
