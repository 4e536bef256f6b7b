"""Rates, the operator's word, capacity and the gateway (docs/api/accounts.md, docs/api/errors.md,
docs/api/conventions.md, docs/api/runs.md)."""

from __future__ import annotations

import sqlite3
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from agentsvc_nb.service.accounts import account_records
from agentsvc_nb.service.accounts.accounts import ACCOUNT
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.runs import run_records
from agentsvc_nb.service.runs.runs import check_capacity
from agentsvc_nb.service.store.migrations import migrate
from agentsvc_nb.service.store.sqlite import SqliteTx
from agentsvc_nb.testing import running_service
from tests.service.api.conftest import Opened, code
from tests.service.api.service_fixture import operate
from tests.support import databases
from tests.support.waiting import until


def seconds_until(text: str) -> float:
    return (datetime.fromisoformat(text) - datetime.now(UTC)).total_seconds()


@pytest.mark.parametrize(
    ("setting", "expected", "length"),
    [("rate_per_minute", "request_per_minute", 60), ("rate_per_day", "request_per_day", 86_400)],
)
def test_a_rate_is_refused_with_its_limit_and_reset(setting: str, expected: str, length: int, opened: Opened) -> None:
    settings: dict[str, Any] = {setting: 3}
    with running_service(**settings) as service:
        wire = opened(service)
        answers = [wire("GET", "/tools") for _ in range(8)]
        last = answers[-1]
        assert (last.status_code, code(last)) == (429, expected)
        error = last.json()["error"]
        assert error["type"] == "rate_limit_error"
        assert (error["limit"], error["observed"] > 3) == (3, True)
        assert 0 < int(last.headers["retry-after"]) <= length
        assert abs(seconds_until(error["reset_at"]) - int(last.headers["retry-after"])) < 5
        assert sum(answer.status_code == 200 for answer in answers) in (3, 4, 5, 6)  # a new minute may have begun


def test_a_user_is_counted_over_all_keys_and_a_key_alone(opened: Opened) -> None:
    with running_service(rate_per_minute=4, rate_per_minute_user=6) as service:
        codes = set()
        for _ in range(3):
            for key in (service.api_key, service.create_key(), service.create_key()):
                answers = [opened(service, key)("GET", "/tools") for _ in range(5)]
                codes |= {code(answer) for answer in answers if answer.status_code == 429}
        assert codes == {"request_per_minute", "request_per_minute_user"}


def test_reads_of_runs_jobs_and_events_never_count(opened: Opened) -> None:
    with running_service(rate_per_day=2) as service:
        wire = opened(service)
        run = wire.finish("say hello")
        given = {"tool": "echo_job", "input": {"steps": 1}}
        job = wire("POST", "/jobs", json=given).json()
        assert code(wire("GET", "/tools")) == "request_per_day"
        look = {"params": {"chat": job["chat"]}}
        for _ in range(5):
            assert wire("GET", f"/runs/{run['run_id']}").status_code == 200
            assert wire("GET", f"/runs/{run['run_id']}/events").status_code == 200
            assert wire("GET", f"/jobs/{job['job_id']}", **look).status_code == 200
        assert code(wire("GET", "/tools")) == "request_per_day"


def test_a_replay_counts_like_any_request(opened: Opened) -> None:
    with running_service(rate_per_day=2) as service:
        wire, headers = opened(service), {"Idempotency-Key": "again"}
        wire.start("wait 1", headers=headers)
        wire.start("wait 1", headers=headers)
        answer = wire("POST", "/runs", json={"message": "wait 1"}, headers=headers)
        assert code(answer) == "request_per_day"


def test_a_wrong_body_counts_and_a_wrong_key_does_not(opened: Opened) -> None:
    with running_service(rate_per_day=1) as service:
        assert opened(service, "svc_sk_wrong")("GET", "/tools").status_code == 401
        wire = opened(service)
        assert code(wire("POST", "/runs", json={})) == "message_required"
        assert code(wire("POST", "/runs", json={})) == "request_per_day"


def test_a_suspended_and_a_throttled_user(opened: Opened) -> None:
    with running_service() as service:
        wire = opened(service)
        run = wire.finish("say hello")
        operate(service, lambda tx: account_records.set_state(tx, ACCOUNT, "suspended"))
        answer = wire("GET", "/tools")
        assert (answer.status_code, code(answer)) == (429, "user_suspended")
        assert "retry-after" not in answer.headers
        assert wire("GET", f"/runs/{run['run_id']}").status_code == 200
        soon = time.time_ns() // 1_000_000 + 30_000
        operate(service, lambda tx: account_records.set_state(tx, ACCOUNT, "throttled", soon))
        answer = wire("GET", "/tools")
        assert code(answer) == "user_throttled"
        assert 25 <= int(answer.headers["retry-after"]) <= 30
        assert 20 < seconds_until(answer.json()["error"]["reset_at"]) <= 30
        operate(service, lambda tx: account_records.set_state(tx, ACCOUNT, "throttled", soon - 30_001))
        assert wire("GET", "/tools").status_code == 200  # that is over
        operate(service, lambda tx: account_records.set_state(tx, ACCOUNT, "suspended"))
        operate(service, lambda tx: account_records.set_state(tx, ACCOUNT, "active"))
        assert wire("GET", "/tools").status_code == 200


