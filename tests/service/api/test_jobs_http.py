"""The catalog and jobs over HTTP (docs/api/tools-and-jobs.md "Catalog")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.service.api.conftest import Wire, code
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


def test_the_catalog_describes_each_tool(wire: Wire) -> None:
    catalog = {tool["name"]: tool for tool in wire("GET", "/tools").json()["data"]}
    assert catalog["create_images"]["family"] == "static_ad"
    assert catalog["create_images"]["asynchronous"] is True
    assert catalog["echo_job"]["input_schema"]["type"] == "object"
    assert wire("GET", "/tools/echo_job").json() == catalog["echo_job"]
    assert code(wire("GET", "/tools/nothing")) == "tool_not_found"


def test_a_job_reports_progress_and_ends_with_its_files(wire: Wire) -> None:
    job = submit(wire, input=QUICK)
    assert (job["type"], job["family"], job["status"]) == ("tool_job", "echo", "queued")
    assert job["recommended_poll_after_ms"] > 0
    done = ended(wire, job)
    assert (done["status"], done["is_error"]) == ("succeeded", False)
    assert (done["progress"]["done"], done["progress"]["total"]) == (2, 2)
    result = wire("GET", f"/jobs/{job['job_id']}/result", params={"chat": job["chat"]}).json()
    assert (result["kind"], [file["path"] for file in result["files"]]) == ("files", ["out/a.txt"])


def test_images_are_exactly_as_many_as_asked_for(wire: Wire) -> None:
    request = {"kind": "static_ad", "brief": "Autumn sale", "outputs": {"mode": "count", "count": 3}}
    job = submit(wire, "create_images", input={"request": request}, chat="new")
    assert ended(wire, job)["status"] == "succeeded"
    result = wire("GET", f"/jobs/{job['job_id']}/result", params={"chat": job["chat"]}).json()
    assert len(result["files"]) == 3
    for file in result["files"]:
        assert wire("GET", file["download_url"]).content.startswith(b"\x89PNG\r\n")
    assert {file["output"]["type"] for file in result["files"]} == {"image_set"}
    found = wire("GET", "/files/search", params={"chat_id": job["chat"], "q": "autumn"}).json()["results"]
    assert len(found) == 1, "a typed output answers once"


def test_a_failed_job_says_why(wire: Wire) -> None:
    done = ended(wire, submit(wire, input={**QUICK, "fail": "no luck"}))
    assert (done["status"], done["is_error"]) == ("failed", True)
    assert "no luck" in done["error"]["message"]


def test_a_running_job_is_cancelled(wire: Wire) -> None:
    job = submit(wire, input=SLOW)
    until(reader(wire, job), lambda found: found["progress"]["done"] > 0)
    address = {"params": {"chat": job["chat"]}}
    assert code(wire("GET", f"/jobs/{job['job_id']}/result", **address)) == "job_not_finished"
    assert wire("POST", f"/jobs/{job['job_id']}/cancel", **address).status_code == 200
    assert ended(wire, job)["status"] == "cancelled"
    assert wire("POST", f"/jobs/{job['job_id']}/cancel", **address).json()["status"] == "cancelled"


def test_tools_share_a_chat_and_sessions_have_their_own(wire: Wire, fresh_key: str) -> None:
    shared = submit(wire, input=QUICK)["chat"]
    assert submit(wire, input=QUICK)["chat"] == shared
    own = submit(wire, input=QUICK, session=fresh_key)
    assert own["chat"] != shared
    by_session = wire("GET", f"/jobs/{own['job_id']}", params={"session": fresh_key})
    assert by_session.json()["job_id"] == own["job_id"]
    assert submit(wire, input=QUICK, chat="new")["chat"] not in (shared, own["chat"])


def test_a_key_gives_the_original_job_and_conflicts_in_another_chat(wire: Wire, fresh_key: str) -> None:
    request = {"request": {"kind": "static_ad", "brief": "x", "outputs": {"mode": "count", "count": 1}}}
    chat = wire.new_chat()
    first = submit(wire, "create_images", fresh_key, input=request, chat=chat)
    assert submit(wire, "create_images", fresh_key, input=request, chat=chat)["job_id"] == first["job_id"]
    other = {"tool": "create_images", "input": request, "chat": wire.new_chat()}
    answer = wire("POST", "/jobs", json=other, headers={"Idempotency-Key": fresh_key})
    assert (answer.status_code, code(answer)) == (409, "idempotency_conflict")


def test_lookups_are_chat_scoped(wire: Wire) -> None:
    job = submit(wire, input=QUICK)
    assert code(wire("GET", f"/jobs/{job['job_id']}")) == "invalid_query"
    assert code(wire("GET", f"/jobs/{job['job_id']}", params={"chat": wire.new_chat()})) == "job_not_found"
    assert code(wire("GET", "/jobs/job_none", params={"chat": job["chat"]})) == "job_not_found"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"tool": "nothing"}, "tool_not_found"),
        ({}, "unsupported_tool_request"),
        ({"tool": 5}, "unsupported_tool_request"),
        ({"tool": "echo_job", "input": []}, "invalid_tool_input"),
        ({"tool": "echo_job", "input": {"steps": "many"}}, "invalid_tool_input"),
        ({"tool": "echo_job", "input": QUICK, "chat": "nonsense"}, "invalid_chat"),
        (
            {"tool": "create_images", "input": {"request": {"outputs": {"count": 0}}}},
            "invalid_tool_input",
        ),
    ],
)
def test_a_wrong_submit_is_named_by_its_code(wire: Wire, body: dict[str, Any], expected: str) -> None:
    assert code(wire("POST", "/jobs", json=body)) == expected


def test_an_agent_may_call_a_tool_and_its_files_are_the_runs(wire: Wire) -> None:
    run = wire.finish('call echo_job {"steps": 2, "seconds": 0.2, "files": {"a.txt": "x"}}\nsay done')
    types = [event["type"] for event in wire.events(run["run_id"])]
    assert types.index("tool.call") < types.index("job.submitted") < types.index("file.written")
    assert types.index("file.written") < types.index("tool.result")
    listed = wire("GET", "/files", params={"chat_id": run["chat"]}).json()["files"]
    assert [(file["path"], file["run_id"]) for file in listed] == [("a.txt", run["run_id"])]


def test_a_tool_that_fails_within_a_run_does_not_fail_the_run(wire: Wire) -> None:
    run = wire.finish("call nothing {}\ncall echo_job {}\nsay still here")
    results = [event["payload"] for event in wire.events(run["run_id"]) if event["type"] == "tool.result"]
    assert run["status"] == "completed"
    assert results[0]["is_error"]


def test_an_earlier_job_keeps_its_files_when_a_later_one_writes_the_same(wire: Wire) -> None:
    chat = wire.new_chat()
    jobs = [submit(wire, input=QUICK, chat=chat) for _ in range(2)]
    for job in jobs:
        assert ended(wire, job)["status"] == "succeeded"
        result = wire("GET", f"/jobs/{job['job_id']}/result", params={"chat": chat}).json()
        assert [file["path"] for file in result["files"]] == ["out/a.txt"]


def test_a_run_that_waits_for_its_job_is_cancelled_with_it(wire: Wire) -> None:
    """Many times: a cancellation must not be lost when it comes together with the job's progress."""
    started = [wire.start('call echo_job {"steps": 2000, "seconds": 20}') for _ in range(20)]

    def following(run: dict[str, Any]) -> bool:
        return any(event["type"] == "progress" for event in wire.events(run["run_id"]))

    for run in started:
        until(lambda run=run: following(run))  # type: ignore[misc]
        wire("POST", f"/runs/{run['run_id']}/cancel")

    def statuses() -> set[str]:
        return {wire("GET", f"/runs/{run['run_id']}").json()["status"] for run in started}

    assert until(statuses, lambda found: found.isdisjoint({"running", "cancelling"})) == {"cancelled"}


