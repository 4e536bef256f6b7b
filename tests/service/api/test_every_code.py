"""Every row of `wire/codes.py`, answered by a real service to a natural request (docs/api/errors.md,
docs/api/conventions.md)."""

from __future__ import annotations

import contextlib
import http.client
import json
import uuid
from collections.abc import Callable
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

import httpx
import pytest

from agentsvc_nb.client.errors import from_response
from agentsvc_nb.service.accounts import account_records, accounts
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.codes import CODES, Code
from agentsvc_nb.wire.limits import MCP_BODY_BYTES
from agentsvc_nb.wire.routes import MCP, ROUTES
from tests.service.api.conftest import ACCEPTED, KEYS, Wire
from tests.service.api.service_fixture import DAILY, HURRIED, STRICT, ServiceFixture, operate, stop
from tests.service.api.test_every_route import PICTURE
from tests.support.contents import lose
from tests.support.waiting import until

Provoke = Callable[[ServiceFixture], httpx.Response]
WAV: Final = b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(16)
NOBODY: Final = str(UUID(int=0))
RUNS: Final = ROUTES["runs.start"].path


def start(s: ServiceFixture, wire: Wire | None = None, key: str = "", **fields: Any) -> httpx.Response:
    headers = {"Idempotency-Key": key} if key else None
    return (wire or s.wire)("POST", "/runs", json={"message": "say x", **fields}, headers=headers)


def attach(s: ServiceFixture, *files: tuple[str, bytes], path: str = "/runs", wire: Wire | None = None) -> Any:
    parts = [("files", file) for file in files]
    return (wire or s.wire)("POST", path, data={"payload": '{"message": "say x"}'}, files=parts)


def eleven(s: ServiceFixture, path: str) -> httpx.Response:
    return attach(s, *((f"{number}.txt", b"x") for number in range(11)), path=path)


def too_large(s: ServiceFixture, path: str) -> httpx.Response:
    return attach(s, ("big.txt", b"x" * 100_001), path=path, wire=s.account(s.other(**STRICT)))


def no_multipart(s: ServiceFixture) -> httpx.Response:
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    return s.wire("POST", "/runs", content=b"--b\r\ncut", headers=headers)


def wrong_cursor(s: ServiceFixture) -> httpx.Response:
    headers = {"Accept": "text/event-stream", "Last-Event-ID": "last"}
    return s.wire("GET", f"/runs/{s.wire.finish('say x')['run_id']}/events", headers=headers)


def download(s: ServiceFixture, path: str = "a.txt", words: str = "short", **headers: str) -> httpx.Response:
    chat = s.wire.finish(f"write a.txt {words}")["chat"]
    if words != "short":
        lose(s.service, words.encode())
    return s.wire("GET", "/files/download", params={"chat_id": chat, "path": path}, headers=headers)


def label(s: ServiceFixture, times: int = 1, **labels: str) -> httpx.Response:
    path, body = f"/landing-pages/{s.page()}/labels", {"labels": labels, "expected_version": 1}
    return [s.wire("PUT", path, json=body) for _ in range(times)][-1]


def bad_skill(s: ServiceFixture) -> httpx.Response:
    project = s.wire("POST", "/projects", json={"name": "Spring"}).json()["id"]
    return s.wire("PATCH", f"/projects/{project}", json={"skills": {"tone": {"SKILL.md": "Be dry."}}})


def make_key(s: ServiceFixture, **body: Any) -> httpx.Response:
    return s.browser("POST", KEYS, json={"name": "made", **body})


def approve(s: ServiceFixture, call: str | None = None, **body: Any) -> httpx.Response:
    run_id, made = s.called()
    return s.wire("POST", f"/runs/{run_id}/calls/{call or made}/approval", json=body)


def give(s: ServiceFixture, **body: Any) -> httpx.Response:
    run_id, call = s.asked()
    return s.wire("POST", f"/runs/{run_id}/calls/{call}/result", json=body)


def suspended_key(s: ServiceFixture) -> httpx.Response:
    name = uuid.uuid4().hex
    wire = s.keyed(name=name)
    operate(s.service, lambda tx: accounts.change_key(tx, name, "suspend", 0))
    return wire("GET", "/tools")


