"""Calling tools over HTTP (docs/api/tools-and-jobs.md): asynchronous ones, and direct ones that a test brings along."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
from pydantic import BaseModel

from agentsvc_nb.client.api import AgentService, AsyncAgentService
from agentsvc_nb.client.errors import StefanBrainError, ToolResultError
from agentsvc_nb.service.app import create_app
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.keyring import create_key, open_beside
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.port import Outcome, ToolContext, ToolDeclaration, WorkFailure
from agentsvc_nb.wire.tools import JobAccepted, ToolResult
from tests.service.api.conftest import Wire, code
from tests.service.api.test_jobs_http import QUICK, ended, submit


def invoke(wire: Wire, tool: str, key: str | None = None, **body: Any) -> httpx.Response:
    headers = {"Idempotency-Key": key} if key else {}
    return wire("POST", f"/tools/{tool}/invoke", json=body, headers=headers)


def test_an_asynchronous_tool_is_answered_as_a_submit(wire: Wire, client: AgentService) -> None:
    answer = invoke(wire, "echo_job", input=QUICK, session="invoked")
    assert answer.status_code == 202
    job, other = answer.json(), submit(wire, input=QUICK, session="invoked")
    assert job.keys() == other.keys()
    assert (job["type"], job["family"], job["chat"]) == ("tool_job", "echo", other["chat"])
    assert ended(wire, job)["status"] == "succeeded"
    accepted = client.tools.invoke("echo_job", QUICK)
    assert isinstance(accepted, JobAccepted)
    assert client.jobs.wait(accepted.job_id, chat=accepted.chat).status == "succeeded"


def test_a_key_is_the_same_for_submit_and_invoke(wire: Wire, fresh_key: str) -> None:
    given = {"request": {"brief": "Autumn sale"}}
    first = invoke(wire, "create_images", fresh_key, input=given).json()
    assert invoke(wire, "create_images", fresh_key, input=given).json()["job_id"] == first["job_id"]
    assert submit(wire, "create_images", fresh_key, input=given)["job_id"] == first["job_id"]
    conflict = invoke(wire, "create_images", fresh_key, input=given, chat="chat_none")
    assert code(conflict) == "chat_not_found", "references come before the key"


@pytest.mark.parametrize(
    ("tool", "body", "expected", "field"),
    [
        ("nothing", {}, "tool_not_found", None),
        ("echo_job", {"input": []}, "invalid_tool_input", "input"),
        ("echo_job", {"input": {"steps": "5"}}, "invalid_tool_input", "steps"),
        ("echo_job", {"input": {"steps": 1.5}}, "invalid_tool_input", "steps"),
        ("echo_job", {"input": {"files": {"a": 5}}}, "invalid_tool_input", "files.a"),
        ("create_images", {"input": {"request": {"outputs": {"count": "3"}}}}, "invalid_tool_input", None),
        ("create_images", {"input": {"request": {"kind": "video"}}}, "invalid_tool_input", "request.kind"),
        ("echo_job", {"input": QUICK, "chat": "nonsense"}, "invalid_chat", None),
        ("echo_job", {"input": QUICK, "project": "nonsense"}, "invalid_project", None),
        ("media_transcript", {"input": {}}, "invalid_tool_input", "media_id"),
    ],
)
def test_a_wrong_call_is_named(wire: Wire, tool: str, body: dict[str, Any], expected: str, field: str | None) -> None:
    answers = [invoke(wire, tool, **body), wire("POST", "/jobs", json={"tool": tool, **body})]
    assert [code(answer) for answer in answers] == [expected] * 2
    if field:
        assert answers[0].json()["error"]["field"] == field


def test_null_counts_as_absent_in_an_input(wire: Wire) -> None:
    answer = invoke(wire, "echo_job", input={**QUICK, "steps": None, "fail": None})
    assert ended(wire, answer.json())["status"] == "succeeded"


def test_a_malformed_key_is_refused(wire: Wire) -> None:
    assert code(invoke(wire, "echo_job", "not a key", input=QUICK)) == "invalid_idempotency_key"


def test_what_is_offered_from_outside_and_within_a_run(wire: Wire) -> None:
    """To ask, within a run, would be to wait for oneself."""
    listed = {tool["name"]: tool for tool in wire("GET", "/tools").json()["data"]}
    ask = listed["ask_stefanbrain"]
    assert (ask["family"], ask["asynchronous"], ask["idempotent"]) == ("mcp_ask", False, True)
    assert ask["input_schema"]["required"] == ["message"]
    assert listed["media_transcript"]["available"] is False
    run = wire.finish('call ask_stefanbrain {"message": "say x"}')
    results = [event["payload"] for event in wire.events(run["run_id"]) if event["type"] == "tool.result"]
    assert [result["is_error"] for result in results] == [True]


# -- direct tools ----------------------------------------------------------------------------------------------------


class ShoutInput(BaseModel):
    text: str
    times: int = 1


class Shout(ToolDeclaration):
    """A direct tool: writes what it was given in capitals, and fails when told to."""

    name: ClassVar[str] = "shout"
    description: ClassVar[str] = "Shouts."
    family: ClassVar[str] = "shout"
    asynchronous: ClassVar[bool] = False
    idempotent: ClassVar[bool] = False
    effect: ClassVar[bool] = False
    Input: ClassVar[type[BaseModel]] = ShoutInput
    Output: ClassVar[type[BaseModel] | None] = None

    def available(self) -> bool:
        return True

    async def run(self, given: ShoutInput, context: ToolContext) -> Outcome:
        if given.text == "fail":
            raise WorkFailure("not_configured", "Set AGENTSVC_VOICE.")
        if given.text == "break":
            raise RuntimeError("broken")
        await context.progress(1, 1, "shouting")
        await context.write("shout.txt", given.text.upper().encode() * given.times)
        for _ in range(2):
            context.charge("web_search")
        return Outcome(content=[{"type": "text", "text": given.text.upper()}], data={"times": given.times})


Answer = ToolResult | JobAccepted | Exception


class Direct:
    """A service in this process whose catalog has `shout`, asked with the real client."""

    def __init__(self, data: Path) -> None:
        self.folder = DataFolder(data)
        self.key = create_key(self.folder, name="test")
        self.app = create_app(Settings(data, model="scripted"), instance="test")
        self.app.state.service.services.tools["shout"] = Shout()

    def shout(self, *calls: dict[str, Any]) -> list[Answer]:
        """The answers, or what the client raised; `session` in a call is not the tool's."""
        return asyncio.run(self._shout(calls))

    async def _shout(self, calls: Sequence[dict[str, Any]]) -> list[Answer]:
        answers: list[Answer] = []
        transport = httpx.ASGITransport(self.app)
        async with (
            self.app.router.lifespan_context(self.app),
            AsyncAgentService(self.key, "http://service.test", transport=transport) as client,
        ):
            for given in calls:
                try:
                    answers.append(await client.tools.invoke("shout", given, session=given.pop("session", None)))
                except StefanBrainError as error:
                    answers.append(error)
        return answers


