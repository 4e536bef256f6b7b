"""What waits for a person's approval when an MCP client asks: runs, and direct calls of tools with effects (docs/mcp.md
"What waits for approval")."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.cli import main
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.runs import TERMINAL
from tests.service.api.mcp_caller import ELICITS, TASKS, McpCaller
from tests.service.api.signing import signed_in
from tests.support.waiting import until

CALL: dict[str, Any] = {"chat": "new", "steps": 1}


@pytest.fixture(scope="module")
def cautious() -> Iterator[RunningService]:
    """A service whose effects wait for approval."""
    with running_service(approve_effects=True) as found:
        yield found


@pytest.fixture
def mcp(cautious: RunningService) -> Iterator[McpCaller]:
    with McpCaller(cautious) as caller:
        yield caller


@pytest.fixture
def client(cautious: RunningService) -> Iterator[AgentService]:
    with AgentService(cautious.api_key, cautious.base_url) as client:
        yield client


def effects(service: RunningService) -> int:
    log = service.data / "effects.log"
    return len(log.read_text().splitlines()) if log.exists() else 0


def waiting(found: dict[str, Any]) -> dict[str, Any]:
    """The run that a result says to wait, with its approval."""
    said = found["structuredContent"]
    assert not found["isError"]
    assert said["status"] == "running"
    text = found["content"][0]["text"]
    assert text.startswith(f"Run {said['run_id']} waits for a person's approval")
    assert said["approval"]["page"] in text
    assert said["approval"]["command"] in text
    assert f"`get_run` with run_id {said['run_id']}" in text
    run: dict[str, Any] = said
    return run


def decided(mcp: McpCaller, run_id: str) -> dict[str, Any]:
    """The result of `get_run` once the run has ended."""
    while True:
        found = mcp.call("get_run", run_id=run_id)
        if found["structuredContent"]["status"] in TERMINAL:
            return found


@pytest.mark.parametrize("speaks", ["modern", "legacy"])
def test_an_ask_that_waits_says_so_at_once_and_how_to_approve(
    mcp: McpCaller, cautious: RunningService, client: AgentService, speaks: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {"message": 'call echo_job {"steps": 1}\nsay went on'}
    if speaks == "modern":
        found = mcp.call("ask", **asked)
    else:
        found = mcp.legacy("tools/call", name="ask", arguments=asked)[-1]["result"]
    run = waiting(found)
    assert [call["tool"] for call in run["approval"]["calls"]] == ["echo_job"]
    assert '{"steps": 1}' in found["content"][0]["text"]
    assert waiting(mcp.call("get_run", run_id=run["run_id"])) == run
    with signed_in(cautious) as browser:
        shown = browser.get(run["approval"]["page"], follow_redirects=True)
        assert "echo_job waits for your approval" in shown.text
    program, *command = shlex.split(run["approval"]["command"])
    assert program == "agentsvc"
    assert main([*command, "--data", str(cautious.data)]) == 0
    assert "Approved: echo_job" in capsys.readouterr().out
    ended = decided(mcp, run["run_id"])
    assert ended["content"][0]["text"] == "went on"
    assert "approval" not in ended["structuredContent"]


def test_a_direct_call_with_an_effect_waits_and_is_made_once_it_is_approved(
    mcp: McpCaller, cautious: RunningService, client: AgentService
) -> None:
    before = effects(cautious)
    run = waiting(mcp.call("echo_job", **CALL, files={"made.txt": "x"}))
    assert effects(cautious) == before
    client.runs.approve(run["run_id"], run["approval"]["calls"][0]["call_id"])
    ended = decided(mcp, run["run_id"])
    assert (ended["isError"], ended["structuredContent"]["data"]["steps"]) == (False, 1)
    assert [file["path"] for file in ended["structuredContent"]["files"]] == ["made.txt"]
    assert effects(cautious) == before + 1
    assert client.tools.invoke("echo_job", {"steps": 1}), "a program's own call over HTTP does not wait"


@pytest.mark.parametrize("verdict", ["refused", "cancelled"])
def test_a_direct_call_that_is_not_approved_has_no_effect_and_says_why(
    mcp: McpCaller, cautious: RunningService, client: AgentService, verdict: str
) -> None:
    before = effects(cautious)
    run = waiting(mcp.call("echo_job", **CALL))
    if verdict == "refused":
        client.runs.refuse(run["run_id"], run["approval"]["calls"][0]["call_id"], reason="Not before Monday.")
    else:
        told = mcp.call("cancel_run", run_id=run["run_id"])
        assert told["structuredContent"]["status"] in ("cancelling", "cancelled")
    ended = decided(mcp, run["run_id"])
    assert not ended["isError"], "it was read without an error"
    error = ended["structuredContent"]["error"]
    expected = ("not_approved", "Not before Monday.") if verdict == "refused" else ("cancelled", "cancelled")
    assert error["code"] == expected[0]
    assert expected[1] in error["message"]
    assert effects(cautious) == before


@pytest.mark.parametrize(("confirm", "code"), [(True, None), (False, "not_approved")])
def test_a_direct_call_as_a_task_is_asked_of_the_user(
    cautious: RunningService, confirm: bool, code: str | None
) -> None:
    with McpCaller(cautious, capabilities=ELICITS) as caller:
        listed = {tool["name"]: tool for tool in caller.ask("tools/list")["tools"]}
        task = caller.call("echo_job", **CALL)["taskId"]
        asked = until(lambda: caller.ask("tasks/get", taskId=task), lambda now: now["status"] == "input_required")
        [(key, form)] = asked["inputRequests"].items()
        assert '"steps": 1' in form["params"]["message"]
        answer = {"action": "accept", "content": {"confirm": confirm}}
        caller.ask("tasks/update", taskId=task, inputResponses={key: answer})
        result = caller.ended(task)["result"]
        jsonschema.validate(result["structuredContent"], listed["echo_job"]["outputSchema"])
        assert result["structuredContent"].get("error", {}).get("code") == code


def test_a_task_whose_client_cannot_ask_the_user_says_how_to_approve(cautious: RunningService) -> None:
    with McpCaller(cautious, capabilities=TASKS) as caller:
        task = caller.call("echo_job", **CALL)["taskId"]
        now = until(lambda: caller.ask("tasks/get", taskId=task), lambda now: "statusMessage" in now)
        assert now["status"] == "working"
        assert f"agentsvc runs approve {task}" in now["statusMessage"]
        caller.ask("tasks/cancel", taskId=task)
        assert caller.ended(task)["status"] == "cancelled"


def test_a_page_that_nobody_approved_is_not_fetched_by_a_direct_call(mcp: McpCaller) -> None:
    """Its address may carry out what the model knows; that the model itself wrote it is no approval."""
    run = waiting(mcp.call("review_funnel", chat="new", url="https://shop.example/?secret=1"))
    assert run["approval"]["calls"][0]["tool"] == "review_funnel"
    mcp.call("cancel_run", run_id=run["run_id"])
    free = mcp.call("review_copy", chat="new", text="Sale")
    assert free["structuredContent"]["data"], "a tool without an effect does not wait"


def test_a_wrong_call_is_refused_before_anybody_is_asked(mcp: McpCaller) -> None:
    found = mcp.call("echo_job", **{**CALL, "steps": -1})
    assert found["structuredContent"]["error"]["code"] == "invalid_tool_input"


def test_a_second_call_in_the_chat_says_which_run_it_waits_for(mcp: McpCaller) -> None:
    first = waiting(mcp.call("echo_job", steps=1))
    second = mcp.call("echo_job", steps=2)
    error = second["structuredContent"]["error"]
    assert error["code"] == "agent_run_rejected"
    assert first["run_id"] in error["message"]
    mcp.call("cancel_run", run_id=first["run_id"])


def test_a_call_that_waits_outlives_a_crash(mcp: McpCaller, cautious: RunningService) -> None:
    before = effects(cautious)
    run = waiting(mcp.call("echo_job", **CALL))
    cautious.kill()
    cautious.start()
    with McpCaller(cautious) as again, AgentService(cautious.api_key, cautious.base_url) as client:
        until(lambda: again.call("get_run", run_id=run["run_id"])["structuredContent"] == run)
        client.runs.approve(run["run_id"], run["approval"]["calls"][0]["call_id"])
        assert decided(again, run["run_id"])["structuredContent"]["data"]["steps"] == 1
    assert effects(cautious) == before + 1