def barred(s: ServiceFixture, state: account_records.State | None) -> httpx.Response:
    """By the operator's word about the account; None for one without a plan."""
    wire = s.account(s.service)
    if state is None:
        operate(s.service, lambda tx: account_records.set_plan(tx, wire.account, False))
    else:
        operate(s.service, lambda tx: account_records.set_state(tx, wire.account, state))
    return wire("GET", "/tools")


def while_running(s: ServiceFixture, wire: Wire, *, runs: int = 1, same_chat: bool = False) -> httpx.Response:
    """A start while others are active."""
    active = [wire.start("wait 60") for _ in range(runs)]
    answer = start(s, wire, chat=active[0]["chat"] if same_chat else None)
    for run in active:
        stop(wire, run)
    return answer


def spent(s: ServiceFixture, message: str = "say x", **key: Any) -> httpx.Response:
    wire = s.account(s.other(**STRICT), **key)
    if not key:
        wire.finish(message)
    return start(s, wire)


def spent_day(s: ServiceFixture) -> httpx.Response:
    wire = s.account(s.other(**DAILY))
    wire.finish("usage 50000 0")
    return start(s, wire)


def mismatch(s: ServiceFixture) -> httpx.Response:
    ours, theirs = (s.wire("POST", "/projects", json={"name": name}).json()["id"] for name in ("a", "b"))
    return start(s, chat=s.wire.finish("say x", project=ours)["chat"], project=theirs)


def retired(s: ServiceFixture) -> httpx.Response:
    chat = s.wire.new_chat()
    s.wire("DELETE", f"/chats/{chat}")
    return start(s, chat=chat)


def key_of_another_chat(s: ServiceFixture) -> httpx.Response:
    headers, body = {"Idempotency-Key": uuid.uuid4().hex}, {"tool": "create_images", "input": PICTURE}
    return [s.wire("POST", "/jobs", json={**body, "chat": s.wire.new_chat()}, headers=headers) for _ in "ab"][-1]


def early_result(s: ServiceFixture) -> httpx.Response:
    job = s.job(steps=600, seconds=60)
    answer = s.wire("GET", f"/jobs/{job['job_id']}/result", params={"chat": job["chat"]})
    s.wire("POST", f"/jobs/{job['job_id']}/cancel", params={"chat": job["chat"]})
    return answer


def often(s: ServiceFixture, expected: str, keys: int = 1, **limits: int) -> httpx.Response:
    """Ask until the limit is named, since a new minute may begin meanwhile."""
    service = s.other(**(limits or HURRIED))
    account = s.account(service).account
    wires = [s.account(service, account) for _ in range(keys)]

    def ask() -> httpx.Response:
        return [wire("GET", "/tools") for wire in wires][-1]

    return until(ask, lambda answer: f'"{expected}"' in answer.text)


def sixty_reports(s: ServiceFixture) -> httpx.Response:
    wire = s.account(s.service)
    return [wire("POST", "/feedback", json={"summary": "fine"}) for _ in range(61)][-1]


def announced(service: RunningService, path: str, length: int) -> httpx.Response:
    """The answer to a body whose length is told, and of which nothing comes."""
    connection = http.client.HTTPConnection(urlsplit(service.base_url).netloc, timeout=30)
    with contextlib.closing(connection):
        connection.putrequest("POST", path)
        connection.putheader("x-api-key", service.api_key)
        connection.putheader("Content-Length", str(length))
        connection.endheaders()
        answer = connection.getresponse()
        return httpx.Response(answer.status, headers=answer.getheaders(), content=answer.read())


def silent(s: ServiceFixture) -> httpx.Response:
    wire, key = s.account(s.other(**HURRIED)), uuid.uuid4().hex
    answer = start(s, wire, key, message="wait 60", sync=True)
    stop(wire, start(s, wire, key).json())
    return answer


