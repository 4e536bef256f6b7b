"""Who may use MCP for how much, and on which pool it goes (docs/mcp.md "Who may use it")."""

from __future__ import annotations

import time
import uuid
from typing import Any

import httpx
import pytest

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.service.accounts import account_records, accounts, usage_records
from agentsvc_nb.service.accounts.accounts import ACCOUNT
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.limits import MB, MCP_BODY_BYTES
from agentsvc_nb.wire.routes import MCP
from agentsvc_nb.wire.runs import CENT
from tests.service.api.mcp_caller import ELICITS, TASKS, McpCaller, messages
from tests.service.api.service_fixture import operate
from tests.support.waiting import until

PICTURE = {"request": {"kind": "static_ad", "brief": "Sale", "outputs": {"mode": "count", "count": 1}}}


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def refusal(found: dict[str, Any]) -> str:
    """The code of a call that the service refused."""
    assert found["isError"], found
    refused: str = found["structuredContent"]["error"]["code"]
    return refused


def billed(service: RunningService) -> dict[tuple[str, str], int]:
    """Micro-cents by pool and kind."""
    lines = operate(service, lambda tx: usage_records.by_key_and_month(tx, ACCOUNT))
    return {(line.pool, line.kind): line.microcents for line in lines}


def test_a_suspended_key_is_refused_for_everything(service: RunningService) -> None:
    name = uuid.uuid4().hex
    with McpCaller(service, service.create_key(name=name, scopes=("mcp",)), TASKS) as caller:
        task = caller.call("ask", message="wait 60")["taskId"]
        operate(service, lambda tx: accounts.change_key(tx, name, "suspend", 0))
        for method, given in (("tools/list", {}), ("server/discover", {}), ("tasks/get", {"taskId": task})):
            assert code(caller.send(method, **given)) == (403, "key_suspended")
    with McpCaller(service, capabilities=TASKS) as caller:
        caller.ask("tasks/cancel", taskId=task)


def test_who_is_suspended_throttled_or_without_a_plan_is_refused() -> None:
    with running_service() as service, McpCaller(service, capabilities=TASKS) as caller:
        task = caller.call("ask", message="wait 60")["taskId"]
        operate(service, lambda tx: account_records.set_state(tx, ACCOUNT, "suspended"))
        assert code(caller.send("tools/list")) == (429, "user_suspended")
        assert caller.ask("tasks/get", taskId=task)["status"] == "working", "looks go on, as over the other routes"
        soon = time.time_ns() // 1_000_000 + 30_000
        operate(service, lambda tx: account_records.set_state(tx, ACCOUNT, "throttled", soon))
        answer = caller.send("tools/call", name="ask", arguments={"message": "say x"})
        assert code(answer) == (429, "user_throttled")
        assert answer.headers["retry-after"]
        operate(service, lambda tx: account_records.set_state(tx, ACCOUNT, "active"))
        operate(service, lambda tx: account_records.set_plan(tx, ACCOUNT, False))
        assert code(caller.send("tools/list")) == (403, "plan_access_required")


def test_prices_go_on_the_plan_and_neither_on_the_wallet_nor_on_a_budget() -> None:
    with running_service(wallet_cents=0, plan_pool_cents=3, run_hold_cents=0) as service:
        key = service.create_key(scopes=("mcp",), budget_cents=1)
        with McpCaller(service, key) as caller:
            for _ in "abc":
                assert not caller.call("create_images", **PICTURE)["isError"]
            assert billed(service) == {("plan", "picture"): 3 * CENT}
            assert refusal(caller.call("create_images", **PICTURE)) == "monthly_usage_limit_reached"
            assert refusal(caller.call("ask", message="say x")) == "monthly_usage_limit_reached"
            assert not caller.call("list_files", chat=_chat(service))["isError"], "what costs nothing goes on"
        with AgentService(key, service.base_url) as client:
            assert client.models.list()


def _chat(service: RunningService) -> str:
    found = operate(service, lambda tx: tx.one("SELECT chat FROM job LIMIT 1"))
    assert found is not None
    chat: str = found["chat"]
    return chat


