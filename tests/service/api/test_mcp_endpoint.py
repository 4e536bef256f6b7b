"""The service as a server of MCP, by HTTP (docs/mcp.md "The service as a server")."""

from __future__ import annotations

import base64
import json
import re
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import jsonschema
import pytest

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.limits import JSON_MAX_BYTES, MCP_BODY_BYTES
from agentsvc_nb.wire.routes import MCP
from tests.service.api.mcp_caller import ELICITS, LEGACY, MODERN, TASKS, McpCaller, announced, messages, meta
from tests.service.api.signing import signed_in
from tests.support.waiting import until

INVALID, MISMATCH, MISSING, VERSION, UNKNOWN = -32602, -32020, -32021, -32022, -32601
PICTURE = ("dot.png", b"\x89PNG\r\n\x1a\n" + bytes(100))
BINARY = ("parts.bin", bytes(range(256)) * 4)
UPLOADED = [f"uploads/{name}" for name, _ in (PICTURE, BINARY)]


@pytest.fixture
def mcp(service: RunningService) -> Iterator[McpCaller]:
    with McpCaller(service) as caller:
        yield caller


@pytest.fixture
def tasks(service: RunningService) -> Iterator[McpCaller]:
    with McpCaller(service, capabilities=TASKS) as caller:
        yield caller


@pytest.fixture(scope="module")
def cautious() -> Iterator[RunningService]:
    """A service whose effects wait for approval."""
    with running_service(approve_effects=True) as found:
        yield found


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


# -- who may ask -------------------------------------------------------------------------------------------------------


