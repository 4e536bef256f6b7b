"""Who may use MCP for how much, on which pool it goes, and what of it is counted (docs/mcp.md "Who may use it")."""

from __future__ import annotations

import uuid
from typing import Any

import httpx
import pytest

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.service.accounts import account_records, usage_records
from agentsvc_nb.service.accounts.accounts import ACCOUNT
from agentsvc_nb.testing import RunningService, running_service
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


def test_requests_are_counted_and_refused_but_looks_are_not() -> None:
    with (
        running_service(rate_per_day=3, ask_handle_seconds=0.2) as rated,
        McpCaller(rated) as caller,
        McpCaller(rated, capabilities=TASKS) as tasks,
    ):
        late = caller.call("ask", message="wait 1\nsay late")["structuredContent"]
        assert late["status"] in ("queued", "running"), "held no longer than this"
        job = tasks.call("echo_job", chat="new")["taskId"]
        for _ in range(5):
            tasks.ask("tasks/get", taskId=late["run_id"])
            assert not caller.call("get_job", job_id=job)["isError"]
            assert "result" in caller.legacy("initialize")[0]
        ended = until(
            lambda: caller.call("get_run", run_id=late["run_id"]), lambda run: run["content"][0]["text"] == "late"
        )
        assert ended["structuredContent"]["status"] == "completed"
        caller.ask("tools/list")
        answer = caller.send("tools/list")
        assert code(answer) == (429, "request_per_day")
        assert answer.headers["retry-after"]
        operate(rated, lambda tx: account_records.set_state(tx, ACCOUNT, "suspended"))
        assert code(caller.send("tools/list")) == (429, "user_suspended")
        assert tasks.ask("tasks/get", taskId=late["run_id"])["status"] == "completed", "looks go on"


def test_what_is_asked_for_here_goes_on_the_plan() -> None:
    """Neither on the wallet nor on a key's budget."""
    with running_service(wallet_cents=0, plan_pool_cents=3, run_hold_cents=0) as service:
        key = service.create_key(scopes=("mcp",), budget_cents=1)
        with McpCaller(service, key) as caller:
            assert not caller.call("ask", message="usage 10000 0\nsay paid by the plan")["isError"]
            assert not caller.call("create_images", **PICTURE)["isError"]
            assert billed(service) == {("plan", "tokens"): 1 * CENT, ("plan", "picture"): 1 * CENT}
            assert not caller.call("create_images", **PICTURE)["isError"]
            assert refusal(caller.call("create_images", **PICTURE)) == "monthly_usage_limit_reached"
            assert refusal(caller.call("ask", message="say x")) == "monthly_usage_limit_reached"
            assert not caller.call("list_chats")["isError"], "what costs nothing goes on"


def test_a_run_keeps_the_pool_of_its_start() -> None:
    """Whoever looks at it, approves its calls or has it go on after a crash."""
    pools: dict[str, Any] = {"wallet_cents": 5, "plan_pool_cents": 50, "run_hold_cents": 0, "approve_effects": True}
    script = 'usage 10000 0\ncall echo_job {"steps": 1}\nusage 20000 0\nsay done'
    with running_service(**pools) as service:
        with AgentService(service.api_key, service.base_url) as client, McpCaller(service, capabilities=ELICITS) as mcp:
            over_rest = client.runs.start(script).run_id
            over_mcp = mcp.call("ask", message=script)["taskId"]
            waiting = until(lambda: mcp.ask("tasks/get", taskId=over_rest), lambda now: "inputRequests" in now)
            until(lambda: mcp.ask("tasks/get", taskId=over_mcp), lambda now: "inputRequests" in now)
        service.kill()
        service.start()
        with AgentService(service.api_key, service.base_url) as client, McpCaller(service, capabilities=ELICITS) as mcp:
            yes = {"action": "accept", "content": {"confirm": True}}
            mcp.ask("tasks/update", taskId=over_rest, inputResponses=dict.fromkeys(waiting["inputRequests"], yes))
            assert mcp.ended(over_rest)["status"] == "completed"
            assert billed(service) == {("wallet", "tokens"): 3 * CENT}
            events = client.runs.events(over_mcp).data
            asked, *_ = [event.payload["call_id"] for event in events if event.type == "approval.requested"]
            client.runs.approve(over_mcp, asked)
            assert mcp.ended(over_mcp)["status"] == "completed"
            assert billed(service) == {("wallet", "tokens"): 3 * CENT, ("plan", "tokens"): 3 * CENT}


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
    key = uuid.uuid4().hex
    with McpCaller(service, capabilities=TASKS) as caller:

        def begin(arguments: dict[str, Any], key: str) -> dict[str, Any]:
            answer = caller.send("tools/call", {"Idempotency-Key": key}, name=name, arguments=arguments)
            result: dict[str, Any] = messages(answer)[0]["result"]
            return result

        first = begin(given, key)["taskId"]
        assert begin(other, key)["taskId"] == first, "as over the other routes, the key counts and not the input"
        assert begin(given, uuid.uuid4().hex)["taskId"] != first
        assert refusal(begin(given, "with a space")) == "invalid_idempotency_key"