@pytest.fixture
def direct(tmp_path: Path) -> Direct:
    return Direct(tmp_path)


def test_a_direct_tool_answers_at_once_and_works_in_the_chat(direct: Direct) -> None:
    first, again, other = direct.shout({"text": "a"}, {"text": "b", "times": 3}, {"text": "c", "session": "mine"})
    assert isinstance(first, ToolResult)
    assert isinstance(again, ToolResult)
    assert isinstance(other, ToolResult)
    assert (first.tool, first.is_error, first.error, first.data) == ("shout", False, None, {"times": 1})
    assert first.content == [{"type": "text", "text": "A"}]
    assert first.chat == again.chat, "tools share a chat"
    assert other.chat != first.chat
    with open_beside(direct.folder) as database:
        rows = database.read(lambda tx: tx.all("SELECT chat, path, size_bytes FROM file ORDER BY size_bytes"))
        billed = database.read(lambda tx: tx.all("SELECT kind, quantity FROM usage"))
    assert [dict(row) for row in rows] == [
        {"chat": other.chat, "path": "shout.txt", "size_bytes": 1},
        {"chat": first.chat, "path": "shout.txt", "size_bytes": 3},
    ]
    assert [(row["kind"], row["quantity"]) for row in billed] == [("web_search", 6)]


def test_a_direct_tool_that_fails_is_an_answer_that_the_client_raises(direct: Direct) -> None:
    failed, broken, refused = direct.shout({"text": "fail"}, {"text": "break"}, {"text": "x", "times": "3"})
    assert isinstance(failed, ToolResultError)
    assert (failed.status, failed.code, str(failed.message)) == (
        200,
        "not_configured",
        "shout failed: Set AGENTSVC_VOICE.",
    )
    assert failed.body["is_error"] is True
    assert failed.body["content"] == [{"type": "text", "text": "Set AGENTSVC_VOICE."}]
    assert isinstance(broken, ToolResultError)
    assert broken.code == "agent_error"
    assert isinstance(refused, StefanBrainError)
    assert (refused.status, refused.code) == (400, "invalid_tool_input")


def test_a_direct_tool_is_not_submitted(wire: Wire) -> None:
    answer = wire("POST", "/jobs", json={"tool": "ask_stefanbrain", "input": {"message": "say x"}})
    assert (answer.status_code, code(answer)) == (400, "unsupported_tool_request")


def test_large_numbers_are_not_written_out(wire: Wire) -> None:
    """They took a body of 60 kB for one of 3 MB."""
    junk = b",".join([b"1e300"] * 9_000)
    body = b'{"input": {"steps": 1e300, "junk": [' + junk + b"]}}"
    answer = wire("POST", "/tools/echo_job/invoke", content=body)
    assert code(answer) == "invalid_tool_input"
    assert wire("POST", "/tools/echo_job/invoke", json={"input": {"steps": 2.0}}).status_code == 202
