"""What a hostile or careless client of MCP may send, and whose things it may name (docs/mcp.md)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any, Final

import pytest

from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.routes import MCP
from tests.service.api.mcp_caller import ELICITS, LEGACY, McpCaller, messages, meta
from tests.service.api.service_fixture import operate
from tests.support.waiting import until

INVALID: Final = -32602
ODD: Final = ("", " ", "x" * 5_000, "a\0b", "../../../etc/passwd", "%00", "%2e%2e", "'; DROP TABLE run; --", "𝔘̈" * 40)
"""Texts in the place of an id, a path or a query."""


@pytest.fixture(scope="module")
def caller(service: RunningService) -> Iterator[McpCaller]:
    with McpCaller(service, capabilities=ELICITS) as found:
        yield found


@pytest.fixture(scope="module")
def stranger(service: RunningService) -> Iterator[McpCaller]:
    """A client of another account."""
    name, account = uuid.uuid4().hex, f"acct_{uuid.uuid4().hex}"
    key = service.create_key(name=name)
    move = "UPDATE api_key SET account = :account WHERE name = :name"
    assert operate(service, lambda tx: tx.run(move, account=account, name=name)) == 1
    with McpCaller(service, key, ELICITS) as found:
        yield found


def raw(caller: McpCaller, body: str | bytes, method: str = "tools/list", **headers: str) -> tuple[int, Any]:
    """The status and the message that answers a body as it is, which names `method` in its header."""
    named = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, **headers}
    answer = caller.post(body.encode() if isinstance(body, str) else body, named)
    return answer.status_code, answer.json() if answer.content else None


def message(params: str = "", id: str = "1", method: str = "tools/list", after: str = "") -> str:
    """A right message with something put into it as it is."""
    own = json.dumps({"_meta": meta()})[1:-1]
    return f'{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{own}{params}}}{after}}}'


# -- bodies ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        message(',"deep":' + "[" * 5_000 + "]" * 5_000),
        message(',"n":NaN'),
        message(',"n":Infinity'),
        message(id="1e400"),
        message(',"half":"\\ud800"'),
        b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
        message() + message(),
        "",
        " ",
        "null",
        f"[{message()},{message()}]",
    ],
)
def test_what_is_no_json_object_is_a_protocol_error(caller: McpCaller, body: str | bytes) -> None:
    status, answer = raw(caller, body)
    assert (status, answer["jsonrpc"]) == (400, "2.0")
    assert answer["error"]["code"] in (-32700, -32600)
    assert "id" not in answer


@pytest.mark.parametrize("id", ["1.5", "[]", "{}", "true"])
def test_an_id_is_a_text_or_an_integer(caller: McpCaller, id: str) -> None:
    status, answer = raw(caller, message(id=id))
    assert (status, answer["error"]["code"]) == (400, -32600)


@pytest.mark.parametrize("id", ['""', '"' + "x" * 10_000 + '"', '"ü\\u0000"', "-9223372036854775808", "0", "9" * 40])
def test_any_id_comes_back_as_it_was(caller: McpCaller, id: str) -> None:
    status, answer = raw(caller, message(id=id))
    assert status == 200, answer
    assert answer["id"] == json.loads(id)


def test_of_a_key_that_comes_twice_the_last_counts_in_all_places(caller: McpCaller) -> None:
    twice = message(after=',"method":"resources/list"')
    assert raw(caller, twice)[1]["error"]["code"] == -32020
    assert "resources" in raw(caller, twice, "resources/list")[1]["result"]


def test_params_must_be_an_object(caller: McpCaller) -> None:
    for params in ("[]", '"x"', "5", "true"):
        status, answer = raw(caller, f'{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{params}}}')
        assert (status, answer["error"]["code"], answer["id"]) == (400, INVALID, 1)


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; x"])
def test_the_type_of_a_body_is_not_looked_at(caller: McpCaller, media_type: str) -> None:
    """As everywhere (docs/api/conventions.md). What a foreign page could send so needs a key, and tells its origin."""
    headers = {"Content-Type": media_type}
    assert raw(caller, message(), **headers)[0] == 200
    assert raw(caller, message(), Origin="https://elsewhere.example", **headers)[0] == 403


def test_a_header_that_comes_twice_is_refused(caller: McpCaller) -> None:
    sent = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list"), ("Mcp-Method", "tools/list")]
    answer = caller.http.post(MCP.path, content=message(), headers=[("Content-Type", "application/json"), *sent])
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32020)


def test_odd_values_in_the_place_of_others_are_refused_or_left_out(caller: McpCaller) -> None:
    odd: tuple[Any, ...] = (None, 5, True, [], {}, "x", 1e300, ["x"], {"a": {"b": []}})
    for value in odd:
        for method, name in (
            ("tools/call", "name"),
            ("tools/call", "arguments"),
            ("resources/read", "uri"),
            ("resources/list", "cursor"),
            ("completion/complete", "ref"),
            ("completion/complete", "argument"),
            ("tasks/get", "taskId"),
            ("tasks/update", "inputResponses"),
            ("subscriptions/listen", "notifications"),
        ):
            if (method, value) == ("subscriptions/listen", {}) or (
                name == "notifications" and value in (None, {"a": {"b": []}})
            ):
                continue  # a right wish for nothing, whose stream stays open
            given: dict[str, Any] = {"name": "get_run", "taskId": "x", "uri": "x", name: value}
            answer = caller.send(method, **given)
            assert answer.status_code in (200, 400), (method, name, value, answer.text)
            assert messages(answer)
            assert all("jsonrpc" in one for one in caller.legacy(method, **given)), (method, name, value)


# -- ids, paths and addresses ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_id_names_nothing(caller: McpCaller, odd: str) -> None:
    for name, field in (
        ("get_run", "run_id"),
        ("cancel_run", "run_id"),
        ("get_job", "job_id"),
        ("cancel_job", "job_id"),
    ):
        found = caller.call(name, **{field: odd})
        assert found["isError"]
        assert found["structuredContent"]["error"]["code"].partition("_")[2] != "error", found
    for name, more in (("list_files", {}), ("search_files", {"q": "x"}), ("read_file", {"path": "x"})):
        assert caller.call(name, chat=odd, **more)["isError"]
    if odd.strip() and odd.isascii() and odd.isprintable():
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            assert caller.refused(method, taskId=odd) == (200, INVALID)


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_path_or_query_finds_nothing(caller: McpCaller, chat: str, odd: str) -> None:
    assert caller.call("read_file", chat=chat, path=odd)["isError"]
    found = caller.call("search_files", chat=chat, q=odd)
    assert found["isError"] or found["structuredContent"]["results"] == []
    assert not caller.call("list_files", chat=chat, after=odd)["isError"]
    known = {"arguments": {"chat": odd}}
    reference = {"type": "ref/resource", "uri": "agentsvc://{chat}/{+path}"}
    for context in (known, {"arguments": {"chat": chat}}):
        asked = {"ref": reference, "argument": {"name": "path", "value": odd or "no"}, "context": context}
        assert caller.ask("completion/complete", **asked)["completion"]["values"] == []


@pytest.fixture(scope="module")
def chat(caller: McpCaller) -> str:
    """A chat with two files, one of whose names looks like an address."""
    message = "write Über.txt one\nwrite a%20b.txt two\nsay done"
    task = caller.ended(caller.call("ask", message=message)["taskId"])
    found: str = task["result"]["structuredContent"]["chat"]
    return found


def test_an_address_is_decoded_once(caller: McpCaller, chat: str) -> None:
    for path, said in (("%C3%9Cber.txt", "one"), ("%C3%9Cber%2Etxt", "one"), ("a%2520b.txt", "two")):
        assert caller.ask("resources/read", uri=f"agentsvc://{chat}/{path}")["contents"][0]["text"] == said


@pytest.mark.parametrize(
    "path",
    [
        "../a%2520b.txt",
        "..%2fa%2520b.txt",
        "%2e%2e/%2e%2e/key",
        "%252e%252e/key",
        "/etc/passwd",
        "//etc/passwd",
        "a%20b.txt",
        "a%2520b.txt%00",
        "a%2520b.txt?x=1",
        "a%2520b.txt#x",
        "./a%2520b.txt",
        "%ff%fe",
        "%",
        "A%2520B.TXT",
        "a%2520b.txt/",
        "x" * 5_000,
    ],
)
def test_an_address_reaches_no_file_but_the_one_it_names(caller: McpCaller, chat: str, path: str) -> None:
    assert caller.refused("resources/read", uri=f"agentsvc://{chat}/{path}") == (200, INVALID)


@pytest.mark.parametrize("scheme", ["file://", "http://", "AGENTSVC://", "agentsvc:", "agentsvc://user@", "//"])
def test_another_scheme_is_no_resource(caller: McpCaller, chat: str, scheme: str) -> None:
    assert caller.refused("resources/read", uri=f"{scheme}{chat}/a%2520b.txt") == (200, INVALID)


# -- what others have --------------------------------------------------------------------------------------------------


def test_what_another_account_has_is_not_there(caller: McpCaller, stranger: McpCaller, chat: str) -> None:
    run = caller.call("ask", message="wait 60")["taskId"]
    job = caller.call("echo_job", seconds=60, chat="new")["taskId"]
    for task in (run, job):
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            assert stranger.refused(method, taskId=task) == (200, INVALID)
    for name, given, code in (
        ("get_run", {"run_id": run}, "run_not_found"),
        ("cancel_run", {"run_id": run}, "run_not_found"),
        ("get_job", {"job_id": job}, "job_not_found"),
        ("cancel_job", {"job_id": job}, "job_not_found"),
        ("list_files", {"chat": chat}, "chat_not_found"),
        ("search_files", {"chat": chat, "q": "one"}, "chat_not_found"),
        ("read_file", {"chat": chat, "path": "a%20b.txt"}, "chat_not_found"),
        ("ask", {"chat": chat, "message": "say x"}, "chat_not_found"),
        ("echo_job", {"chat": chat}, "chat_not_found"),
    ):
        assert stranger.call(name, **given)["structuredContent"]["error"]["code"] == code, name
    assert stranger.refused("resources/read", uri=f"agentsvc://{chat}/a%2520b.txt") == (200, INVALID)
    listed = stranger.ask("resources/list", cursor=f"{chat}/")["resources"]
    assert [one for one in listed if one["uri"].startswith("agentsvc:")] == []
    for task in (run, job):
        assert caller.ask("tasks/get", taskId=task)["status"] == "working"
        caller.ask("tasks/cancel", taskId=task)


def test_news_of_anothers_tasks_are_not_told(caller: McpCaller, stranger: McpCaller) -> None:
    task = caller.call("ask", message="wait 60")["taskId"]
    asked = stranger.request("subscriptions/listen", _meta=meta(ELICITS), notifications={"taskIds": [task]})
    sent = {**stranger.repeated(asked), "Accept": "text/event-stream"}
    with stranger.http.stream("POST", MCP.path, json=asked, headers=sent) as answer:
        first = next(line for line in answer.iter_lines() if line.startswith("data: "))
    assert json.loads(first.removeprefix("data: "))["params"]["notifications"] == {}
    caller.ask("tasks/cancel", taskId=task)


def test_an_answer_of_another_decides_nothing(caller: McpCaller, stranger: McpCaller) -> None:
    """Nor does one by a key that has only the scope `mcp`, or with another call's id."""
    task = caller.call("ask", message='call echo_job {"steps": 1}\nsay went on')["taskId"]
    responses = {f"approval_{uuid.uuid4()}": {"action": "accept", "content": {"confirm": True}}}
    assert stranger.refused("tasks/update", taskId=task, inputResponses=responses) == (200, INVALID)
    caller.ask("tasks/update", taskId=task, inputResponses={**responses, "approval_": 5, "x" * 9_000: None})
    assert caller.ended(task)["status"] == "completed"


def test_an_older_client_is_refused_as_a_newer_one(caller: McpCaller, chat: str) -> None:
    [answer] = caller.legacy("resources/read", uri=f"agentsvc://{chat}/../x")
    assert answer["error"]["code"] == INVALID
    for method in ("tasks/get", "tasks/cancel", "server/discover", "subscriptions/listen"):
        [answer] = caller.legacy(method, taskId="x")
        assert answer["error"]["code"] == -32601
    begun = caller.request("initialize", protocolVersion=5, capabilities=[], clientInfo="x")
    assert messages(caller.post(begun))[0]["result"]["protocolVersion"] == LEGACY
    assert until(lambda: caller.legacy("ping")[0]["result"] == {})