@pytest.mark.parametrize("params", [{"project": "nonsense"}, {"project": "proj_none"}, {"chat": "nonsense"}])
def test_a_lookup_with_a_wrong_reference_names_it(wire: Wire, params: dict[str, str]) -> None:
    job = submit(wire, input=QUICK)
    expected = {"nonsense": "invalid_", "proj_none": "project_not_found"}
    assert code(wire("GET", f"/jobs/{job['job_id']}", params=params)).startswith(expected[next(iter(params.values()))])


def test_a_job_without_files_answers_inline(wire: Wire) -> None:
    job = submit(wire, input={"steps": 0, "seconds": 0, "files": {}})
    ended(wire, job)
    result = wire("GET", f"/jobs/{job['job_id']}/result", params={"chat": job["chat"]}).json()
    assert (result["kind"], result["files"] or []) in (("inline", []), ("files", []))


def test_a_key_on_a_tool_that_is_not_idempotent_is_ignored(wire: Wire, fresh_key: str) -> None:
    first, second = (submit(wire, key=fresh_key, input=QUICK) for _ in range(2))
    assert first["job_id"] != second["job_id"]


def test_a_job_does_not_make_its_chat_busy(wire: Wire) -> None:
    chat = wire.new_chat()
    job = submit(wire, input=SLOW, chat=chat)
    assert wire.finish("say beside it", chat=chat)["output"] == "beside it"
    wire("POST", f"/jobs/{job['job_id']}/cancel", params={"chat": chat})
