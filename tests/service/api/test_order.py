"""A request with several faults is answered with the first of them (docs/api/conventions.md "Order of checks")."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, Final

import httpx
import pytest

from agentsvc_nb.service.accounts import account_records
from tests.service.api.conftest import Wire, code
from tests.service.api.service_fixture import ServiceFixture, operate
from tests.service.api.test_every_route import PICTURE

WHO: Final = ("unauthorized", "api_key_scope_forbidden", "user_suspended")
START: Final = (*WHO, "invalid_sync", "project_not_found", "api_key_budget_exhausted", "agent_run_rejected")
SUBMIT: Final = (*WHO, "invalid_tool_input", "project_not_found", "api_key_budget_exhausted", "idempotency_conflict")
ASK: Final = (*SUBMIT, "agent_run_rejected")
Send = Callable[[tuple[str, ...], str, dict[str, Any]], httpx.Response]


@pytest.fixture(scope="module")
def send(stage: ServiceFixture) -> Send:
    """Send a request with these faults, of which the body has its own, to an account in which each can be had."""
    own = stage.account(stage.service)
    spent = stage.account(stage.service, own.account, budget_cents=1)
    busy_chat = spent.start("wait 600")["chat"]
    wires: dict[str, Wire] = {
        "unauthorized": stage.open(stage.service, "svc_sk_unknown"),
        "api_key_scope_forbidden": stage.account(stage.service, own.account, scopes=("mcp",)),
        "api_key_budget_exhausted": spent,
    }
    used_key = uuid.uuid4().hex
    for path, given in (("/jobs", PICTURE), ("/tools/ask_stefanbrain/invoke", {"message": "say x"})):
        body = {"tool": "create_images", "input": given, "chat": own.new_chat()}
        assert own("POST", path, json=body, headers={"Idempotency-Key": used_key}).is_success

    def request(faults: tuple[str, ...], path: str, body: dict[str, Any]) -> httpx.Response:
        wire = next((wires[fault] for fault in faults if fault in wires), own)
        headers = {"Idempotency-Key": used_key if "idempotency_conflict" in faults else uuid.uuid4().hex}
        where = {"chat": busy_chat, "project": "proj_unknown" if "project_not_found" in faults else None}
        state: account_records.State = "suspended" if "user_suspended" in faults else "active"
        operate(stage.service, lambda tx: account_records.set_state(tx, own.account, state))
        return wire("POST", path, json={**where, **body}, headers=headers)

    return request


TABLE: Final[dict[str, tuple[tuple[str, ...], dict[str, Any], dict[str, Any]]]] = {
    "/runs": (START, {"message": "say x", "sync": True}, {"sync": "yes"}),
    "/jobs": (SUBMIT, {"tool": "create_images", "input": PICTURE}, {"input": {}}),
    "/tools/create_images/invoke": (SUBMIT, {"input": PICTURE}, {"input": {}}),
    "/tools/ask_stefanbrain/invoke": (ASK, {"input": {"message": "say x"}}, {"input": {}}),
}
"""By path: the order of its faults, a right body, and what makes it wrong."""


@pytest.mark.parametrize("path", TABLE)
def test_the_first_fault_is_answered(path: str, send: Send) -> None:
    order, right, wrong = TABLE[path]
    for first, fault in enumerate(order):
        faults = order[first:]
        body = {**right, **wrong} if {"invalid_sync", "invalid_tool_input"} & set(faults) else right
        assert code(send(faults, path, body)) == fault


NO_RUN: Final = "/runs/00000000-0000-0000-0000-000000000000/events"
STREAM: Final = {"Accept": "text/event-stream"}


@pytest.mark.rule("Key, scope, rate limit, body, references, money and replay are checked in this order.")
@pytest.mark.parametrize(
    ("method", "path", "options", "expected"),
    [
        ("POST", "/files?chat_id=chat_unknown", {"content": b"x"}, "invalid_multipart"),
        ("GET", "/files?chat_id=chat_unknown&limit=0", {}, "invalid_query"),
        ("GET", NO_RUN, {"headers": {**STREAM, "Last-Event-ID": "x"}}, "invalid_last_event_id"),
        ("PUT", "/landing-pages/page_unknown/labels", {"json": {}}, "invalid_label"),
    ],
)
def test_what_is_wrong_comes_before_what_is_not_there(
    method: str, path: str, options: dict[str, Any], expected: str, stage: ServiceFixture
) -> None:
    answer = stage.wire(method, path, **options)
    assert (answer.status_code, code(answer)) == (400, expected)
