"""What the client raises: by code, by status, out of any body, about which request."""

from __future__ import annotations

import copy
import pickle
import traceback
from typing import Any

import httpx
import pytest

from agentsvc_nb import (
    APIConnectionError,
    AuthenticationError,
    Job,
    JobFailedError,
    JobTimeoutError,
    RateLimitError,
    StefanBrainError,
)
from agentsvc_nb.wire.codes import CODES, STATUSES, Code
from agentsvc_nb.wire.limits import ANSWER_BYTES, MIB
from tests.unit.client.conftest import (
    FACES,
    HOST,
    KEY,
    RESET,
    RUN_ID,
    V1,
    Call,
    Networks,
    Scripted,
    answer,
    failure,
    run,
)
from tests.unit.client.streams import Body, events, frames, sse


def read(client: Any) -> Any:
    return client.runs.get(RUN_ID, max_retries=0)


def follow(client: Any) -> Any:
    return client.runs.attach(RUN_ID, max_retries=0)


@pytest.mark.rule("Each code raises its exception class, with a hint.")
@pytest.mark.parametrize("row", CODES.values(), ids=lambda row: row.code)
def test_each_code_gives_its_exception_and_hint(row: Code, network: Networks) -> None:
    error = network(failure(row.code, row.status, x_request_id="req_1")).error(read)
    assert type(error).__name__ == row.raises
    assert (error.code, error.status, error.request_id, error.hint) == (row.code, row.status, "req_1", row.hint)
    assert str(error) == f"No. ({row.status} {row.code}, request req_1)\n{row.hint}"


@pytest.mark.rule("An unknown code raises the exception of its status.")
@pytest.mark.parametrize("status", [*STATUSES, 302, 418, 599])
def test_without_a_known_code_the_status_decides(status: int, network: Networks) -> None:
    expected = STATUSES[status].raises if status in STATUSES else "StefanBrainError"
    error = network(failure("news", status)).error(read)
    assert (type(error).__name__, str(error).count(str(status))) == (expected, 1)


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>Bad Gateway</html>", b"\xff\xfe", b"[]", b'{"error": {"code": 7}}', b"[" * 9999],
)
@pytest.mark.parametrize("status", [200, 502])
def test_any_body_is_survived(body: bytes, status: int, network: Networks) -> None:
    error = network(httpx.Response(status, content=body, headers={"content-type": "text/html; charset=x"})).error(read)
    assert (error.status, error.code) == (status, None)


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("status", [200, 500])
def test_an_answer_that_does_not_end_is_not_all_read(face: str, status: int) -> None:
    class Long(Body):
        made = 0

        def __iter__(self) -> Any:
            while self.made < 200:
                self.made += 1
                yield b" " * MIB

    body = Long()
    transport = httpx.MockTransport(lambda request: httpx.Response(status, stream=body))
    with pytest.raises(StefanBrainError, match="exceeds 64 MiB"):
        FACES[face](HOST, read, transport=transport)
    assert body.made == ANSWER_BYTES // MIB + 1


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (run(steps="many"), "`steps`"),
        (run(usage={"input_tokens": []}), "`usage.input_tokens`"),
        ({"status": "queued"}, "`run_id`"),
    ],
)
def test_a_wrong_type_names_its_field(network: Networks, wrong: dict[str, Any], named: str) -> None:
    error = network(answer(200, wrong, x_request_id="req-1")).error(read)
    assert named in str(error)
    assert (error.status, error.request_id, error.method) == (200, "req-1", "GET")


@pytest.mark.rule("The client keeps unknown fields and states.")
def test_fields_and_states_that_are_new_are_kept(network: Networks) -> None:
    record = network(answer(200, run("paused", mood="good", usage={"cache": 7}))).call(read)
    assert (record.status, record.ended, record.usage.model_dump()["cache"]) == ("paused", False, 7)
    assert record.mood == "good"