PROVOKED: Final[dict[str, Provoke]] = {
    "message_required": lambda s: start(s, message=" "),
    "invalid_chat": lambda s: start(s, chat="nonsense"),
    "invalid_project": lambda s: start(s, project="nonsense"),
    "invalid_sync": lambda s: start(s, sync="yes"),
    "invalid_on_busy": lambda s: start(s, on_busy="queue"),
    "invalid_output_config": lambda s: start(s, output_config={"type": "array"}),
    "invalid_model": lambda s: start(s, model="nobody:none"),
    "invalid_limits": lambda s: start(s, max_cents=0),
    "invalid_json": lambda s: s.wire("POST", "/runs", content=b"{"),
    "invalid_multipart": no_multipart,
    "invalid_idempotency_key": lambda s: start(s, key="a b"),
    "too_many_attachments": lambda s: eleven(s, "/runs"),
    "unsupported_attachment": lambda s: attach(s, ("voice.txt", WAV)),
    "invalid_run_id": lambda s: s.wire("GET", "/runs/nonsense"),
    "invalid_query": lambda s: s.wire("GET", "/files"),
    "invalid_last_event_id": wrong_cursor,
    "invalid_tool_input": lambda s: s.wire("POST", "/tools/create_images/invoke", json={"input": {}}),
    "unsupported_tool_request": lambda s: s.wire("POST", "/jobs", json={"tool": "ask_stefanbrain"}),
    "file_too_large": lambda s: too_large(s, "/files"),
    "too_many_files": lambda s: eleven(s, "/files"),
    "invalid_feedback": lambda s: s.wire("POST", "/feedback", json={"summary": ""}),
    "invalid_label": lambda s: label(s, mood="good"),
    "invalid_approval": lambda s: approve(s, approved=1),
    "invalid_skill": bad_skill,
    "invalid_client_tool": lambda s: start(s, client_tools=[{"name": "look_up"}]),
    "invalid_call_result": lambda s: give(s, pending=True, content=[]),
    "call_result_too_large": lambda s: give(s, content=[{"type": "text", "text": "x" * 1_048_576}]),
    "invalid_scope": lambda s: make_key(s, **ACCEPTED, scopes=["files"]),
    "developer_terms_not_accepted": make_key,
    "developer_terms_version_mismatch": lambda s: make_key(s, **{**ACCEPTED, "developerTermsVersion": "none"}),
    "foreign_origin": lambda s: s.browser("GET", KEYS, headers={"Origin": "http://elsewhere.example"}),
    "foreign_host": lambda s: s.wire("GET", "/tools", headers={"Host": "elsewhere.example"}),
    "key_not_found": lambda s: s.browser("DELETE", f"{KEYS}/key_none"),
    "chat_not_found": lambda s: start(s, chat="chat_unknown"),
    "project_not_found": lambda s: start(s, project="proj_unknown"),
    "run_not_found": lambda s: s.wire("GET", f"/runs/{NOBODY}"),
    "not_found": lambda s: s.wire("GET", "/nothing/here"),
    "file_not_found": lambda s: download(s, "none"),
    "upload_not_found": lambda s: start(s, file_ids=["upload_unknown"]),
    "tool_not_found": lambda s: s.wire("GET", "/tools/nothing"),
    "standing_approval_not_found": lambda s: s.wire("DELETE", "/standing-approvals/standing_none"),
    "call_not_found": lambda s: approve(s, "call_none", approved=True),
    "call_not_waiting": lambda s: approve(s, approved=False),
    "job_not_found": lambda s: s.wire("GET", "/jobs/job_none", params={"chat": s.wire.new_chat()}),
    "feedback_not_found": lambda s: s.wire("GET", "/feedback/fb_none"),
    "media_not_found": lambda s: s.wire("GET", "/media/media_none"),
    "landing_page_not_found": lambda s: s.wire("GET", "/landing-pages/page_none"),
    "method_not_allowed": lambda s: s.wire("DELETE", "/runs"),
    "attachment_too_large": lambda s: too_large(s, "/runs"),
    "request_too_large": lambda s: announced(s.service, MCP.path, MCP_BODY_BYTES + 1),
    "range_not_satisfiable": lambda s: download(s, Range="bytes=99-"),
    "headers_too_large": lambda s: s.wire("GET", "/tools", headers={"X-Long": "x" * 70_000}),
    "unauthorized": lambda s: s.open(s.service, "svc_sk_unknown")("GET", "/tools"),
    "api_key_scope_forbidden": lambda s: s.keyed(scopes=("mcp",))("GET", "/tools"),
    "key_suspended": suspended_key,
    "plan_access_required": lambda s: barred(s, None),
    "model_unavailable": lambda s: start(s, s.account(s.other(**STRICT)), model="openai-chat:none"),
    "run_not_resumable": lambda s: s.wire("POST", f"/runs/{s.wire.finish('say x')['run_id']}/resume"),
    "run_not_finished": lambda s: s.wire("POST", f"/runs/{s.wire.start('wait 60')['run_id']}/undo"),
    "run_not_active": lambda s: s.wire(
        "POST", f"/runs/{s.wire.finish('say x')['run_id']}/limits", json={"max_cents": 2}
    ),
    "agent_run_rejected": lambda s: while_running(s, s.wire, same_chat=True),
    "chat_project_mismatch": mismatch,
    "chat_id_retired": retired,
    "idempotency_conflict": key_of_another_chat,
    "job_not_finished": early_result,
    "version_conflict": lambda s: label(s, times=2),
    "request_per_minute": lambda s: often(s, "request_per_minute"),
    "request_per_minute_user": lambda s: often(s, "request_per_minute_user", keys=4),
    "request_per_day": lambda s: often(s, "request_per_day", rate_per_day=2),
    "user_throttled": lambda s: barred(s, "throttled"),
    "user_suspended": lambda s: barred(s, "suspended"),
    "api_wallet_exhausted": lambda s: spent(s, "usage 30000 0"),
    "api_wallet_reconciliation_required": lambda s: spent(s, "usage none"),
    "monthly_usage_limit_reached": lambda s: spent(s, member=True),
    "api_key_budget_exhausted": lambda s: while_running(s, s.keyed(budget_cents=1)),
    "day_budget_exhausted": spent_day,
    "runtime_capacity_busy": lambda s: while_running(s, s.account(s.other(**STRICT)), runs=2),
    "feedback_rate_limited": sixty_reports,
    "internal_error": lambda s: download(s, words=uuid.uuid4().hex),
    "gateway_timeout": silent,
    "request_timeout": lambda s: announced(s.other(**HURRIED), RUNS, 9),
}
ELSEWHERE: Final = {"brain_unavailable", "workspace_busy"}
"""Provoked by tests/service/process/test_stop.py and test_limits.py."""
UNREACHED: Final = {row.code for row in CODES.values() if row.unreached}
RESETS: Final = {
    "request_per_minute": 3,
    "request_per_minute_user": 6,
    "request_per_day": 2,
    "feedback_rate_limited": 60,
}
"""429s that end by themselves and say when, with their limits here."""