def test_without_a_key_or_with_a_wrong_one_it_is_401(service: RunningService) -> None:
    for key in ("", "svc_sk_wrong"):
        with McpCaller(service, key) as caller:
            answer = caller.send("tools/list")
            assert code(answer) == (401, "unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"
            assert "agentsvc keys create --name mcp --scope mcp" in answer.json()["error"]["message"]


def test_either_header_carries_the_key(service: RunningService) -> None:
    with McpCaller(service, "") as caller:
        assert caller.send("tools/list", {"x-api-key": service.api_key}).status_code == 200


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


def test_the_scope_opens_no_other_route_but_two(service: RunningService) -> None:
    with McpCaller(service, service.create_key(scopes=("mcp",))) as caller:
        prefix = MCP.path.removesuffix("/mcp")
        assert caller.http.get(f"{prefix}/models").status_code == 200
        assert caller.http.get(f"{prefix}/tools").status_code == 403


def test_another_sites_page_is_refused_before_its_key_is_seen(service: RunningService) -> None:
    with McpCaller(service, "") as caller:
        for origin in ("http://elsewhere.example", "null", f"{service.base_url}1"):
            assert code(caller.send("tools/list", {"Origin": origin})) == (403, "foreign_origin")
    with McpCaller(service) as caller:
        assert caller.send("tools/list", {"Origin": service.base_url}).status_code == 200


def test_the_operator_names_other_origins() -> None:
    with running_service(origins="https://editor.example") as open_to_it, McpCaller(open_to_it) as caller:
        assert caller.send("tools/list", {"Origin": "https://editor.example"}).status_code == 200
        for origin in ("http://editor.example", "https://editor.example:8443", "https://editor.example.evil.example"):
            assert code(caller.send("tools/list", {"Origin": origin})) == (403, "foreign_origin")


def test_a_cookie_is_no_key(service: RunningService) -> None:
    with signed_in(service) as browser:
        answer = browser.post(MCP.path, json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert code(answer) == (401, "unauthorized")


def test_only_posts_are_taken(mcp: McpCaller) -> None:
    for method in ("GET", "DELETE", "PUT"):
        answer = mcp.http.request(method, MCP.path)
        assert code(answer) == (405, "method_not_allowed")
        assert answer.headers["allow"] == "POST"


# -- how large, how often, at whose cost -------------------------------------------------------------------------------


def test_a_body_over_150_mb_is_refused_by_its_length(service: RunningService) -> None:
    assert code(announced(service, MCP_BODY_BYTES + 1)) == (413, "request_too_large")


def test_a_message_has_the_size_of_a_start(mcp: McpCaller) -> None:
    answer = mcp.post(b'{"jsonrpc":"2.0","x":"' + b"x" * JSON_MAX_BYTES + b'"}')
    assert code(answer) == (413, "attachment_too_large")


def test_what_is_asked_for_here_goes_on_the_plan(service: RunningService) -> None:
    with running_service(wallet_cents=0, plan_pool_cents=2, run_hold_cents=0) as poor, McpCaller(poor) as caller:
        first = caller.call("ask", message="usage 30000 0\nsay paid by the plan")
        assert not first["isError"], first
        refused = caller.call("ask", message="say no more")
        assert refused["isError"]
        assert refused["structuredContent"]["error"]["code"] == "monthly_usage_limit_reached"


def test_requests_are_counted_but_looks_are_not() -> None:
    with running_service(rate_per_day=3) as rated, McpCaller(rated, capabilities=TASKS) as caller:
        begun = caller.call("ask", message="say hello")
        job = caller.call("echo_job", chat="new")
        for _ in range(5):
            caller.ask("tasks/get", taskId=begun["taskId"])
            caller.ask("server/discover")
            assert not caller.call("get_run", run_id=begun["taskId"])["isError"]
            assert not caller.call("get_job", job_id=job["taskId"])["isError"]
            for method in ("initialize", "ping"):
                assert "result" in caller.legacy(method)[0]
        caller.ask("tools/list")
        answer = caller.send("tools/list")
        assert code(answer) == (429, "request_per_day")
        assert answer.headers["retry-after"]


# -- the protocol ------------------------------------------------------------------------------------------------------


def test_discovery_tells_what_there_is(mcp: McpCaller) -> None:
    found = mcp.ask("server/discover")
    assert found["resultType"] == "complete"
    assert MODERN in found["supportedVersions"]
    assert found["capabilities"]["extensions"] == TASKS["extensions"]
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "agentsvc-nb"


@pytest.mark.parametrize("left_out", ["protocolVersion", "clientCapabilities"])
def test_a_request_says_who_asks(mcp: McpCaller, left_out: str) -> None:
    said = {name: value for name, value in meta().items() if not name.endswith(left_out)}
    message = mcp.request("tools/list", _meta=said)
    answer = mcp.post(message, mcp.repeated(message))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, INVALID)
    assert answer.json()["id"] == message["id"]


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Mcp-Method", "tools/call"),
        ("Mcp-Method", ""),
        ("Mcp-Name", "another"),
        ("Mcp-Name", "=?base64?broken?="),
        ("MCP-Protocol-Version", "1999-01-01"),
    ],
)
def test_headers_say_what_the_body_says(mcp: McpCaller, header: str, value: str) -> None:
    answer = mcp.send("resources/read", {header: value}, uri="agentsvc://chat_1/a.txt")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, MISMATCH)


def test_a_name_may_come_in_base64(mcp: McpCaller) -> None:
    uri = f"agentsvc://chat_{uuid.uuid4().hex}/Übersicht.csv"
    encoded = f"=?base64?{base64.b64encode(uri.encode()).decode()}?="
    answer = mcp.send("resources/read", {"Mcp-Name": encoded}, uri=uri)
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, INVALID)


def test_an_unknown_version_is_told_which_there_are(mcp: McpCaller) -> None:
    named = {**meta(), "io.modelcontextprotocol/protocolVersion": "2031-01-01"}
    message = mcp.request("tools/list", _meta=named)
    answer = mcp.post(message, {**mcp.repeated(message), "MCP-Protocol-Version": "2031-01-01"})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, VERSION)
    assert MODERN in error["data"]["supported"]


@pytest.mark.parametrize("method", ["tools/nothing", "initialize", "ping", "tasks/list", "tasks/result"])
def test_an_unknown_method_is_404(mcp: McpCaller, method: str) -> None:
    assert mcp.refused(method) == (404, UNKNOWN)


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b'"x"', b"{}", b'{"jsonrpc":"2.0","id":1}', b'{"jsonrpc":"1.0","method":"x"}']
)
def test_what_is_no_message_is_a_protocol_error(mcp: McpCaller, body: bytes) -> None:
    answer = mcp.post(body)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] in (-32700, -32600)


