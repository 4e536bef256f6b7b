"""Rules of tools and jobs, one by one (docs/api/tools-and-jobs.md)."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest

from agentsvc_nb.testing import RunningService
from tests.service.api.conftest import Opened, Wire, code
from tests.service.api.refused_for_now import PICTURE
from tests.service.api.service_fixture import ServiceFixture

NO_UUID: Final = "00000000-0000-0000-0000-000000000000"


def submit(wire: Wire, tool: str = "create_images", key: str | None = None, **body: Any) -> dict[str, Any]:
    headers = {"Idempotency-Key": key} if key else {}
    given = PICTURE if tool == "create_images" else {"steps": 0}
    answer = wire("POST", "/jobs", json={"tool": tool, "input": given, **body}, headers=headers)
    assert answer.status_code == 202, answer.text
    document: dict[str, Any] = answer.json()
    return document


def test_an_acceptance_has_its_fields(wire: Wire) -> None:
    accepted = submit(wire)
    assert set(accepted) == {"type", "tool", "family", "job_id", "chat", "status", "recommended_poll_after_ms"}
    assert (accepted["type"], accepted["family"], accepted["status"]) == ("tool_job", "static_ad", "queued")


def test_a_tool_of_the_catalog_has_its_fields(wire: Wire) -> None:
    for tool in wire("GET", "/tools").json()["data"]:
        assert tool["object"] == "tool"
        assert re.fullmatch(r"[a-z_]+", tool["name"])
        assert all(isinstance(tool[name], str) and tool[name] for name in ("description", "family"))
        flags = ("asynchronous", "idempotent", "effect", "available")
        assert all(isinstance(tool[name], bool) for name in flags)
        assert tool["input_schema"]["type"] == "object"
        assert "output_schema" in tool


def test_echo_job_is_there_with_the_scripted_model_alone(offline_service: RunningService, opened: Opened) -> None:
    wire = opened(offline_service)
    assert "echo_job" not in {tool["name"] for tool in wire("GET", "/tools").json()["data"]}
    assert code(wire("POST", "/jobs", json={"tool": "echo_job", "input": {"steps": 0}})) == "tool_not_found"


def test_the_result_of_a_failed_job_is_its_error(stage: ServiceFixture) -> None:
    job = stage.job(steps=0, fail="no luck")
    stage.ended(job)
    answer = stage.wire("GET", f"/jobs/{job['job_id']}/result", params={"chat": job["chat"]})
    result = answer.json()
    assert (answer.status_code, result["status"], result["is_error"]) == (200, "failed", True)
    assert "no luck" in result["error"]["message"]
    assert result["error"]["code"]


def test_what_has_ended_is_not_changed_by_a_cancel(stage: ServiceFixture) -> None:
    job = stage.job(steps=0)
    ended, look = stage.ended(job), {"chat": job["chat"]}
    for _ in range(2):
        answer = stage.wire("POST", f"/jobs/{job['job_id']}/cancel", params=look)
        assert (answer.status_code, answer.json()["status"], answer.json()["ended_at"]) == (
            200,
            "succeeded",
            ended["ended_at"],
        )


def test_a_job_is_found_by_the_project_and_session_of_its_submit(wire: Wire, fresh_key: str) -> None:
    project = wire("POST", "/projects", json={"name": "Spring"}).json()["id"]
    job = submit(wire, "echo_job", project=project, session=fresh_key)
    path = f"/jobs/{job['job_id']}"
    for where in ({"project": project, "session": fresh_key}, {"chat": job["chat"]}):
        assert wire("GET", path, params=where).json()["chat"] == job["chat"]
    for elsewhere in ({"session": fresh_key}, {"project": project}, {"session": "another"}):
        answer = wire("GET", path, params=elsewhere)
        assert (answer.status_code, code(answer)) == (404, "job_not_found")


def test_tools_share_a_chat_in_each_project(wire: Wire) -> None:
    project = wire("POST", "/projects", json={"name": "Spring"}).json()["id"]
    inside, again = (submit(wire, "echo_job", project=project)["chat"] for _ in range(2))
    assert inside == again != submit(wire, "echo_job")["chat"]


def test_a_key_counts_within_its_family(wire: Wire, fresh_key: str) -> None:
    first = submit(wire, key=fresh_key)
    assert submit(wire, key=fresh_key)["job_id"] == first["job_id"]
    asked = wire(
        "POST",
        "/tools/ask_stefanbrain/invoke",
        json={"input": {"message": "say x"}, "chat": "new"},
        headers={"Idempotency-Key": fresh_key},
    )
    assert asked.json()["data"]["answer"] == "x"


def test_a_replay_is_the_original_acceptance_also_once_the_job_has_ended(stage: ServiceFixture, fresh_key: str) -> None:
    first = submit(stage.wire, key=fresh_key)
    stage.ended(first)
    again = submit(stage.wire, key=fresh_key)
    assert (again["job_id"], again["status"], again["chat"]) == (first["job_id"], "queued", first["chat"])


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("chat", NO_UUID, "chat_not_found"),
        ("chat", "chat_" + "a" * 64, "chat_not_found"),
        ("chat", "chat_" + "a" * 65, "invalid_chat"),
        ("chat", "chat_", "invalid_chat"),
        ("chat", "", "invalid_chat"),
        ("project", NO_UUID, "project_not_found"),
        ("project", "proj_" + "a" * 65, "invalid_project"),
        ("project", NO_UUID[:-1], "invalid_project"),
    ],
)
@pytest.mark.parametrize("path", ["/runs", "/jobs"])
def test_a_reference_is_an_id_of_its_form_or_a_uuid(
    wire: Wire, path: str, field: str, value: str, expected: str
) -> None:
    body = {"message": "say x", "tool": "echo_job", "input": {"steps": 0}, field: value}
    assert code(wire("POST", path, json=body)) == expected


def test_new_is_a_chat_for_tools_alone(wire: Wire) -> None:
    assert submit(wire, "echo_job", chat="new")["chat"].startswith("chat_")
    assert code(wire("POST", "/runs", json={"message": "say x", "chat": "new"})) == "invalid_chat"


def test_null_counts_as_absent_and_unknown_fields_are_ignored(wire: Wire) -> None:
    assert submit(wire, "echo_job", chat=None, project=None, session=None, unheard_of=1)["status"] == "queued"
