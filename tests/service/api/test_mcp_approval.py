"""What waits for a person's approval when an MCP client asks: runs, and direct calls of tools with effects (docs/mcp.md
"What waits for approval")."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.cli import main
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.routes import V1
from agentsvc_nb.wire.runs import TERMINAL
from tests.service.api.conftest import signed_in
from tests.service.api.mcp_caller import ELICITS, TASKS, McpCaller
from tests.service.api.service_fixture import CAREFUL, ServiceFixture
from tests.service.api.test_approval import effects
from tests.support.waiting import until

CALL: dict[str, Any] = {"chat": "new", "steps": 1}
ASK = 'call echo_job {"steps": 1, "files": {"\\u202e\\u3164.txt": "x"}}\nsay went on'


@pytest.fixture(scope="module")
def cautious(stage: ServiceFixture) -> RunningService:
    """A service whose effects wait for approval."""
    return stage.other(**CAREFUL)


@pytest.fixture
def mcp(cautious: RunningService) -> Iterator[McpCaller]:
    with McpCaller(cautious) as caller:
        yield caller


@pytest.fixture
def asking(cautious: RunningService) -> Iterator[McpCaller]:
    """A client that takes tasks and can ask its user."""
    with McpCaller(cautious, capabilities=ELICITS) as caller:
        yield caller


@pytest.fixture
def client(cautious: RunningService) -> Iterator[AgentService]:
    with AgentService(cautious.api_key, cautious.base_url) as client:
        yield client


def waiting(found: dict[str, Any]) -> dict[str, Any]:
    """The run that a result says to wait, with its approval."""
    run: dict[str, Any] = found["structuredContent"]
    assert (found["isError"], run["status"]) == (False, "running")
    text = found["content"][0]["text"]
    assert all(told in text for told in (run["run_id"], run["approval"]["page"], run["approval"]["command"]))
    return run


def decided(mcp: McpCaller, run_id: str) -> dict[str, Any]:
    """The result of `get_run` once the run has ended."""
    return until(
        lambda: mcp.call("get_run", run_id=run_id), lambda found: found["structuredContent"]["status"] in TERMINAL
    )


def form(caller: McpCaller, task: str) -> tuple[str, str]:
    """The key and the text of what a task asks its user."""
    found = until(lambda: caller.ask("tasks/get", taskId=task), lambda now: now["status"] == "input_required")
    [(key, asked)] = found["inputRequests"].items()
    return key, asked["params"]["message"]


def test_an_ask_that_waits_says_so_at_once_and_how_to_approve(
    mcp: McpCaller, cautious: RunningService, capsys: pytest.CaptureFixture[str]
) -> None:
    run = waiting(mcp.call("ask", message=ASK))
    assert [call["tool"] for call in run["approval"]["calls"]] == ["echo_job"]
    assert waiting(mcp.call("get_run", run_id=run["run_id"])) == run
    with signed_in(cautious) as browser:
        assert "echo_job" in browser.get(run["approval"]["page"], follow_redirects=True).text
    program, *command = shlex.split(run["approval"]["command"])
    assert program == "agentsvc"
    assert main([*command, "--data", str(cautious.data)]) == 0
    assert "echo_job" in capsys.readouterr().out
    ended = decided(mcp, run["run_id"])
    assert ended["content"][0]["text"] == "went on"
    assert "approval" not in ended["structuredContent"]


def test_a_direct_call_with_an_effect_waits_also_over_a_crash_and_is_made_once_it_is_approved(
    mcp: McpCaller, cautious: RunningService
) -> None:
    before = effects(cautious)
    run = waiting(mcp.call("echo_job", **CALL, files={"made.txt": "x"}))
    assert effects(cautious) == before
    cautious.kill()
    cautious.start()
    with McpCaller(cautious) as again, AgentService(cautious.api_key, cautious.base_url) as client:
        until(lambda: again.call("get_run", run_id=run["run_id"])["structuredContent"] == run)
        client.runs.approve(run["run_id"], run["approval"]["calls"][0]["call_id"])
        ended = decided(again, run["run_id"])
        assert (ended["isError"], ended["structuredContent"]["data"]["steps"]) == (False, 1)
        assert [file["path"] for file in ended["structuredContent"]["files"]] == ["made.txt"]
        assert effects(cautious) == before + 1
        client.tools.invoke("echo_job", {"steps": 1})  # a program's own call over HTTP does not wait for approval
        until(lambda: effects(cautious) == before + 2)


@pytest.mark.parametrize("verdict", ["not_approved", "cancelled"])
def test_a_direct_call_that_is_not_approved_has_no_effect_and_says_why(
    mcp: McpCaller, cautious: RunningService, client: AgentService, verdict: str
) -> None:
    before = effects(cautious)
    run = waiting(mcp.call("echo_job", **CALL))
    if verdict == "cancelled":
        mcp.call("cancel_run", run_id=run["run_id"])
    else:
        client.runs.refuse(run["run_id"], run["approval"]["calls"][0]["call_id"], reason="Not before Monday.")
    ended = decided(mcp, run["run_id"])
    error = ended["structuredContent"]["error"]
    assert (ended["isError"], error["code"]) == (False, verdict), "it was read without an error"
    assert verdict == "cancelled" or "Not before Monday." in error["message"]
    assert effects(cautious) == before


def test_a_call_within_a_run_is_asked_of_the_user(asking: McpCaller) -> None:
    response = {"action": "decline"}
    task = asking.call("ask", message=ASK)["taskId"]
    key, text = form(asking, task)
    assert r"\u202e\u3164.txt" in text
    for ignored in ({"action": "cancel"}, 5, {"action": "accept", "content": {}}):
        asking.ask("tasks/update", taskId=task, inputResponses={key: ignored, "approval_other": response})
    assert form(asking, task)[0] == key
    asking.ask("tasks/update", taskId=task, inputResponses={key: response})
    assert asking.ended(task)["status"] == "completed"
    events = asking.http.get(f"{V1}/runs/{task}/events").json()["data"]
    assert [one["payload"]["approved"] for one in events if one["type"] == "approval.decided"] == [False]


@pytest.mark.parametrize(("key", "capabilities"), [({"scopes": ("mcp",)}, ELICITS), ({}, TASKS)])
def test_who_may_not_or_cannot_approve_is_told_how(
    cautious: RunningService, client: AgentService, key: dict[str, Any], capabilities: dict[str, Any]
) -> None:
    with McpCaller(cautious, cautious.create_key(**key), capabilities) as caller:
        task = caller.call("ask", message=ASK)["taskId"]
        until(lambda: "approval.requested" in [event.type for event in client.runs.events(task).data])
        now = until(lambda: caller.ask("tasks/get", taskId=task), lambda now: "statusMessage" in now)
        assert now["status"] == "working"
        assert f"agentsvc runs approve {task}" in now["statusMessage"]
        caller.ask("tasks/cancel", taskId=task)