def test_a_notification_is_taken_without_a_word(mcp: McpCaller) -> None:
    answer = mcp.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (answer.status_code, answer.content) == (202, b"")


def test_older_clients_begin_with_initialize(mcp: McpCaller) -> None:
    [begun] = mcp.legacy("initialize", protocolVersion=LEGACY, capabilities={}, clientInfo={})
    assert begun["result"]["protocolVersion"] == LEGACY
    [unknown] = mcp.legacy("initialize", protocolVersion="2001-01-01", capabilities={}, clientInfo={})
    assert unknown["result"]["protocolVersion"] == LEGACY
    [listed] = mcp.legacy("tools/list")
    assert "resultType" not in listed["result"]
    last = mcp.legacy("tools/call", name="ask", arguments={"message": "say hello"})[-1]
    assert last["result"]["structuredContent"]["output"] == "hello"


def test_the_revision_that_requires_batches_is_not_spoken(mcp: McpCaller) -> None:
    batches = "2025-03-26"
    assert batches not in mcp.ask("server/discover")["supportedVersions"]
    [begun] = mcp.legacy("initialize", protocolVersion=batches, capabilities={}, clientInfo={})
    assert begun["result"]["protocolVersion"] == LEGACY
    answer = mcp.post(mcp.request("tools/list"), {"MCP-Protocol-Version": batches})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, VERSION)
    assert answer.json()["error"]["data"]["requested"] == batches


def test_a_read_is_not_logged_and_what_begins_something_is() -> None:
    with running_service() as quiet, McpCaller(quiet) as caller:
        run = caller.call("ask", message="say hello")["structuredContent"]["run_id"]
        for _ in range(20):
            caller.ask("tools/list")
            caller.call("get_run", run_id=run)
        assert caller.refused("tools/nothing") == (404, UNKNOWN)
        log = quiet.data / "serve.log"
        lines = until(lambda: [line for line in log.read_text().splitlines() if MCP.path in line], lambda a: len(a) > 1)
        assert len(lines) == 2


# -- tools -------------------------------------------------------------------------------------------------------------


def test_each_tool_is_listed_with_its_schemas_and_hints(mcp: McpCaller) -> None:
    found = {tool["name"]: tool for tool in mcp.ask("tools/list")["tools"]}
    assert {"ask", "search_files", "get_run", "cancel_job", "send_email", "create_images"} <= found.keys()
    assert "ask_stefanbrain" not in found
    assert found["send_email"]["annotations"]["destructiveHint"]
    assert found["get_run"]["annotations"]["readOnlyHint"]
    assert {"chat", "project", "session"} <= found["send_email"]["inputSchema"]["properties"].keys()
    assert found["ask"]["inputSchema"]["required"] == ["message"]


def test_the_list_of_tools_is_small_and_its_schemas_stand_alone(mcp: McpCaller) -> None:
    """Clients put the whole list into each request to their model."""
    for answer in (
        mcp.send("tools/list"),
        mcp.post(mcp.request("tools/list"), {"MCP-Protocol-Version": LEGACY}),
    ):
        assert len(answer.content) < 30_000
    found = {tool["name"]: tool for tool in mcp.ask("tools/list")["tools"]}
    assert "$ref" not in json.dumps(found)
    for tool in found.values():
        for schema in ("inputSchema", "outputSchema"):
            jsonschema.Draft202012Validator.check_schema(tool[schema])
    assert found["send_email"]["inputSchema"]["properties"]["to"]["items"]["type"] == "string"
    assert found["send_email"]["outputSchema"]["properties"]["data"]["properties"]["message_id"] == {"type": "string"}


def test_a_tool_with_effects_may_destroy_unless_effects_wait(mcp: McpCaller, cautious: RunningService) -> None:
    """The agent that `ask` asks may send mail."""
    with McpCaller(cautious) as careful:
        for caller, expected in ((mcp, True), (careful, False)):
            found = {tool["name"]: tool for tool in caller.ask("tools/list")["tools"]}
            for name in ("ask", "send_email"):
                assert found[name]["annotations"]["destructiveHint"] is expected