@pytest.mark.rule("A request provokes each code, or its row says why none can.")
def test_each_row_is_provoked_or_says_why_it_is_not_reached() -> None:
    assert set(PROVOKED) | UNREACHED | ELSEWHERE == set(CODES)
    assert not UNREACHED & set(PROVOKED)


@pytest.mark.rule("Each code has its status, type, envelope, `X-Request-Id` and `Retry-After`.")
@pytest.mark.parametrize("name", PROVOKED)
def test_a_row_is_answered_as_it_stands(name: str, stage: ServiceFixture) -> None:
    check(PROVOKED[name](stage), CODES[name])


def check(answer: httpx.Response, row: Code) -> None:
    """Status, envelope and headers are the row's, and the client raises its class."""
    body = answer.json()
    assert (answer.status_code, body["error"]["code"]) == (row.status, row.code), answer.text
    assert body["error"]["type"] == row.type
    assert body["error"]["message"]
    assert answer.headers["x-request-id"].startswith("req_")
    assert answer.headers["content-type"] == "application/json"
    check_waiting(answer, row)
    error = from_response(answer.status_code, answer.headers, answer.content)
    assert (type(error).__name__, error.code, error.status, error.hint) == (row.raises, row.code, row.status, row.hint)
    assert error.request_id == answer.headers["x-request-id"]


def check_waiting(answer: httpx.Response, row: Code) -> None:
    """`Retry-After` where the API fixes it or the limit has a reset, and nowhere else."""
    given = answer.headers.get("retry-after")
    if row.code not in RESETS:
        assert given == (None if row.retry_after is None else str(row.retry_after))
        return
    facts = json.loads(answer.text)["error"]
    assert facts["limit"] == RESETS[row.code]
    assert facts["observed"] >= facts["limit"]
    resets_at = datetime.fromisoformat(facts["reset_at"])
    assert abs((resets_at - parsedate_to_datetime(answer.headers["date"])).total_seconds() - int(given)) < 3
    assert 0 < int(given) <= (60 if "minute" in row.code else 3_600 if "feedback" in row.code else 86_400)
