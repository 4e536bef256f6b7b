"""The service as a server of MCP, by HTTP (docs/mcp.md "The service as a server")."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import jsonschema
import pytest

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.routes import MCP
from tests.service.api.conftest import signed_in
from tests.service.api.mcp_caller import LEGACY, MODERN, TASKS, McpCaller, meta, streamed

INVALID, MISMATCH, MISSING, VERSION, UNKNOWN, FAULT = -32602, -32020, -32021, -32022, -32601, -32603
PICTURE = ("dot.png", b"\x89PNG\r\n\x1a\n" + bytes(100))
BINARY = ("parts.bin", bytes(range(256)) * 4)


@pytest.fixture
def mcp(service: RunningService) -> Iterator[McpCaller]:
    with McpCaller(service) as caller:
        yield caller


@pytest.fixture
def tasks(service: RunningService) -> Iterator[McpCaller]:
    with McpCaller(service, capabilities=TASKS) as caller:
        yield caller


def code(answer: httpx.Response) -> tuple[int, Any]:
    return answer.status_code, answer.json()["error"]["code"]


def said(found: dict[str, Any]) -> dict[str, Any]:
    """The structured result of a call that did not fail."""
    assert not found["isError"], found
    content: dict[str, Any] = found["structuredContent"]
    return content


def test_a_wrong_key_and_a_cookie_are_401(service: RunningService) -> None:
    for key in ("", "svc_sk_wrong"):
        with McpCaller(service, key) as caller:
            answer = caller.send("tools/list")
            assert code(answer) == (401, "unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"
    with signed_in(service) as browser:
        answer = browser.post(MCP.path, json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert code(answer) == (401, "unauthorized")


@pytest.mark.rule("`POST /mcp` takes keys with the scope `mcp`.")
@pytest.mark.parametrize(
    ("key", "status"),
    [
        ({"scopes": ("mcp",)}, 200),
        ({"scopes": ("mcp", "runs"), "budget_cents": 5}, 200),
        ({"scopes": ("runs", "tools", "jobs")}, 403),
        ({"budget_cents": 5}, 403),
        ({"member": True}, 200),
    ],
)
def test_the_scope_opens_it_and_a_budget_needs_it_named(
    service: RunningService, key: dict[str, Any], status: int
) -> None:
    with McpCaller(service, service.create_key(**key)) as caller:
        answer = caller.send("tools/list")
        assert answer.status_code == status
        assert status == 200 or answer.json()["error"]["code"] == "api_key_scope_forbidden"


@pytest.mark.rule("`POST /mcp` refuses pages of other origins.")
def test_another_sites_page_is_refused_before_its_key_is_seen(service: RunningService) -> None:
    with McpCaller(service, "") as caller:
        for origin in ("http://elsewhere.example", "null", f"{service.base_url}1"):
            assert code(caller.send("tools/list", {"Origin": origin})) == (403, "foreign_origin")
    with McpCaller(service) as caller:
        assert caller.send("tools/list", {"Origin": service.base_url}).status_code == 200


def test_headers_say_what_the_body_says_in_a_known_version(mcp: McpCaller) -> None:
    for name, value in {"Mcp-Method": "tools/call", "Mcp-Name": "x", "MCP-Protocol-Version": "1999-01-01"}.items():
        assert code(mcp.send("resources/read", {name: value}, uri="agentsvc://chat_1/a.txt")) == (400, MISMATCH)
    message = mcp.request("tools/list", _meta={**meta(), "io.modelcontextprotocol/protocolVersion": "2031-01-01"})
    answer = mcp.post(message, {**mcp.repeated(message), "MCP-Protocol-Version": "2031-01-01"})
    assert code(answer) == (400, VERSION)
    assert MODERN in answer.json()["error"]["data"]["supported"]
    for method in ("tools/nothing", "initialize", "tasks/list"):
        assert mcp.refused(method) == (404, UNKNOWN)
    assert mcp.refused("tools/call", name="nothing", arguments={}) == (200, INVALID)


def test_older_clients_begin_with_initialize(mcp: McpCaller) -> None:
    for version in (LEGACY, "2001-01-01", "2025-03-26"):  # the last one would require batches
        [begun] = mcp.legacy("initialize", protocolVersion=version, capabilities={}, clientInfo={})
        assert begun["result"]["protocolVersion"] == LEGACY
    [listed] = mcp.legacy("tools/list")
    assert "resultType" not in listed["result"]
    last = mcp.legacy("tools/call", name="ask", arguments={"message": "say hello"})[-1]
    assert last["result"]["structuredContent"]["output"] == "hello"


def test_a_result_counts_the_numbers_of_an_answer_and_does_not_list_them(mcp: McpCaller) -> None:
    """The list would fill the context of the client's model."""
    number = {"start": 0, "end": 1, "text": "7", "status": "not_found"}
    basis = {"basis": "written", "numbers": [number], "number_counts": {"not_found": 1}}
    asked = said(mcp.call("ask", message=f"say 7\nbasis {json.dumps(basis)}"))
    assert asked["basis"]["number_counts"] == {"not_found": 1}
    assert asked["basis"]["numbers"] == []


