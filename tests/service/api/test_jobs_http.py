"""Tools and jobs over HTTP (docs/api/tools-and-jobs.md): the catalog, submits, calls, and direct tools of a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.wire.tools import JobAccepted, ToolResult
from tests.service.api.conftest import Wire, code
from tests.service.api.test_every_route import PICTURE
from tests.support.waiting import until

QUICK = {"steps": 2, "seconds": 0, "files": {"out/a.txt": "hello"}}
SLOW = {"steps": 600, "seconds": 60, "files": {}}


def submit(wire: Wire, tool: str = "echo_job", key: str | None = None, **body: Any) -> dict[str, Any]:
    headers = {"Idempotency-Key": key} if key else {}
    answer = wire("POST", "/jobs", json={"tool": tool, **body}, headers=headers)
    assert answer.status_code == 202, answer.text
    document: dict[str, Any] = answer.json()
    return document


def reader(wire: Wire, job: dict[str, Any]) -> Callable[[], dict[str, Any]]:
    def read() -> dict[str, Any]:
        document: dict[str, Any] = wire("GET", f"/jobs/{job['job_id']}", params={"chat": job["chat"]}).json()
        return document

    return read


def ended(wire: Wire, job: dict[str, Any]) -> dict[str, Any]:
    return until(reader(wire, job), lambda found: found["status"] in ("succeeded", "failed", "cancelled"))


@pytest.mark.rule("A submit is a 202 `tool_job` with family, job id and chat.")
def test_a_job_reports_progress_and_ends_with_its_files(wire: Wire) -> None:
    job = submit(wire, input=QUICK)
    assert (job["type"], job["family"], job["status"]) == ("tool_job", "echo", "queued")
    assert job["recommended_poll_after_ms"] > 0
    done = ended(wire, job)
    assert (done["status"], done["is_error"]) == ("succeeded", False)
    assert (done["progress"]["done"], done["progress"]["total"]) == (2, 2)
    result = wire("GET", f"/jobs/{job['job_id']}/result", params={"chat": job["chat"]}).json()
    assert (result["kind"], [file["path"] for file in result["files"]]) == ("files", ["out/a.txt"])


@pytest.mark.rule("A typed output is one search result: its best file.")
def test_images_are_exactly_as_many_as_asked_for(wire: Wire) -> None:
    request = {"kind": "static_ad", "brief": "Headline: Autumn sale", "outputs": {"mode": "count", "count": 3}}
    job = submit(wire, "create_images", input={"request": request}, chat="new")
    assert ended(wire, job)["status"] == "succeeded"
    result = wire("GET", f"/jobs/{job['job_id']}/result", params={"chat": job["chat"]}).json()
    assert len(result["files"]) == 3
    for file in result["files"]:
        assert wire("GET", file["download_url"]).content.startswith(b"\x89PNG\r\n")
    assert {file["output"]["type"] for file in result["files"]} == {"image_set"}
    found = wire("GET", "/files/search", params={"chat_id": job["chat"], "q": "autumn"}).json()["results"]
    assert len(found) == 1, "a typed output answers once"


@pytest.mark.rule("A cancel of a job is safe to repeat.")
def test_a_running_job_is_cancelled(wire: Wire) -> None:
    job = submit(wire, input=SLOW)
    until(reader(wire, job), lambda found: found["progress"]["done"] > 0)
    address = {"params": {"chat": job["chat"]}}
    assert code(wire("GET", f"/jobs/{job['job_id']}/result", **address)) == "job_not_finished"
    assert wire("POST", f"/jobs/{job['job_id']}/cancel", **address).status_code == 200
    assert ended(wire, job)["status"] == "cancelled"
    assert wire("POST", f"/jobs/{job['job_id']}/cancel", **address).json()["status"] == "cancelled"


@pytest.mark.rule("The files of a tool call within a run belong to the run.")
def test_an_agent_may_call_a_tool_and_its_files_are_the_runs(wire: Wire) -> None:
    run = wire.finish('call echo_job {"steps": 2, "seconds": 0.2, "files": {"a.txt": "x"}}\nsay done')
    order = ("tool.call", "job.submitted", "file.written", "tool.result")
    assert [one for event in wire.events(run["run_id"]) if (one := event["type"]) in order] == list(order)
    listed = wire("GET", "/files", params={"chat_id": run["chat"]}).json()["files"]
    assert [(file["path"], file["run_id"]) for file in listed] == [("a.txt", run["run_id"])]


@pytest.mark.rule("A tool that is not idempotent ignores the Idempotency-Key.")
def test_a_key_on_a_tool_that_is_not_idempotent_is_ignored(wire: Wire, fresh_key: str) -> None:
    first, second = (submit(wire, key=fresh_key, input=QUICK) for _ in range(2))
    assert first["job_id"] != second["job_id"]


@pytest.mark.rule("Jobs do not make a chat busy.")
def test_a_job_does_not_make_its_chat_busy(wire: Wire) -> None:
    chat = wire.new_chat()
    job = submit(wire, input=SLOW, chat=chat)
    assert wire.finish("say beside it", chat=chat)["output"] == "beside it"
    wire("POST", f"/jobs/{job['job_id']}/cancel", params={"chat": chat})


@pytest.mark.rule("Job lookups take the chat, or the project and session of the submit.")
def test_a_job_is_found_by_the_project_and_session_of_its_submit(wire: Wire, fresh_key: str) -> None:
    project = wire("POST", "/projects", json={"name": "Spring"}).json()["id"]
    job = submit(wire, input=QUICK, project=project, session=fresh_key)
    path = f"/jobs/{job['job_id']}"
    for where in ({"project": project, "session": fresh_key}, {"chat": job["chat"]}):
        assert wire("GET", path, params=where).json()["chat"] == job["chat"]
    for elsewhere in ({"session": fresh_key}, {"project": project}, {"chat": wire.new_chat()}):
        answer = wire("GET", path, params=elsewhere)
        assert (answer.status_code, code(answer)) == (404, "job_not_found")
    assert code(wire("GET", path)) == "invalid_query"


@pytest.mark.rule("A submit's Idempotency-Key counts within its chat and family.")
def test_a_key_counts_within_its_family(wire: Wire, fresh_key: str) -> None:
    submit(wire, "create_images", fresh_key, input=PICTURE)
    asked = invoke(wire, "ask_stefanbrain", fresh_key, input={"message": "say x"}, chat="new")
    assert asked.json()["data"]["answer"] == "x"


def invoke(wire: Wire, tool: str, key: str | None = None, **body: Any) -> httpx.Response:
    headers = {"Idempotency-Key": key} if key else {}
    return wire("POST", f"/tools/{tool}/invoke", json=body, headers=headers)


@pytest.mark.rule("Invoking an asynchronous tool is a submit.")
def test_an_asynchronous_tool_is_answered_as_a_submit(wire: Wire, client: AgentService) -> None:
    answer = invoke(wire, "echo_job", input=QUICK, session="invoked")
    assert answer.status_code == 202
    job, other = answer.json(), submit(wire, input=QUICK, session="invoked")
    assert (job.keys(), job["chat"]) == (other.keys(), other["chat"])
    accepted = client.tools.invoke("echo_job", QUICK)
    assert isinstance(accepted, JobAccepted)
    assert client.jobs.wait(accepted.job_id, chat=accepted.chat).status == "succeeded"


@pytest.mark.rule("A wrong tool, input or chat has its code, and the message names the field.")
@pytest.mark.parametrize(
    ("tool", "body", "expected", "field"),
    [
        ("nothing", {}, "tool_not_found", None),
        ("echo_job", {"input": {"steps": "5"}}, "invalid_tool_input", "steps"),
        ("echo_job", {"input": {"files": {"a": 5}}}, "invalid_tool_input", "files.a"),
        ("echo_job", {"input": QUICK, "chat": "nonsense"}, "invalid_chat", None),
    ],
)
def test_a_wrong_call_is_named(wire: Wire, tool: str, body: dict[str, Any], expected: str, field: str | None) -> None:
    answers = [invoke(wire, tool, **body), wire("POST", "/jobs", json={"tool": tool, **body})]
    assert [code(answer) for answer in answers] == [expected] * 2
    if field:
        assert answers[0].json()["error"]["field"] == field


@pytest.mark.rule("A run is not offered `ask_stefanbrain`.")
def test_what_is_offered_from_outside_and_within_a_run(wire: Wire) -> None:
    """It would be to wait for oneself."""
    listed = {tool["name"]: tool for tool in wire("GET", "/tools").json()["data"]}
    assert listed["ask_stefanbrain"]["input_schema"]["required"] == ["message"]
    run = wire.finish('call ask_stefanbrain {"message": "say x"}')
    results = [event["payload"] for event in wire.events(run["run_id"]) if event["type"] == "tool.result"]
    assert [result["is_error"] for result in results] == [True]


def test_a_key_gives_the_original_acceptance_over_both_routes(wire: Wire, fresh_key: str) -> None:
    """Also once the job has ended; in another chat it is a conflict."""
    chat = wire.new_chat()
    first = submit(wire, "create_images", fresh_key, input=PICTURE, chat=chat)
    ended(wire, first)
    assert submit(wire, "create_images", fresh_key, input=PICTURE, chat=chat) == first
    assert invoke(wire, "create_images", fresh_key, input=PICTURE, chat=chat).json()["job_id"] == first["job_id"]
    conflict = invoke(wire, "create_images", fresh_key, input=PICTURE, chat=wire.new_chat())
    assert (conflict.status_code, code(conflict)) == (409, "idempotency_conflict")


@pytest.mark.rule("A direct tool answers 200, with `is_error: true` when it failed.")
def test_a_direct_tool_answers_at_once_and_works_in_the_chat(client: AgentService, fresh_key: str) -> None:
    project, mail = client.projects.create("direct").id, {"to": ["a@example.com"], "subject": "x", "text": "y"}
    first, again = (client.tools.invoke("send_email", mail, project=project) for _ in "ab")
    other = client.tools.invoke("send_email", mail, project=project, session=fresh_key)
    assert isinstance(first, ToolResult)
    assert (first.tool, first.is_error, first.error) == ("send_email", False, None)
    assert first.data is not None
    assert first.data["path"] in [file.path for file in client.files.list(first.chat)]
    assert first.chat == again.chat, "tools share a chat"
    assert other.chat != first.chat
