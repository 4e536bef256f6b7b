"""`ask_stefanbrain` (docs/api/tools-and-jobs.md "Ask"): an answer within 55 s, else a job that follows its run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.client.errors import ToolResultError
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import V1
from agentsvc_nb.wire.tools import JobAccepted, ToolResult
from tests.service.api.conftest import Wire, code
from tests.service.api.test_jobs_http import ended, reader
from tests.service.api.test_money import billed
from tests.support.waiting import until


def ask(wire: Wire, message: str, key: str | None = None, *, where: dict[str, str] | None = None, **given: Any) -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    body = {"input": {"message": message, **given}, **(where or {})}
    return wire("POST", "/tools/ask_stefanbrain/invoke", json=body, headers=headers)


NEW = {"chat": "new"}


@pytest.fixture(scope="module")
def handles() -> Iterator[RunningService]:
    """A service that gives the handle at once, so that nothing here depends on how fast a run is."""
    with running_service(ask_handle_seconds=0) as running:
        yield running


@pytest.fixture
def late(handles: RunningService) -> Iterator[Wire]:
    with httpx.Client(base_url=handles.base_url, headers={"x-api-key": handles.api_key}, timeout=60) as http:
        yield Wire(http)


# -- answered in time --------------------------------------------------------------------------------------------------


def test_an_answer_in_time_is_a_tool_result(wire: Wire) -> None:
    answer = ask(wire, "step 2\nsay hello", where=NEW)
    assert answer.status_code == 200
    result = answer.json()
    assert (result["object"], result["tool"], result["is_error"]) == ("tool_result", "ask_stefanbrain", False)
    assert result["content"] == [{"type": "text", "text": "hello"}]
    run = wire("GET", f"/runs/{result['data']['run_id']}").json()
    assert result["data"] == {
        "answer": "hello",
        "chat": result["chat"],
        "app_url": run["app_url"],
        "run_id": run["run_id"],
        "steps": 2,
    }
    assert (run["status"], run["chat"]) == ("completed", result["chat"])


def test_asks_without_a_chat_share_the_chat_of_the_tools(client: AgentService, fresh_key: str) -> None:
    project = client.projects.create("asks").id
    first, second = (client.tools.invoke("ask_stefanbrain", {"message": "say x"}, project=project) for _ in "ab")
    own = client.tools.invoke("ask_stefanbrain", {"message": "say x"}, project=project, session=fresh_key)
    assert isinstance(first, ToolResult)
    assert first.chat == second.chat
    assert own.chat != first.chat


def test_a_run_that_fails_is_an_answer_with_its_error(client: AgentService) -> None:
    with pytest.raises(ToolResultError) as caught:
        client.tools.invoke("ask_stefanbrain", {"message": "say so far\nfail brain_gone It went away."}, chat="new")
    error = caught.value
    assert (error.status, error.code) == (200, "brain_gone")
    assert "It went away." in error.message
    assert error.body["data"]["answer"] == "so far"


def test_staged_files_are_attached(client: AgentService) -> None:
    staged = client.files.upload(("plan.txt", b"the plan"))
    given = {"message": "say read", "file_ids": [file.id for file in staged]}
    result = client.tools.invoke("ask_stefanbrain", given, chat="new")
    assert [file.path for file in client.files.list(result.chat)] == ["uploads/plan.txt"]


def test_pictures_that_can_not_be_had_are_warnings(wire: Wire) -> None:
    urls = ["https://none.example/a.png", "http://none.example/b.png"]
    result = ask(wire, "say done", where=NEW, image_urls=urls).json()
    events = wire.events(result["data"]["run_id"])
    warned = [event["payload"] for event in events if event["type"] == "warning"]
    assert [one["code"] for one in warned] == ["image_not_fetched"] * 2
    assert all("none.example" in one["message"] for one in warned)
    assert [event["id"] for event in events] == list(range(1, len(events) + 1))


@pytest.mark.parametrize(
    ("given", "expected", "field"),
    [
        ({"message": " "}, "invalid_tool_input", "message"),
        ({"message": None}, "invalid_tool_input", "message"),
        ({"on_busy": "wait"}, "invalid_tool_input", "on_busy"),
        ({"file_ids": ["nonsense"]}, "invalid_tool_input", "file_ids.0"),
        ({"file_ids": "upload_1"}, "invalid_tool_input", "file_ids"),
        ({"image_urls": ["ftp://example.com/a.png"]}, "invalid_tool_input", "image_urls.0"),
        ({"image_urls": ["http://127.0.0.1/a.png"]}, "invalid_tool_input", "image_urls.0"),
        ({"image_urls": ["http://169.254.169.254/latest/"]}, "invalid_tool_input", "image_urls.0"),
        ({"image_urls": ["http://[::ffff:10.0.0.1]/a.png"]}, "invalid_tool_input", "image_urls.0"),
        ({"image_urls": ["http://2130706433/a.png"]}, "invalid_tool_input", "image_urls.0"),
        ({"image_urls": ["https://example.com/a.png"] * 6, "file_ids": ["upload_1"] * 5}, "too_many_attachments", None),
        ({"file_ids": ["upload_none"]}, "upload_not_found", None),
        ({"message": "fail-http brain_unavailable"}, "brain_unavailable", None),
    ],
)
def test_a_wrong_ask_starts_nothing(wire: Wire, given: dict[str, Any], expected: str, field: str | None) -> None:
    answer = ask(wire, given.pop("message", "say x"), where=NEW, **given)
    assert code(answer) == expected
    assert answer.json()["error"].get("field") == field


def test_the_scope_is_tools(service: RunningService) -> None:
    for scope, expected in (("tools", 200), ("jobs", 403), ("runs", 403)):
        headers = {"x-api-key": service.create_key(scopes=(scope,))}
        with httpx.Client(base_url=service.base_url, headers=headers, timeout=60) as http:
            assert ask(Wire(http), "say x", where=NEW).status_code == expected


def test_a_finished_ask_is_replayed_whatever_the_arguments(wire: Wire, fresh_key: str) -> None:
    first = ask(wire, "say one", fresh_key, where=NEW).json()
    again = ask(wire, "say two", fresh_key, where=NEW)
    assert (again.status_code, again.json()) == (200, first)
    assert ask(wire, "say two", fresh_key, where={"chat": first["chat"]}).json() == first
    conflict = ask(wire, "say one", fresh_key, where={"chat": wire.new_chat()})
    assert (conflict.status_code, code(conflict)) == (409, "idempotency_conflict")


# -- answered with a handle --------------------------------------------------------------------------------------------


def test_a_late_answer_is_a_job_with_the_same_data(late: Wire, handles: RunningService) -> None:
    accepted = ask(late, "wait 0.2\nsay at last", where=NEW)
    assert accepted.status_code == 202
    job = accepted.json()
    assert (job["type"], job["family"], job["tool"]) == ("tool_job", "mcp_ask", "ask_stefanbrain")
    done = ended(late, job)
    assert (done["status"], done["is_error"], done["data"]["answer"]) == ("succeeded", False, "at last")
    result = late("GET", f"/jobs/{job['job_id']}/result", params={"chat": job["chat"]}).json()
    assert (result["kind"], result["data"]) == ("inline", done["data"])
    assert late("GET", f"/runs/{done['data']['run_id']}").json()["output"] == "at last"
    with AgentService(handles.api_key, handles.base_url) as client:
        handle = client.tools.invoke("ask_stefanbrain", {"message": "say x"}, chat="new")
        assert isinstance(handle, JobAccepted)
        assert client.jobs.wait(handle.job_id, chat=handle.chat).data["answer"] == "x"  # type: ignore[index]


def test_without_seconds_to_wait_the_handle_comes_however_fast_the_run_is(late: Wire) -> None:
    """On PostgreSQL the run could end while it was looked at, when others were looked at, too."""
    with ThreadPoolExecutor(20) as pool:
        asked = [pool.submit(ask, late, "say x", where=NEW) for _ in range(100)]
    assert {one.result().status_code for one in asked} == {202}


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
    assert late("POST", path, params=address).json()["status"] == "cancelling"
    assert late("POST", path, params=address).status_code == 200
    done = ended(late, job)
    assert (done["status"], done["is_error"]) == ("cancelled", False)
    assert late("GET", f"/runs/{done['data']['run_id']}").json()["status"] == "cancelled"


def test_cancelling_the_run_ends_the_job(late: Wire, fresh_key: str) -> None:
    """And its replay says that it was cancelled."""
    job = ask(late, "wait 60", fresh_key, where=NEW).json()
    run_id = late("POST", "/runs", json={"message": "say x", "chat": job["chat"]}).json()["activeRunId"]
    assert late("POST", f"/runs/{run_id}/cancel").status_code == 200
    assert ended(late, job)["status"] == "cancelled"
    replay = ask(late, "wait 60", fresh_key, where=NEW)
    assert (replay.status_code, replay.json()["is_error"], replay.json()["error"]["code"]) == (200, True, "cancelled")


def test_a_failed_run_is_a_failed_job(late: Wire) -> None:
    done = ended(late, ask(late, "fail brain_gone It went away.", where=NEW).json())
    assert (done["status"], done["is_error"]) == ("failed", True)
    assert done["error"] == {"code": "brain_gone", "message": "It went away."}


def test_a_key_gives_the_handle_while_the_run_is_active(late: Wire, fresh_key: str) -> None:
    first = ask(late, "wait 60", fresh_key, where=NEW).json()
    again = ask(late, "say other", fresh_key, where=NEW)
    assert (again.status_code, again.json()) == (202, first)
    late("POST", f"/jobs/{first['job_id']}/cancel", params={"chat": first["chat"]})


def test_keyed_asks_at_one_moment_are_one(late: Wire, handles: RunningService, fresh_key: str) -> None:
    async def together() -> list[httpx.Response]:
        headers = {"x-api-key": handles.api_key, "Idempotency-Key": fresh_key}
        async with httpx.AsyncClient(base_url=handles.base_url, headers=headers, timeout=60) as http:
            path, body = f"{V1}/tools/ask_stefanbrain/invoke", {"input": {"message": "wait 60"}, **NEW}
            return await asyncio.gather(*(http.post(path, json=body) for _ in range(8)))

    answers = asyncio.run(together())
    assert [answer.status_code for answer in answers] == [202] * 8
    (job_id,) = {answer.json()["job_id"] for answer in answers}
    job = answers[0].json()
    late("POST", f"/jobs/{job_id}/cancel", params={"chat": job["chat"]})
    assert ended(late, job)["status"] == "cancelled"


def test_a_key_whose_ask_was_refused_stays_free(late: Wire, fresh_key: str) -> None:
    holder = ask(late, "wait 60", where=NEW).json()
    assert code(ask(late, "say x", fresh_key, where={"chat": holder["chat"]})) == "agent_run_rejected"
    assert ended(late, ask(late, "say x", fresh_key, where=NEW).json())["data"]["answer"] == "x"
    late("POST", f"/jobs/{holder['job_id']}/cancel", params={"chat": holder["chat"]})


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_an_ask_survives_the_service(how: str) -> None:
    """The run goes on at its last step, and the job with it."""
    with running_service(ask_handle_seconds=0) as own:
        with httpx.Client(base_url=own.base_url, headers={"x-api-key": own.api_key}, timeout=60) as http:
            job = ask(Wire(http), "say one\nstep 1\nwait 1\nsay two", where=NEW).json()
            until(reader(Wire(http), job), lambda found: found["status"] == "running")
        own.kill() if how == "kill" else own.stop()
        own.start()
        with httpx.Client(base_url=own.base_url, headers={"x-api-key": own.api_key}, timeout=60) as http:
            done = ended(Wire(http), job)
    assert (done["status"], done["data"]["answer"]) == ("succeeded", "one\ntwo")


def test_an_ask_holds_its_money_once() -> None:
    """The run holds and is billed; the job shows what that was, and costs nothing of its own."""
    with (
        running_service(ask_handle_seconds=0, wallet_cents=3, run_hold_cents=1) as own,
        httpx.Client(base_url=own.base_url, headers={"x-api-key": own.api_key}, timeout=60) as http,
    ):
        wire = Wire(http)
        done = ended(wire, ask(wire, "usage 9000 1000", where=NEW).json())
        assert done["usage"] == {"input_tokens": 9_000, "output_tokens": 1_000, "cost_microcents": 1_000_000}
        assert billed(own, "tokens") == 1_000_000
        asks = [ask(wire, "wait 60", where=NEW) for _ in range(3)]
        assert [answer.status_code for answer in asks] == [202, 202, 429]
        assert code(asks[2]) == "api_wallet_exhausted"