def test_no_tool_approves(cautious: RunningService) -> None:
    """A call that waits is decided by the user's form or over the other routes: a model can neither name it nor say
    yes."""
    with McpCaller(cautious, capabilities=TASKS) as caller:
        tools = {tool["name"]: tool["inputSchema"].get("properties", {}) for tool in caller.ask("tools/list")["tools"]}
        assert not [name for name in tools if re.search("approv|decid|verdict", name)]
        assert not [name for name, given in tools.items() if {"call_id", "approved", "approval"} & given.keys()]
        for name in ("approve", "approve_call", "tasks/update"):
            assert caller.refused("tools/call", name=name, arguments={}) == (200, INVALID)


def test_no_tool_of_the_catalog_has_a_field_named_like_a_place(client: AgentService) -> None:
    for tool in client.tools.list():
        assert not {"chat", "project", "session"} & tool.input_schema.get("properties", {}).keys()


def test_an_ask_is_held_until_its_answer(mcp: McpCaller, client: AgentService) -> None:
    found = mcp.call("ask", message="write out/ü.txt hello\nsay done")
    said = found["structuredContent"]
    assert (found["isError"], found["content"][0]["text"], said["status"]) == (False, "done", "completed")
    [link] = [block for block in found["content"] if block["type"] == "resource_link"]
    assert link["uri"] == f"agentsvc://{said['chat']}/out/%C3%BC.txt"
    assert mcp.ask("resources/read", uri=link["uri"])["contents"][0]["text"] == "hello"
    assert client.runs.get(said["run_id"]).output == "done"


def test_an_answer_that_comes_late_is_told_where_to_find() -> None:
    with running_service(ask_handle_seconds=0.2) as hasty, McpCaller(hasty) as caller:
        found = caller.call("ask", message="wait 1\nsay late")
        run_id = found["structuredContent"]["run_id"]
        assert found["structuredContent"]["status"] in ("queued", "running")
        assert run_id in found["content"][0]["text"]
        ended = until(lambda: caller.call("get_run", run_id=run_id), lambda run: "output" in run["structuredContent"])
        assert (ended["content"][0]["text"], ended["structuredContent"]["status"]) == ("late", "completed")


def test_progress_is_told_to_who_asks_for_it(mcp: McpCaller) -> None:
    message = mcp.request(
        "tools/call",
        name="echo_job",
        arguments={"steps": 3, "seconds": 0.3, "chat": "new"},
        _meta=meta(progressToken="p1"),
    )
    *told, last = messages(mcp.post(message, mcp.repeated(message)))
    assert {one["method"] for one in told} == {"notifications/progress"}
    done = [one["params"]["progress"] for one in told]
    assert done == sorted(set(done))
    assert last["result"]["structuredContent"]["data"]["steps"] == 3


def test_results_are_what_the_listed_schemas_say(mcp: McpCaller, tasks: McpCaller, client: AgentService) -> None:
    """Clients check that, and refuse what is not, or a result without `structuredContent`: the official ones did."""
    listed = {tool["name"]: tool["outputSchema"] for tool in mcp.ask("tools/list")["tools"] if "outputSchema" in tool}
    asked = mcp.call("ask", message="write a.txt summer\nsay done")["structuredContent"]
    run, chat = {"run_id": asked["run_id"]}, asked["chat"]
    client.files.upload(PICTURE, BINARY, ("empty.txt", b""), chat=chat)
    job = {"job_id": mcp.call("echo_job", chat=chat, files={"b.txt": "x"})["structuredContent"]["job_id"]}
    given: list[tuple[str, dict[str, Any]]] = [
        ("ask", {"message": "say x"}),
        ("echo_job", {"fail": "It broke."}),
        ("get_run", run),
        ("cancel_run", run),
        ("get_job", job),
        ("cancel_job", job),
        ("list_chats", {}),
        ("list_files", {"chat": chat}),
        ("search_files", {"chat": chat, "q": "summer"}),
        *(("read_file", {"chat": chat, "path": path}) for path in ("a.txt", *UPLOADED, "uploads/empty.txt")),
    ]
    for name, arguments in given:
        for arguments_or_none in (arguments, {}):
            found = mcp.call(name, **arguments_or_none)
            jsonschema.validate(found["structuredContent"], listed[name])
            assert any(block["type"] == "text" for block in found["content"])
    ended = tasks.ended(tasks.call("ask", message="say x")["taskId"])
    assert ended["result"]["resultType"] == "complete"
    jsonschema.validate(ended["result"]["structuredContent"], listed["ask"])


