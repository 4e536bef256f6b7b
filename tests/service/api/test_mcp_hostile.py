"""What a hostile or careless client of MCP may send, and whose things it may name (docs/mcp.md)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator

import pytest

from agentsvc_nb.testing import RunningService
from tests.service.api.mcp_caller import ELICITS, McpCaller, meta, streamed
from tests.service.api.service_fixture import operate

INVALID = -32602
MODERN = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}


@pytest.fixture(scope="module")
def caller(service: RunningService) -> Iterator[McpCaller]:
    with McpCaller(service, capabilities=ELICITS) as found:
        yield found


@pytest.fixture
def stranger(service: RunningService) -> Iterator[McpCaller]:
    """A client of another account."""
    name, account = uuid.uuid4().hex, f"acct_{uuid.uuid4().hex}"
    key = service.create_key(name=name)
    move = "UPDATE api_key SET account = :account WHERE name = :name"
    assert operate(service, lambda tx: tx.run(move, account=account, name=name)) == 1
    with McpCaller(service, key, ELICITS) as found:
        yield found


@pytest.fixture(scope="module")
def chat(caller: McpCaller) -> str:
    """A chat with two files, one of whose names looks like an address."""
    task = caller.call("ask", message="write Über.txt one\nwrite a%20b.txt two\nsay done")["taskId"]
    found: str = caller.ended(task)["result"]["structuredContent"]["chat"]
    return found


def message(params: str = "") -> str:
    """A right message with something put into it as it is."""
    own = json.dumps({"_meta": meta()})[1:-1]
    return f'{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{own}{params}}}}}'


@pytest.mark.parametrize(
    "body",
    [
        "[" * 100_000,
        message(',"n":NaN'),
        message() + message(),
        '{"jsonrpc":"1.0","method":"x"}',
        f"[{message()},{message()}]",
    ],
    ids=range(5),
)
def test_what_is_no_message_is_a_protocol_error(caller: McpCaller, body: str) -> None:
    answer = caller.post(body.encode(), MODERN)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] in (-32700, -32600)


def test_an_address_is_decoded_once(caller: McpCaller, chat: str) -> None:
    for path, text in (("%C3%9Cber.txt", "one"), ("%C3%9Cber%2Etxt", "one"), ("a%2520b.txt", "two")):
        assert caller.ask("resources/read", uri=f"agentsvc://{chat}/{path}")["contents"][0]["text"] == text


@pytest.mark.parametrize(
    "uri",
    [
        "agentsvc://CHAT/../a%2520b.txt",
        "agentsvc://CHAT/%2e%2e/%2e%2e/key",
        "agentsvc://CHAT/a%20b.txt",
        "agentsvc://chat_unknown/a%2520b.txt",
        "file://CHAT/a%2520b.txt",
    ],
)
def test_an_address_reaches_no_file_but_the_one_it_names(caller: McpCaller, chat: str, uri: str) -> None:
    assert caller.refused("resources/read", uri=uri.replace("CHAT", chat)) == (200, INVALID)


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
    with stranger.opened("subscriptions/listen", notifications={"taskIds": [run]}) as answer:
        assert next(streamed(answer.iter_lines()))["params"]["notifications"] == {}
    for task in (run, job):
        assert caller.ask("tasks/get", taskId=task)["status"] == "working"
        caller.ask("tasks/cancel", taskId=task)
