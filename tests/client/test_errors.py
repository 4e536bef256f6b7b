"""The exception for every answer: by code, by status, out of anything in the body."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from agentsvc_nb import Job
from agentsvc_nb.client import errors
from agentsvc_nb.client.errors import (
    APIConnectionError,
    AuthenticationError,
    JobFailedError,
    JobTimeoutError,
    RateLimitError,
    RequestTooLargeError,
    StefanBrainError,
    from_response,
)
from agentsvc_nb.wire.codes import CODES, STATUSES, Code


def envelope(**error: object) -> bytes:
    return json.dumps({"error": {"message": "No.", "type": "api_error", **error}}).encode()


@pytest.mark.parametrize("row", CODES.values(), ids=lambda row: row.code)
def test_each_code_gives_its_exception_and_hint(row: Code) -> None:
    error = from_response(row.status, {"x-request-id": "req_1"}, envelope(code=row.code))
    assert type(error).__name__ == row.raises
    assert (error.code, error.status, error.request_id, error.hint) == (row.code, row.status, "req_1", row.hint)
    assert str(error) == f"No. ({row.status} {row.code}, request req_1)\n{row.hint}"


@pytest.mark.parametrize("status", [*STATUSES, 302, 418, 599])
def test_without_a_known_code_the_status_decides(status: int) -> None:
    expected = STATUSES[status].raises if status in STATUSES else "StefanBrainError"
    assert type(from_response(status, {}, envelope(code="news"))).__name__ == expected


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>Bad Gateway</html>",
        b"\xff\xfe",
        b"[]",
        b'"x"',
        b'{"error": "x"}',
        b'{"error": {"code": 7}}',
        b"[" * 9999,
    ],
)
def test_any_body_is_survived(body: bytes) -> None:
    error = from_response(502, {"content-type": "text/html; charset=x"}, body)
    assert str(error) == "The service answered 502 without an explanation (text/html)."


def test_numbers_and_characters_that_python_refuses_hide_no_message() -> None:
    body = envelope(code="request_per_day").replace(b'"No."', b'"No\\ud800.", "limit": ' + b"9" * 5_000)
    error = from_response(429, {}, body)
    assert (error.code, error.message) == ("request_per_day", "No?.")
    assert str(error).encode()


def test_a_long_body_is_kept_in_part_only() -> None:
    assert from_response(500, {}, "é".encode() * 9_000).body == "é" * 2_000


def test_a_redirect_is_an_error_that_says_so() -> None:
    assert "correct the base URL" in str(from_response(307, {"location": "https://elsewhere.test"}, b""))


def test_a_rate_limit_says_when_it_ends() -> None:
    error = from_response(429, {"retry-after": "12"}, envelope(code="request_per_day", reset_at="2026-01-02T00:00:00Z"))
    assert isinstance(error, RateLimitError)
    assert (error.retry_after_seconds, error.reset_at) == (12.0, "2026-01-02T00:00:00Z")


@pytest.mark.parametrize("code", ["api_wallet_exhausted", "api_key_budget_exhausted", "monthly_usage_limit_reached"])
def test_spent_money_has_no_reset(code: str) -> None:
    error = from_response(429, {"retry-after": "12"}, envelope(code=code, reset_at="2026-01-02T00:00:00Z"))
    assert (error.retry_after_seconds, error.reset_at) == (None, None)


def test_a_busy_chat_names_its_run() -> None:
    body = json.dumps({"error": {"message": "Busy.", "code": "agent_run_rejected"}, "activeRunId": "abc"}).encode()
    error = from_response(409, {}, body)
    assert type(error) is StefanBrainError
    assert error.active_run_id == "abc"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("5", 5.0),
        ("0", 0.0),
        (" 1.5 ", 1.5),
        ("007", 7.0),
        ("Thu, 01 Jan 2026 00:00:09 GMT", 9.0),
        # What Python reads as a number, and HTTP does not.
        ("1_0", None),
        ("١٠", None),
        ("１０", None),
        ("+5", None),
        ("5e1", None),
        (".5", None),
        ("5.", None),
        ("1 0", None),
        ("\x0b5", None),
        ("\xa05", None),
        ("1e400", None),
        ("9" * 400, 1e9),
        ("9" * 5_000, 1e9),
        ("infinity", None),
        ("0x10", None),
        ("nan", None),
        ("inf", None),
        ("-1", None),
        ("Wed, 31 Dec 2025 00:00:00 GMT", None),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after(header: str, seconds: float | None) -> None:
    headers = {"retry-after": header, "date": "Thu, 01 Jan 2026 00:00:00 GMT"}
    assert errors.retry_after(headers) == seconds


def test_retry_after_by_our_own_clock() -> None:
    """A service that does not tell its time: a date far ahead is still in the future."""
    seconds = errors.retry_after({"retry-after": "Thu, 01 Jan 2099 00:00:00 GMT"})
    assert seconds is not None
    assert seconds > 0


@pytest.mark.parametrize(
    "error",
    [
        from_response(429, {"retry-after": "3"}, envelope(code="user_throttled")),
        AuthenticationError("Who?"),
        RequestTooLargeError("Big.", status=413),
        APIConnectionError("Gone.", sent=False, timed_out=True),
        JobFailedError(Job.model_validate({"job_id": "j", "status": "failed", "error": {"code": "x", "message": "y"}})),
        JobTimeoutError("j", "chat_1"),
        JobTimeoutError(None),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_are_pickled_whole(error: StefanBrainError) -> None:
    error.method, error.path, error.attempts = "GET", "/x", 3
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is type(error)
        assert vars(twin) == vars(error)
        assert str(twin) == str(error)


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn = errors.__doc__ or ""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, StefanBrainError)]
    assert len(kinds) == 10  # with the alias
    assert all(kind.__name__ in drawn and kind.__doc__ for kind in kinds)
