"""Every code of the API, with its details: the class and fields of the error, and whether the call is made again."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from typing import Any

from agentsvc_nb import RateLimitError
from tests.independent.checking import PASSING, alike, outcome, was_answered
from tests.independent.faces import FACES, Case, Group, Pool, generated
from tests.independent.mock import Mock, problem, saying
from tests.independent.operations import OPERATIONS, Operation
from tests.independent.records import OTHER_RUN, service

INVALID, LIMIT, AWAY = "invalid_request_error", "rate_limit_error", "service_unavailable_error"
RESET = "2026-03-01T00:00:00.000Z"
RATES: dict[str, Any] = {"limit": 10, "observed": 11, "reset_at": RESET}
BUDGET: dict[str, Any] = {"key_budget": {"budget_cents": 100, "billed_cents": 101, "resets_at": RESET}}
SPENT = ("api_wallet_exhausted", "api_key_budget_exhausted", "monthly_usage_limit_reached")
NEVER = ("model_unavailable", "api_wallet_reconciliation_required")  # these say so themselves: not made again
OPEN = (*SPENT, "user_suspended", "feedback_rate_limited")  # of these the rules say nothing about a second time

TABLE: list[tuple[int, str, str, dict[str, Any]]] = [
    *[(400, code, INVALID, {}) for code in (
        "message_required", "invalid_chat", "invalid_project", "invalid_sync", "invalid_on_busy", "invalid_json",
        "invalid_output_config", "invalid_multipart", "invalid_idempotency_key", "too_many_attachments",
        "unsupported_attachment", "invalid_run_id", "invalid_query", "invalid_last_event_id", "invalid_tool_input",
        "unsupported_tool_request", "file_too_large", "too_many_files", "invalid_feedback", "invalid_label",
        "invalid_scope", "developer_terms_not_accepted", "developer_terms_version_mismatch", "invalid_limits",
        "invalid_model", "invalid_client_tool", "invalid_call_result", "a_code_of_the_future")],
    (401, "unauthorized", "authentication_error", {}),
    *[(403, code, "permission_error", {}) for code in (
        "api_key_scope_forbidden", "key_suspended", "plan_access_required", "foreign_origin", "foreign_host")],
    *[(404, code, INVALID, {}) for code in (
        "chat_not_found", "project_not_found", "run_not_found", "not_found", "file_not_found", "upload_not_found",
        "tool_not_found", "job_not_found", "feedback_not_found", "media_not_found", "landing_page_not_found",
        "call_not_found")],
    (405, "method_not_allowed", INVALID, {"headers": {"Allow": "GET"}}),
    (409, "agent_run_rejected", INVALID, {"top": {"activeRunId": OTHER_RUN}}),
    *[(409, code, INVALID, {}) for code in (
        "chat_project_mismatch", "chat_id_retired", "idempotency_conflict", "job_not_finished", "version_conflict",
        "run_not_resumable", "call_not_waiting")],
    *[(413, code, INVALID, {}) for code in ("attachment_too_large", "request_too_large", "call_result_too_large")],
    *[(429, code, LIMIT, {**RATES, "headers": {"Retry-After": "0"}}) for code in (
        "request_per_minute", "request_per_minute_user", "request_per_day", "user_throttled")],
    (429, "user_suspended", LIMIT, {"limit": 0, "observed": 1}),
    (429, "runtime_capacity_busy", LIMIT, {"headers": {"Retry-After": "0"}}),
    (429, "feedback_rate_limited", LIMIT, {"headers": {"Retry-After": "0"}}),
    (429, "api_wallet_exhausted", LIMIT, {}),
    (429, "api_key_budget_exhausted", LIMIT, BUDGET),
    (429, "monthly_usage_limit_reached", LIMIT, {}),
    (500, "internal_error", "api_error", {}),
    (502, "bad_gateway", "api_error", {}),
    (503, "workspace_busy", LIMIT, {"headers": {"Retry-After": "0"}}),
    *[(503, code, AWAY, {}) for code in (
        "brain_unavailable", "api_wallet_reconciliation_required", "runtime_unavailable", "runtime_timeout",
        "runtime_invalid_response", "model_unavailable", "a_code_of_the_future")],
    (504, "gateway_timeout", "api_error", {}),
]  # fmt: skip
NAMES: tuple[str, ...] = (
    "runs.get",
    "files.list",
    "files.upload",
    "runs.cancel",
    "runs.start",
    "runs.start with key",
    "ask",
)
NAMES += ("ask with key", "jobs.submit with key", "tools.invoke", "runs.start with files with key", "labels.write")
CHOSEN = [operation for operation in OPERATIONS if operation.name in NAMES]


def _coded(operation: Operation, face: str, status: int, code: str, type_: str, more: dict[str, Any]) -> None:
    with Mock(service, [saying("refused", problem(status, code, type_, **more))] * 3) as mock:
        mock.counts = operation.is_mine
        result = outcome(mock, face, operation.call, max_retries=1)
        again = operation.again and status in PASSING and code not in NEVER
        attempts = len(mock.counted()) if code in OPEN else 2 if again else 1
        assert attempts <= 2 if again else attempts == 1
        was_answered(result, operation, status, code, attempts)
        alike(mock, operation, attempts)
        error = result.failure
        assert error.active_run_id == (OTHER_RUN if "top" in more else None)
        assert "error" in error.body
        assert error.body["error"]["type"] == type_
        assert error.body["error"].get("key_budget") == more.get("key_budget")
        assert f"It says {code}." in str(error)
        if status == 429:
            assert error.reset_at == (None if code in SPENT else more.get("reset_at"))
            waits = "Retry-After" in more.get("headers", {}) and code not in SPENT
            assert error.retry_after_seconds == (0 if waits else None)


def _no_wait_for_money(operation: Operation, face: str, code: str) -> None:
    """What is spent has no time at which it is there again, whatever the answer says."""
    reply = problem(429, code, LIMIT, reset_at=RESET, headers={"Retry-After": "1"})
    with Mock(service, [saying("spent", reply)] * 3) as mock:
        mock.counts = operation.is_mine
        error = outcome(mock, face, operation.call, max_retries=0).failure
        assert isinstance(error, RateLimitError)
        assert (error.retry_after_seconds, error.reset_at) == (None, None)


def _date(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


BUSY = {429: "user_throttled", 503: "workspace_busy"}
# What `Retry-After` says; the least and the most that is waited, None where it is told at once; what the error says.
AFTER: dict[str, tuple[Callable[[], str], tuple[float, float] | None, Callable[[Any], bool]]] = {
    "0": (lambda: "0", (0, 1.0), lambda after: after == 0),
    "1": (lambda: "1", (1, 2.5), lambda after: after == 1),
    "01": (lambda: "01", (1, 2.5), lambda after: after == 1),
    "61": (lambda: "61", None, lambda after: after == 61),
    "86400": (lambda: "86400", None, lambda after: after == 86400),
    "huge": (lambda: "9" * 400, None, lambda after: after is None or after > 60),
    "a date that was": (lambda: _date(-90), (0, 1.0), lambda after: not after),
    "a date soon": (lambda: _date(2), (0.5, 3.5), lambda after: 0 <= after <= 2.5),
    "a date far off": (lambda: _date(3600), None, lambda after: 3500 < after <= 3601),
    "a date in year 9999": (lambda: "Fri, 31 Dec 9999 23:59:59 GMT", None, lambda after: after > 60),
    "a word": (lambda: "soon", (0, 1.0), lambda after: after is None),
    "nothing": (lambda: "", (0, 1.0), lambda after: after is None),
    "less than nothing": (lambda: "-5", (0, 1.0), lambda after: not after),
    "no number": (lambda: "nan", (0, 1.0), lambda after: after is None),
    "without end": (lambda: "inf", (0, 1.0), lambda after: after is None),
    "a date that is none": (lambda: "Fri, 99 Foo 2026 23:59:59 GMT", (0, 1.0), lambda after: after is None),
}


def _after(operation: Operation, face: str, status: int, name: str) -> None:
    """`Retry-After` of up to 60 seconds is waited for; a longer one is told at once."""
    value, waits, told = AFTER[name]
    code = BUSY[status]
    reply = problem(status, code, LIMIT, headers={"Retry-After": value()})
    with Mock(service, [saying("later", reply)]) as mock:
        mock.counts = operation.is_mine
        result = outcome(mock, face, operation.call)
        if operation.again and waits:
            assert operation.good(result.value), result.error
            first, second = (seen.at for seen in mock.counted()[:2])
            assert waits[0] - 0.05 <= second - first <= waits[1] + 1.5, second - first
        else:
            was_answered(result, operation, status, code, 1)
            assert len(mock.counted()) == 1
            assert told(result.failure.retry_after_seconds), result.failure.retry_after_seconds


def _after_told(operation: Operation, face: str, status: int, name: str) -> None:
    value, _, told = AFTER[name]
    reply = problem(status, BUSY[status], LIMIT, headers={"Retry-After": value()})
    with Mock(service, [saying("later", reply)]) as mock:
        error = outcome(mock, face, operation.call, max_retries=0).failure
        assert told(error.retry_after_seconds), error.retry_after_seconds


def _backing_off(operation: Operation, face: str) -> None:
    """Without `Retry-After` the first wait is at most half a second, each later one at most twice the one before's."""
    with Mock(service, [saying("away", problem(503, "brain_unavailable", AWAY))] * 3) as mock:
        mock.counts = operation.is_mine
        result = outcome(mock, face, operation.call, max_retries=3)
        assert operation.good(result.value), result.error
        seconds = [notice.seconds for notice in result.notices]
        assert len(seconds) == 3
        assert all(0 <= wait <= most for wait, most in zip(seconds, (0.5, 1, 2), strict=True)), seconds
        assert [notice.attempt for notice in result.notices] == [1, 2, 3]


