"""Who may use MCP for how much, on which pool it goes, and what of it is counted (docs/mcp.md "Who may use it")."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from agentsvc_nb.service.accounts import account_records
from agentsvc_nb.testing import RunningService
from tests.service.api.mcp_caller import TASKS, McpCaller, messages
from tests.service.api.service_fixture import ServiceFixture, operate

PICTURE = {"request": {"kind": "static_ad", "brief": "Headline: Sale", "outputs": {"mode": "count", "count": 1}}}


def refusal(found: dict[str, Any]) -> str:
    """The code of a call that the service refused."""
    assert found["isError"], found
    refused: str = found["structuredContent"]["error"]["code"]
    return refused


def test_requests_are_counted_and_refused_but_looks_are_not(stage: ServiceFixture) -> None:
    service = stage.other(rate_per_day=2)
    wire = stage.account(service)
    with McpCaller(service, wire.key, TASKS) as caller:
        job = caller.call("echo_job", chat="new")["taskId"]
        for _ in range(3):
            caller.ask("tasks/get", taskId=job)
            assert "result" in caller.legacy("initialize")[0]
        caller.ask("tools/list")
        answer = caller.send("tools/list")
        assert (answer.status_code, answer.json()["error"]["code"]) == (429, "request_per_day")
        assert answer.headers["retry-after"]
        operate(service, lambda tx: account_records.set_state(tx, wire.account, "suspended"))
        assert caller.send("tools/list").json()["error"]["code"] == "user_suspended"
        assert caller.ask("tasks/get", taskId=job)["status"] in ("working", "completed"), "looks go on"


@pytest.mark.parametrize(
    ("name", "given", "other"),
    [
        ("ask", {"message": "say once"}, {"message": "say twice"}),
        ("create_images", PICTURE, {"request": {**PICTURE["request"], "brief": "Headline: Other"}}),
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