def test_a_tool_that_fails_is_a_result_with_its_code(mcp: McpCaller) -> None:
    found = mcp.call("echo_job", fail="It broke.", chat="new")
    assert found["isError"]
    assert found["structuredContent"]["error"] == {"code": "echo_failed", "message": "It broke."}
    assert json.loads(found["content"][0]["text"]) == {"code": "echo_failed", "message": "It broke."}


def test_a_wrong_input_is_a_result_with_its_code(mcp: McpCaller) -> None:
    for name, given, expected in (
        ("echo_job", {"steps": -1}, "invalid_tool_input"),
        ("echo_job", {"fail": 1}, "invalid_tool_input"),
        ("list_files", {"chat": "chat_1", "limit": "5"}, "invalid_tool_input"),
        ("list_files", {"chat": "chat_1", "limit": True}, "invalid_tool_input"),
        ("ask", {"message": "x", "sync": 0}, "invalid_tool_input"),
        ("ask", {}, "message_required"),
        ("ask", {"message": "x", "chat": "chat_unknown"}, "chat_not_found"),
        ("get_run", {"run_id": "x"}, "invalid_run_id"),
        ("get_job", {"job_id": "x"}, "job_not_found"),
        ("search_files", {"chat": "chat_unknown", "q": "x"}, "chat_not_found"),
    ):
        assert mcp.call(name, **given)["structuredContent"]["error"]["code"] == expected


@pytest.mark.parametrize(
    ("name", "given", "wrong", "known"),
    [
        ("ask", {"message": "say x", "attachments": ["a.txt"]}, "attachments", "`files`"),
        ("ask", {"message": "say x", "client_tools": []}, "client_tools", "`message`"),
        ("ask", {"message": "say x", "sync": True}, "sync", "`message`"),
        ("ask", {"message": "say x", "files": [{"name": "a", "contents": "x"}]}, "files.0.contents", "`base64`"),
        ("list_files", {"chat": "chat_1", "path": "out"}, "path", "`after`"),
        ("list_chats", {"page": 2}, "page", "`limit`"),
        ("get_run", {"id": "x"}, "id", "`run_id`"),
        ("cancel_job", {"job_id": "x", "reason": "late"}, "reason", "`job_id`"),
        ("echo_job", {"step": 3}, "step", "`steps`"),
        ("echo_job", {"client_tools": []}, "client_tools", "`steps`"),
        ("send_email", {"cc": ["a@b.example"]}, "cc", "`session`"),
        ("create_images", {"request": {"kind": "static_ad", "size": "1:1"}}, "request.size", "`brief`"),
    ],
)
def test_an_unknown_argument_is_refused_with_the_known_ones(
    mcp: McpCaller, name: str, given: dict[str, Any], wrong: str, known: str
) -> None:
    """A model that guesses a name would be told that its files were read."""
    found = mcp.call(name, **given)
    error = found["structuredContent"]["error"]
    assert (found["isError"], error["code"]) == (True, "invalid_tool_input")
    assert f"`{wrong}`" in error["message"]
    assert known in error["message"].partition(wrong)[2]