def _in_time(operation: Operation, face: str) -> None:
    """No attempt begins that the deadline has no room for."""
    reply = problem(503, "brain_unavailable", AWAY, headers={"Retry-After": "30"})
    with Mock(service, [saying("away", reply)] * 9) as mock:
        mock.counts = operation.is_mine
        error = outcome(mock, face, operation.call, deadline=1.0).failure
        assert len(mock.counted()) == 1
        assert error.late == operation.again


def _cases() -> list[Case]:
    cases: list[Case] = []
    faces = list(FACES)
    for operation in CHOSEN:
        for status, code, type_, more in TABLE:
            face = faces[len(cases) % 3]
            check = partial(_coded, operation, face, status, code, type_, more)
            cases.append(Case(f"{operation.name}-{face}-{status} {code}", check))
        for name in AFTER:
            for status in BUSY:
                face = faces[len(cases) % 3]
                label = f"{operation.name}-{face}-{status}"
                cases.append(Case(f"{label} after {name}", partial(_after, operation, face, status, name)))
                cases.append(Case(f"{label} told {name}", partial(_after_told, operation, face, status, name)))
        for face in faces:
            for code in SPENT:
                cases.append(
                    Case(f"{operation.name}-{face}-{code}", partial(_no_wait_for_money, operation, face, code))
                )
            cases.append(Case(f"{operation.name}-{face}-in time", partial(_in_time, operation, face)))
            if operation.again:
                cases.append(Case(f"{operation.name}-{face}-backing off", partial(_backing_off, operation, face)))
    return cases


@generated(_cases())
def test_codes(group: Group, pool: Pool) -> None:
    pool.check(group)