def test_the_list_of_tools_is_small_and_its_schemas_stand_alone(mcp: McpCaller) -> None:
    """Clients put the whole list into each request to their model."""
    assert len(mcp.send("tools/list").content) < 30_000
    found = {tool["name"]: tool for tool in mcp.ask("tools/list")["tools"]}
    assert {"ask", "search_files", "get_run", "cancel_job", "send_email", "create_images"} <= found.keys()
    assert found["get_run"]["annotations"]["readOnlyHint"]
    assert {"chat", "project", "session"} <= found["send_email"]["inputSchema"]["properties"].keys()
    assert "$ref" not in json.dumps(found)
    for tool in found.values():
        for schema in ("inputSchema", "outputSchema"):
            jsonschema.Draft202012Validator.check_schema(tool[schema])


def test_results_are_what_the_listed_schemas_say(mcp: McpCaller, tasks: McpCaller, client: AgentService) -> None:
    """Clients check that, and refuse what is not, or a result without `structuredContent`: the official ones did."""
    listed = {tool["name"]: tool["outputSchema"] for tool in mcp.ask("tools/list")["tools"]}
    asked = said(mcp.call("ask", message="write a.txt summer\nsay done"))
    run, chat = {"run_id": asked["run_id"]}, asked["chat"]
    client.files.upload(BINARY, ("empty.txt", b""), chat=chat)
    job = {"job_id": said(mcp.call("echo_job", chat=chat, files={"b.txt": "x"}))["job_id"]}
    given: list[tuple[str, dict[str, Any]]] = [
        ("ask", {}),
        ("echo_job", {"fail": "It broke."}),
        ("get_run", run),
        ("cancel_run", run),
        ("get_job", job),
        ("cancel_job", job),
        ("list_chats", {}),
        ("list_files", {"chat": chat}),
        ("search_files", {"chat": chat, "q": "summer"}),
        *(("read_file", {"chat": chat, "path": path}) for path in ("a.txt", "uploads/parts.bin", "uploads/empty.txt")),
    ]
    for name, arguments in given:
        found = mcp.call(name, **arguments)
        jsonschema.validate(found["structuredContent"], listed[name])
        assert any(block["type"] == "text" for block in found["content"])
    ended = tasks.ended(tasks.call("ask", message="say x")["taskId"])
    jsonschema.validate(ended["result"]["structuredContent"], listed["ask"])


def test_an_unknown_argument_is_refused_with_the_known_ones(mcp: McpCaller) -> None:
    """A model that guesses a name would be told that its files were read."""
    files = [{"name": "a", "contents": "x"}]
    error = mcp.call("ask", message="say x", files=files)["structuredContent"]["error"]
    assert error["code"] == "invalid_tool_input"
    assert "`base64`" in error["message"].partition("`files.0.contents`")[2]


def test_an_ask_takes_files_as_text_or_base64(mcp: McpCaller) -> None:
    files = [
        {"name": "../notes.txt", "text": "summer süße"},
        {"name": "dot.png", "base64": base64.b64encode(PICTURE[1]).decode()},
    ]
    chat = said(mcp.call("ask", message="say seen", files=files))["chat"]
    listed = {one["path"]: one["size_bytes"] for one in said(mcp.call("list_files", chat=chat))["files"]}
    assert listed == {"uploads/notes.txt": 13, "uploads/dot.png": 108}
    assert said(mcp.call("read_file", chat=chat, path="uploads/notes.txt"))["text"] == "summer süße"


def test_a_run_is_a_task_for_who_takes_one(tasks: McpCaller) -> None:
    begun = tasks.call("ask", message="wait 0.2\nsay done")
    assert (begun["resultType"], begun["status"]) == ("task", "working")
    ended = tasks.ended(begun["taskId"])
    assert ended["status"] == "completed"
    assert ended["result"]["structuredContent"]["run_id"] == begun["taskId"]
    failed = tasks.ended(tasks.call("ask", message="fail internal_error It broke.")["taskId"])
    assert (failed["status"], failed["error"]["code"], failed.get("result")) == ("failed", FAULT, None)


def test_a_task_is_for_who_takes_one_and_knows_it(mcp: McpCaller, tasks: McpCaller) -> None:
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        assert mcp.refused(method, taskId="x") == (400, MISSING)
    for task in ("x", "job_unknown", str(uuid.uuid4())):
        assert tasks.refused("tasks/get", taskId=task) == (200, INVALID)


def test_news_of_tasks_come_on_a_stream(tasks: McpCaller) -> None:
    task = tasks.call("ask", message="wait 0.3\nsay done")["taskId"]
    seen = []
    with tasks.opened("subscriptions/listen", notifications={"taskIds": [task, "job_unknown"]}) as answer:
        for message in streamed(answer.iter_lines()):
            seen.append(message)
            if message["params"].get("status") == "completed":
                break
    assert seen[0]["method"] == "notifications/subscriptions/acknowledged"
    assert seen[0]["params"]["notifications"] == {"taskIds": [task]}
    assert len({one["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] for one in seen}) == 1
    assert seen[-1]["params"]["result"]["content"][0]["text"] == "done"