def test_an_ask_takes_files_as_text_or_base64(mcp: McpCaller) -> None:
    files = [
        {"name": "../notes.txt", "text": "summer süße"},
        {"name": "dot.png", "base64": base64.b64encode(PICTURE[1]).decode()},
    ]
    chat = mcp.call("ask", message="say seen", files=files)["structuredContent"]["chat"]
    listed = {one["path"]: one["size_bytes"] for one in mcp.call("list_files", chat=chat)["structuredContent"]["files"]}
    assert listed == {"uploads/notes.txt": 13, "uploads/dot.png": 108}
    read = mcp.call("read_file", chat=chat, path="uploads/notes.txt")
    assert read["structuredContent"]["text"] == "summer süße"


WAV = base64.b64encode(b"RIFF" + (36).to_bytes(4, "little") + b"WAVEfmt " + bytes(28)).decode()


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([{"name": "a.txt"}], "invalid_tool_input"),
        ([{"name": "a.txt", "text": "x", "base64": "eA=="}], "invalid_tool_input"),
        ([{"name": "a.txt", "base64": "not base64"}], "invalid_tool_input"),
        ([{"text": "x"}], "invalid_tool_input"),
        ([{"name": "a.txt", "text": 5}], "invalid_tool_input"),
        ("a.txt", "invalid_tool_input"),
        (["a.txt"], "invalid_tool_input"),
        ([{"name": "a.txt", "text": "x"}] * 11, "invalid_tool_input"),
        ([{"name": "a.wav", "base64": WAV}], "unsupported_attachment"),
        ([{"name": f"{part}.txt", "text": "x" * 5_000_001} for part in "ab"], "attachment_too_large"),
    ],
)
def test_files_that_cannot_be_attached_are_refused_and_nothing_is_asked(
    mcp: McpCaller, files: Any, expected: str
) -> None:
    before = mcp.call("list_chats", limit=1)["structuredContent"]["chats"]
    found = mcp.call("ask", message="say x", files=files)
    assert found["structuredContent"]["error"]["code"] == expected
    assert mcp.call("list_chats", limit=1)["structuredContent"]["chats"] == before


def test_chats_are_listed_last_used_first(mcp: McpCaller) -> None:
    chats = [mcp.call("ask", message=f"say {word}")["structuredContent"]["chat"] for word in ("one", "two", "three")]
    first = mcp.call("list_chats", limit=2)["structuredContent"]
    assert [one["chat"] for one in first["chats"]] == [chats[2], chats[1]]
    assert (first["chats"][0]["message"], first["chats"][0]["status"]) == ("say three", "completed")
    rest = mcp.call("list_chats", after=first["next_after"])["structuredContent"]["chats"]
    assert rest[0]["chat"] == chats[0]


def test_an_unknown_tool_is_a_protocol_error(mcp: McpCaller) -> None:
    assert mcp.refused("tools/call", name="nothing", arguments={}) == (200, INVALID)


def test_an_idempotency_key_gives_the_same_run(tasks: McpCaller) -> None:
    key = {"Idempotency-Key": uuid.uuid4().hex}
    given = {"name": "ask", "arguments": {"message": "say once"}}
    first, second = (messages(tasks.send("tools/call", key, **given))[0]["result"]["taskId"] for _ in "ab")
    assert first == second


# -- files -------------------------------------------------------------------------------------------------------------


def test_files_are_searched_listed_and_read(mcp: McpCaller) -> None:
    chat = mcp.call("ask", message="write notes.txt summer sale at noon\nsay ok")["structuredContent"]["chat"]
    assert mcp.call("search_files", chat=chat, q="summer")["structuredContent"]["results"][0]["path"] == "notes.txt"
    assert [one["path"] for one in mcp.call("list_files", chat=chat)["structuredContent"]["files"]] == ["notes.txt"]
    page = mcp.call("read_file", chat=chat, path="notes.txt", offset=7)["structuredContent"]
    assert (page["text"], page["total_chars"], page.get("next_offset")) == ("sale at noon", 19, None)
    listed = [one["uri"] for one in mcp.ask("resources/list")["resources"]]
    assert f"agentsvc://{chat}/notes.txt" in listed