def test_an_account_without_a_plan_has_no_access(opened: Opened) -> None:
    with running_service() as service:
        wire = opened(service)
        operate(service, lambda tx: account_records.set_plan(tx, ACCOUNT, False))
        answer = wire("GET", "/tools")
        assert (answer.status_code, code(answer)) == (403, "plan_access_required")
        assert opened(service, "svc_sk_wrong")("GET", "/tools").status_code == 401
        operate(service, lambda tx: account_records.set_plan(tx, ACCOUNT, True))
        assert wire("GET", "/tools").status_code == 200


def test_a_full_service_refuses_before_anything_is_made(opened: Opened) -> None:
    with running_service(run_capacity=2) as service:
        wire = opened(service)
        keyed = {"Idempotency-Key": "kept"}
        first = wire.start("wait 60", headers=keyed)
        second = wire.start("wait 60")
        answer = wire("POST", "/runs", json={"message": "say one too many"})
        assert (answer.status_code, code(answer)) == (429, "runtime_capacity_busy")
        assert answer.headers["retry-after"] == "5"
        assert wire.start("wait 60", headers=keyed)["run_id"] == first["run_id"]
        busy = wire("POST", "/runs", json={"message": "say", "chat": second["chat"]})
        assert code(busy) == "agent_run_rejected"
        wire("POST", f"/runs/{second['run_id']}/cancel")
        until(lambda: wire("GET", f"/runs/{second['run_id']}").json()["status"] == "cancelled")
        assert wire.finish("say there is room")["status"] == "completed"


def test_an_account_below_its_share_may_start_in_a_full_service() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection)
    connection.row_factory = sqlite3.Row
    tx = SqliteTx(connection)
    for number in range(4):
        _active(tx, "greedy", number)
    check_capacity(tx, "modest", 4)
    with pytest.raises(ApiError, match="near its limit"):
        check_capacity(tx, "greedy", 4)
    _active(tx, "modest", 4)
    check_capacity(tx, "modest", 4)
    _active(tx, "modest", 5)
    with pytest.raises(ApiError, match="near its limit"):
        check_capacity(tx, "modest", 4)
    check_capacity(tx, "greedy", None)
    connection.close()


def _active(tx: Tx, account: str, number: int) -> None:
    run_records.insert(
        tx,
        account=account,
        key_id="key",
        pool="wallet",
        hold_microcents=0,
        chat=f"chat{number}",
        project=None,
        message="hello",
        output_config=None,
        model="scripted",
        now=0,
    )


def test_a_gateway_closes_what_nobody_answers_and_the_run_goes_on(opened: Opened) -> None:
    with running_service(gateway_seconds=0.5) as service:
        wire, headers = opened(service), {"Idempotency-Key": "patience"}
        body = {"message": "wait 2\nsay done", "sync": True}
        answer = wire("POST", "/runs", json=body, headers=headers)
        assert (answer.status_code, code(answer)) == (504, "gateway_timeout")
        assert answer.headers["connection"] == "close"
        run = wire("POST", "/runs", json={"message": "wait 2"}, headers=headers).json()
        assert until(lambda: wire("GET", f"/runs/{run['run_id']}").json()["output"]) == "done"
        again = wire("POST", "/runs", json=body, headers=headers)
        assert (again.status_code, again.json()["run_id"]) == (200, run["run_id"])


def test_a_stream_is_an_answer_and_is_not_cut(opened: Opened) -> None:
    with running_service(gateway_seconds=0.3) as service:
        wire = opened(service)
        run = wire.start("wait 1\nsay late")
        stream = wire("GET", f"/runs/{run['run_id']}/events", headers={"Accept": "text/event-stream"})
        assert "event: run.ended" in stream.text


def test_a_database_that_another_keeps_is_a_busy_workspace(opened: Opened) -> None:
    with running_service() as service:
        wire = opened(service)
        with databases.kept_busy(service.folder):
            answer = wire("POST", "/files", files={"files": ("a.txt", b"hello")})
        assert (answer.status_code, code(answer)) == (503, "workspace_busy")
        assert answer.json()["error"]["type"] == "rate_limit_error"
        assert answer.headers["retry-after"] == "5"
        assert wire("POST", "/files", files={"files": ("a.txt", b"hello")}).status_code == 200
