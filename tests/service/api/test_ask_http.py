"""`ask_stefanbrain` (docs/api/tools-and-jobs.md "Ask"): an answer within 55 s, else a job that follows its run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.api.conftest import Wire, code
from tests.service.api.service_fixture import HASTY, ServiceFixture
from tests.service.api.test_jobs_http import ended, reader
from tests.support.waiting import until


def ask(wire: Wire, message: str, key: str | None = None, *, where: dict[str, str] | None = None, **given: Any) -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    body = {"input": {"message": message, **given}, **(where or {})}
    return wire("POST", "/tools/ask_stefanbrain/invoke", json=body, headers=headers)


NEW = {"chat": "new"}


@pytest.fixture
def late(stage: ServiceFixture) -> Wire:
    """A service that gives the handle at once, so that nothing here depends on how fast a run is."""
    return stage.account(stage.other(**HASTY))


@pytest.mark.rule("`ask_stefanbrain` answers within 55 s with the answer, chat, URL, run id and steps.")
def test_an_answer_in_time_is_a_tool_result(wire: Wire) -> None:
    answer = ask(wire, "step 2\nsay hello", where=NEW)
    assert answer.status_code == 200
    result = answer.json()
    assert (result["object"], result["tool"], result["is_error"]) == ("tool_result", "ask_stefanbrain", False)
    assert result["content"] == [{"type": "text", "text": "hello"}]
    run = wire("GET", f"/runs/{result['data']['run_id']}").json()
    same = {name: run[name] for name in ("chat", "app_url", "run_id")}
    assert result["data"] == {"answer": "hello", "steps": 2, **same}


@pytest.mark.parametrize(
    ("given", "expected", "field"),
    [
        ({"on_busy": "wait"}, "invalid_tool_input", "on_busy"),
        ({"file_ids": ["nonsense"]}, "invalid_tool_input", "file_ids.0"),
        ({"image_urls": ["http://169.254.169.254/latest/"]}, "invalid_tool_input", "image_urls.0"),
        ({"image_urls": ["https://example.com/a.png"] * 6, "file_ids": ["upload_1"] * 5}, "too_many_attachments", None),
        ({"file_ids": ["upload_none"]}, "upload_not_found", None),
    ],
)
def test_a_wrong_ask_starts_nothing(wire: Wire, given: dict[str, Any], expected: str, field: str | None) -> None:
    answer = ask(wire, "say x", where=NEW, **given)
    assert code(answer) == expected
    assert answer.json()["error"].get("field") == field


@pytest.mark.rule("An ask's Idempotency-Key returns the original ask.")
def test_a_finished_ask_is_replayed_whatever_the_arguments(wire: Wire, fresh_key: str) -> None:
    first = ask(wire, "say one", fresh_key, where=NEW).json()
    again = ask(wire, "say two", fresh_key, where=NEW)
    assert (again.status_code, again.json()) == (200, first)
    assert ask(wire, "say two", fresh_key, where={"chat": first["chat"]}).json() == first
    conflict = ask(wire, "say one", fresh_key, where={"chat": wire.new_chat()})
    assert (conflict.status_code, code(conflict)) == (409, "idempotency_conflict")


@pytest.mark.rule("A late ask is a job of family `mcp_ask` with the same data.")
def test_a_late_answer_is_a_job_with_the_same_data(late: Wire) -> None:
    accepted = ask(late, "wait 0.2\nsay at last", where=NEW)
    assert accepted.status_code == 202
    job = accepted.json()
    assert (job["type"], job["family"], job["tool"]) == ("tool_job", "mcp_ask", "ask_stefanbrain")
    done = ended(late, job)
    assert (done["status"], done["is_error"], done["data"]["answer"]) == ("succeeded", False, "at last")
    result = late("GET", f"/jobs/{job['job_id']}/result", params={"chat": job["chat"]}).json()
    assert (result["kind"], result["data"]) == ("inline", done["data"])
    assert late("GET", f"/runs/{done['data']['run_id']}").json()["output"] == "at last"


@pytest.mark.rule("An ask in a busy chat is `409 agent_run_rejected`.")
def test_a_busy_chat_is_refused_with_the_run_that_holds_it(late: Wire, fresh_key: str) -> None:
    job = ask(late, "wait 60", where={"session": fresh_key}).json()
    refused = ask(late, "say x", where={"session": fresh_key})
    assert (refused.status_code, code(refused)) == (409, "agent_run_rejected")
    holder = refused.json()["activeRunId"]
    start = late("POST", "/runs", json={"message": "say x", "session": fresh_key})
    assert start.json()["activeRunId"] == holder
    late("POST", f"/jobs/{job['job_id']}/cancel", params={"chat": job["chat"]})
    ended(late, job)
    assert ask(late, "say free", where={"session": fresh_key}).status_code == 202


def test_cancelling_the_job_cancels_its_run(late: Wire) -> None:
    job = ask(late, "wait 60", where=NEW).json()
    until(reader(late, job), lambda found: found["status"] == "running")
    path, address = f"/jobs/{job['job_id']}/cancel", {"chat": job["chat"]}
    assert late("POST", path, params=address).json()["status"] in ("cancelling", "cancelled")
    assert late("POST", path, params=address).status_code == 200
    done = ended(late, job)
    assert (done["status"], done["is_error"]) == ("cancelled", False)
    assert late("GET", f"/runs/{done['data']['run_id']}").json()["status"] == "cancelled"


def test_a_failed_run_is_a_failed_job(late: Wire) -> None:
    done = ended(late, ask(late, "say so far\nfail brain_gone It went away.", where=NEW).json())
    assert (done["status"], done["is_error"], done["data"]["answer"]) == ("failed", True, "so far")
    assert done["error"] == {"code": "brain_gone", "message": "It went away."}