def test_a_run_keeps_the_pool_of_its_start() -> None:
    """Whoever looks at it, approves its calls or has it go on after a crash."""
    pools: dict[str, Any] = {"wallet_cents": 5, "plan_pool_cents": 50, "run_hold_cents": 0, "approve_effects": True}
    said = 'usage 10000 0\ncall echo_job {"steps": 1}\nusage 20000 0\nsay done'
    with running_service(**pools) as service:
        with AgentService(service.api_key, service.base_url) as client, McpCaller(service, capabilities=ELICITS) as mcp:
            over_rest = client.runs.start(said).run_id
            over_mcp = mcp.call("ask", message=said)["taskId"]
            waiting = until(lambda: mcp.ask("tasks/get", taskId=over_rest), lambda now: "inputRequests" in now)
            until(lambda: mcp.ask("tasks/get", taskId=over_mcp), lambda now: "inputRequests" in now)
        service.kill()
        service.start()
        with AgentService(service.api_key, service.base_url) as client, McpCaller(service, capabilities=ELICITS) as mcp:
            yes = {"action": "accept", "content": {"confirm": True}}
            mcp.ask("tasks/update", taskId=over_rest, inputResponses=dict.fromkeys(waiting["inputRequests"], yes))
            assert mcp.ended(over_rest)["status"] == "completed"
            assert billed(service) == {("wallet", "tokens"): 3 * CENT}
            _approve(client, over_mcp)
            assert mcp.ended(over_mcp)["status"] == "completed"
            assert billed(service) == {("wallet", "tokens"): 3 * CENT, ("plan", "tokens"): 3 * CENT}


def _approve(client: AgentService, run_id: str) -> None:
    found = until(lambda: [one for one in client.runs.events(run_id).data if one.type == "approval.requested"])
    client.runs.approve(run_id, found[0].payload["call_id"])


@pytest.mark.parametrize(
    ("name", "given", "other"),
    [
        ("ask", {"message": "say once"}, {"message": "say twice"}),
        ("create_images", PICTURE, {"request": {**PICTURE["request"], "brief": "Other"}}),
    ],
)
def test_an_idempotency_key_begins_one_and_the_same(
    service: RunningService, name: str, given: dict[str, Any], other: dict[str, Any]
) -> None:
    header = {"Idempotency-Key": uuid.uuid4().hex}
    with McpCaller(service, capabilities=TASKS) as caller:

        def begin(arguments: dict[str, Any], headers: dict[str, str] = header) -> dict[str, Any]:
            answer = caller.send("tools/call", headers, name=name, arguments=arguments)
            result: dict[str, Any] = messages(answer)[0]["result"]
            return result

        first = begin(given)
        assert begin(given)["taskId"] == first["taskId"]
        assert begin(other)["taskId"] == first["taskId"], "as over the other routes, the key counts and not the input"
        assert begin(given, {"Idempotency-Key": uuid.uuid4().hex})["taskId"] != first["taskId"]
        assert refusal(begin(given, {"Idempotency-Key": "with a space"})) == "invalid_idempotency_key"


def test_a_message_whose_length_is_not_told_is_refused_as_it_comes(service: RunningService) -> None:
    """At the first byte over what a message may have. The answer sends nobody to a route that the key may not use."""

    def body() -> Any:
        yield b'{"jsonrpc":"2.0","x":"'
        for _ in range(17):
            yield b"x" * 1_000_000

    with McpCaller(service, service.create_key(scopes=("mcp",))) as caller:
        answer = caller.http.post(MCP.path, content=body())
        assert code(answer) == (413, "attachment_too_large")
        assert "a key whose scopes are not `mcp` alone" in answer.json()["error"]["message"]


def test_a_body_over_150_mb_is_refused_though_it_is_sent(service: RunningService) -> None:
    with McpCaller(service) as caller:
        answer = caller.http.post(MCP.path, content=b" " * (MCP_BODY_BYTES + MB))
        assert code(answer) == (413, "request_too_large")
        assert caller.send("tools/list").status_code == 200, "the service goes on"