def test_a_file_without_text_is_read_as_what_it_is(mcp: McpCaller, client: AgentService) -> None:
    """A picture as one, any other as a link, each with the facts in the listed shape."""
    chat = mcp.call("ask", message="say ok")["structuredContent"]["chat"]
    client.files.upload(PICTURE, BINARY, chat=chat)
    picture, binary = (mcp.call("read_file", chat=chat, path=path) for path in UPLOADED)
    assert picture["structuredContent"] == {"path": UPLOADED[0], "media_type": "image/png", "size_bytes": 108}
    assert base64.b64decode(picture["content"][-1]["data"]) == PICTURE[1]
    said = binary["structuredContent"]
    assert (said["path"], said["size_bytes"], said.get("text")) == (UPLOADED[1], 1_024, None)
    assert mcp.ask("resources/read", uri=binary["content"][-1]["uri"])["contents"][0]["blob"]


def test_a_resource_that_is_not_there_is_a_protocol_error(mcp: McpCaller) -> None:
    for uri in ("agentsvc://chat_unknown/a.txt", "file:///etc/passwd", "agentsvc://chat_1/../../x"):
        assert mcp.refused("resources/read", uri=uri) == (200, INVALID)


def test_the_templates_arguments_are_completed(mcp: McpCaller) -> None:
    chat = mcp.call("ask", message="write alpha.txt x\nwrite beta.txt x")["structuredContent"]["chat"]
    reference = {"type": "ref/resource", "uri": "agentsvc://{chat}/{+path}"}
    found = mcp.ask("completion/complete", ref=reference, argument={"name": "chat", "value": chat[:-1]})
    assert chat in found["completion"]["values"]
    known = {"arguments": {"chat": chat}}
    found = mcp.ask("completion/complete", ref=reference, argument={"name": "path", "value": "al"}, context=known)
    assert found["completion"]["values"] == ["alpha.txt"]


def test_a_path_far_down_is_completed(mcp: McpCaller) -> None:
    """Beyond what is looked at of a chat's files."""
    files = {**{f"a{n:03}.txt": "x" for n in range(120)}, "zeta.txt": "x"}
    chat = mcp.call("echo_job", chat="new", files=files)["structuredContent"]["chat"]
    reference = {"type": "ref/resource", "uri": "agentsvc://{chat}/{+path}"}
    for begun, expected, more in (
        ("ze", ["zeta.txt"], False),
        ("zeta.txt", ["zeta.txt"], False),
        ("a11", [f"a11{n}.txt" for n in range(10)], False),
        ("a", [f"a{n:03}.txt" for n in range(100)], True),
    ):
        asked = {"argument": {"name": "path", "value": begun}, "context": {"arguments": {"chat": chat}}}
        found = mcp.ask("completion/complete", ref=reference, **asked)["completion"]
        assert (found["values"], found["hasMore"]) == (expected, more)


# -- tasks -------------------------------------------------------------------------------------------------------------


def test_a_run_is_a_task_for_who_takes_one(tasks: McpCaller) -> None:
    begun = tasks.call("ask", message="wait 0.2\nsay done")
    assert (begun["resultType"], begun["status"]) == ("task", "working")
    ended = tasks.ended(begun["taskId"])
    assert ended["status"] == "completed"
    assert ended["result"]["structuredContent"]["run_id"] == begun["taskId"]


def test_a_task_is_cancelled(tasks: McpCaller) -> None:
    for name, given in (("ask", {"message": "wait 60"}), ("echo_job", {"seconds": 60, "chat": "new"})):
        task = tasks.call(name, **given)["taskId"]
        assert tasks.ask("tasks/cancel", taskId=task).keys() == {"resultType", "_meta"}
        assert tasks.ended(task)["status"] == "cancelled"
        tasks.ask("tasks/cancel", taskId=task)


def test_a_client_without_tasks_may_not_ask_for_any(mcp: McpCaller) -> None:
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        assert mcp.refused(method, taskId="x") == (400, MISSING)


def test_an_unknown_task_is_a_protocol_error(tasks: McpCaller) -> None:
    for id in ("x", "job_unknown", str(uuid.uuid4())):
        assert tasks.refused("tasks/get", taskId=id) == (200, INVALID)