@pytest.mark.rule("`RateLimitError` has `retry_after_seconds` and `reset_at`.")
def test_a_rate_limit_says_when_it_ends(network: Networks) -> None:
    body = {"error": {"message": "No.", "code": "request_per_day", "reset_at": "2026-01-02T00:00:00Z"}}
    error = network(answer(429, body, retry_after="12")).error(read)
    assert (error.retry_after_seconds, error.reset_at) == (12.0, "2026-01-02T00:00:00Z")


@pytest.mark.rule("Spent money has no reset: both fields are None.")
@pytest.mark.parametrize("code", ["api_wallet_exhausted", "api_key_budget_exhausted", "monthly_usage_limit_reached"])
def test_spent_money_has_no_reset(code: str, network: Networks) -> None:
    body = {"error": {"message": "No.", "code": code, "reset_at": "2026-01-02T00:00:00Z"}}
    error = network(answer(429, body, retry_after="12")).error(read)
    assert (error.retry_after_seconds, error.reset_at) == (None, None)


GET, EVENTS = f"{V1}/runs/{RUN_ID}", f"{V1}/runs/{RUN_ID}/events"
REQUESTS: dict[str, tuple[list[Scripted], Call, type[StefanBrainError], str, int]] = {
    "a refusal after a repeat": (
        [answer(503), failure("run_not_found", 404)], lambda c: c.runs.get(RUN_ID), StefanBrainError, GET, 2
    ),
    "an event that is no JSON": ([answer(200, run()), sse(b"id: 1\ndata: {\n\n")], follow, StefanBrainError, EVENTS, 1),
    "a stream that broke": (
        [answer(200, run()), sse(frames(events(3))[:200], RESET)], follow, APIConnectionError, EVENTS, 1
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REQUESTS)
def test_an_error_names_its_request(case: str, network: Networks) -> None:
    answers, call, kind, path, attempts = REQUESTS[case]
    for each in answers:
        assert isinstance(each, httpx.Response)
        each.headers["x-request-id"] = "req_9"
    error = network(*answers).error(call)
    assert type(error) is kind
    assert (error.request_id, error.method, error.path, error.attempts) == ("req_9", "GET", path, attempts)


@pytest.mark.rule("No traceback contains the key.")
@pytest.mark.parametrize("trouble", [httpx.ConnectError("refused"), failure("unauthorized", 401)])
def test_the_key_is_in_no_traceback(network: Networks, trouble: Scripted) -> None:
    """Neither in the text nor in the representation of any local variable."""
    net = network(*[trouble] * 3)
    try:
        net.client.runs.get(RUN_ID)
    except StefanBrainError as error:
        shown = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    assert HOST in shown
    assert KEY not in shown
    assert "During handling" not in shown
    assert "direct cause" not in shown


MADE = [
    RateLimitError("Later.", status=429, retry_after_seconds=3, body={"error": {}}),
    AuthenticationError("Who?"),
    APIConnectionError("Gone.", sent=False, timed_out=True),
    JobFailedError(Job.model_validate_json('{"job_id": "j", "status": "failed"}')),
    JobTimeoutError("j", "chat_1"),
]


@pytest.mark.parametrize("error", MADE, ids=lambda error: type(error).__name__)
def test_errors_are_pickled_whole(error: StefanBrainError) -> None:
    error.method, error.path, error.attempts = "GET", "/x", 3
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(twin), vars(twin), str(twin)) == (type(error), vars(error), str(error))


@pytest.mark.parametrize(
    "event",
    [
        b'{"id":1e400,"type":"x"}', b'{"id":true,"type":"x"}', b'{"id":1.5,"type":"x"}', b'{"id":1}',
        b'{"id":1,"type":"x","payload":[]}', b"[1]", b'{"id":1,"type":"x","payload":' + b"[" * 100_000 + b"}", b"\xff",
    ],
)  # fmt: skip
def test_pages_and_the_stream_refuse_the_same_events(network: Networks, event: bytes) -> None:
    assert network(answer(200, run()), sse(b"id: 1\ndata: " + event + b"\n\n")).error(follow)
    page = httpx.Response(200, content=b'{"data":[' + event + b'],"next_after":1,"status":"running"}')
    assert network(page).error(lambda c: c.runs.events(RUN_ID))