def test_a_fault_of_the_service_is_a_failed_task(tasks: McpCaller) -> None:
    ended = tasks.ended(tasks.call("ask", message="fail internal_error It broke.")["taskId"])
    assert (ended["status"], ended["error"]["code"]) == ("failed", -32603)
    assert "result" not in ended


def waiting(caller: McpCaller, task: str) -> dict[str, dict[str, Any]]:
    found = until(lambda: caller.ask("tasks/get", taskId=task), lambda task: task["status"] == "input_required")
    asked: dict[str, dict[str, Any]] = found["inputRequests"]
    return asked


@pytest.mark.parametrize(
    ("response", "decided"),
    [
        ({"action": "accept", "content": {"confirm": True}}, True),
        ({"action": "accept", "content": {"confirm": False, "reason": "not now"}}, False),
        ({"action": "decline"}, False),
    ],
)
def test_an_approval_is_asked_of_the_user(cautious: RunningService, response: dict[str, object], decided: bool) -> None:
    with McpCaller(cautious, capabilities=ELICITS) as caller:
        task = caller.call(
            "ask", message='call echo_job {"steps": 1, "files": {"\\u202e\\u3164.txt": "x"}}\nsay went on'
        )["taskId"]
        [(key, asked)] = waiting(caller, task).items()
        assert r"\u202e\u3164.txt" in str(asked["params"]["message"])
        for ignored in ({"action": "cancel"}, 5, {"action": "accept", "content": {}}):
            caller.ask("tasks/update", taskId=task, inputResponses={key: ignored, "approval_other": response})
        assert list(waiting(caller, task)) == [key]
        caller.ask("tasks/update", taskId=task, inputResponses={key: response})
        assert caller.ended(task)["status"] == "completed"
        events = caller.http.get(f"{MCP.path.removesuffix('mcp')}runs/{task}/events").json()["data"]
        assert [one["payload"]["approved"] for one in events if one["type"] == "approval.decided"] == [decided]


@pytest.mark.parametrize("key", [{"scopes": ("mcp",)}, {}])
def test_who_may_not_approve_is_not_asked(cautious: RunningService, key: dict[str, Any]) -> None:
    capabilities = ELICITS if key else TASKS
    with McpCaller(cautious, cautious.create_key(**key), capabilities) as caller:
        task = caller.call("ask", message='call echo_job {"steps": 1}')["taskId"]
        reader = AgentService(cautious.api_key, cautious.base_url)
        until(
            lambda: [event.type for event in reader.runs.events(task).data], lambda types: "approval.requested" in types
        )
        assert caller.ask("tasks/get", taskId=task)["status"] == "working"
        caller.ask("tasks/cancel", taskId=task)


def test_news_of_tasks_come_on_a_stream(tasks: McpCaller) -> None:
    task = tasks.call("ask", message="wait 0.3\nsay done")["taskId"]
    message = tasks.request("subscriptions/listen", _meta=meta(TASKS), notifications={"taskIds": [task, "job_unknown"]})
    headers = {**tasks.repeated(message), "Accept": "text/event-stream"}
    seen = []
    with tasks.http.stream("POST", MCP.path, json=message, headers=headers) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: "):
                seen.append(json.loads(line.removeprefix("data: ")))
                if seen[-1]["params"].get("status") == "completed":
                    break
    assert seen[0]["method"] == "notifications/subscriptions/acknowledged"
    assert seen[0]["params"]["notifications"] == {"taskIds": [task]}
    assert {one["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] for one in seen} == {message["id"]}
    assert seen[-1]["params"]["result"]["content"][0]["text"] == "done"


def test_who_goes_away_does_not_stop_the_run(mcp: McpCaller) -> None:
    chat = mcp.call("ask", message="say hello")["structuredContent"]["chat"]
    given = {"message": "wait 1\nwrite later.txt x", "chat": chat}
    message = mcp.request("tools/call", name="ask", arguments=given, _meta=meta())
    headers = {**mcp.repeated(message), "Accept": "application/json, text/event-stream"}
    with mcp.http.stream("POST", MCP.path, json=message, headers=headers) as answer:
        assert answer.status_code == 200
    until(lambda: mcp.call("list_files", chat=chat)["structuredContent"]["files"])
