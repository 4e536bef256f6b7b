"""Rates, the operator's word, capacity and the gateway (docs/api/accounts.md, docs/api/errors.md,
docs/api/conventions.md, docs/api/runs.md)."""

from __future__ import annotations

import time
import uuid
from datetime import UTC, datetime

import pytest

from agentsvc_nb.service.accounts import account_records
from agentsvc_nb.wire.codes import CODES
from tests.service.api.conftest import code
from tests.service.api.service_fixture import HURRIED, STRICT, ServiceFixture, operate, stop
from tests.service.api.test_every_code import check
from tests.support import databases
from tests.support.waiting import until


@pytest.mark.rule("Request limits count per key and minute, and per user, minute and day.")
def test_a_user_is_counted_over_all_keys_and_a_key_alone(stage: ServiceFixture) -> None:
    """Three a minute for a key, six for its user. A new minute may begin meanwhile, at most once."""
    service = stage.other(**HURRIED)
    account = stage.account(service).account
    keys = [stage.account(service, account) for _ in range(5)]
    alone = [code(keys[0]("GET", "/tools")) if n > 5 else keys[0]("GET", "/tools").status_code for n in range(7)]
    assert alone[:3] == [200] * 3
    assert alone[6] == "request_per_minute"
    together = [answer for key in keys[1:] for answer in (key("GET", "/tools") for _ in range(3))]
    codes = {code(answer) for answer in together if answer.status_code == 429}
    assert codes == {"request_per_minute_user"}
    assert stage.account(service)("GET", "/tools").status_code == 200, "another user is not concerned"


@pytest.mark.rule("A suspended or throttled account is a 429, with its reset.")
def test_a_suspended_and_a_throttled_user(stage: ServiceFixture) -> None:
    wire = stage.account(stage.service)

    def say(state: account_records.State, until: int | None = None) -> None:
        operate(stage.service, lambda tx: account_records.set_state(tx, wire.account, state, until))

    run = wire.finish("say hello")
    say("suspended")
    answer = wire("GET", "/tools")
    assert (answer.status_code, code(answer)) == (429, "user_suspended")
    assert "retry-after" not in answer.headers
    assert wire("GET", f"/runs/{run['run_id']}").status_code == 200
    soon = time.time_ns() // 1_000_000 + 3_600_000
    say("throttled", soon)
    answer = wire("GET", "/tools")
    assert code(answer) == "user_throttled"
    assert 0 < int(answer.headers["retry-after"]) <= 3_600
    assert datetime.fromisoformat(answer.json()["error"]["reset_at"]) == datetime.fromtimestamp(soon / 1000, UTC)
    say("throttled", soon - 3_600_001)
    assert wire("GET", "/tools").status_code == 200  # that is over
    say("suspended")
    say("active")
    assert wire("GET", "/tools").status_code == 200


@pytest.mark.rule("A full service answers `runtime_capacity_busy` and creates nothing.")
def test_a_full_service_refuses_before_anything_is_made(stage: ServiceFixture) -> None:
    service = stage.other(**STRICT)
    wire, keyed = stage.account(service), {"Idempotency-Key": "kept"}
    first, second = wire.start("wait 60", headers=keyed), wire.start("wait 60")
    answer = wire("POST", "/runs", json={"message": "say one too many"})
    assert (answer.status_code, code(answer), answer.headers["retry-after"]) == (429, "runtime_capacity_busy", "5")
    assert wire.start("wait 60", headers=keyed)["run_id"] == first["run_id"]
    stop(wire, second)
    assert wire.finish("say there is room")["status"] == "completed"
    stop(wire, first)


@pytest.mark.rule("An account below its fair share may start a run in a full service.")
def test_an_account_below_its_share_may_start_in_a_full_service(stage: ServiceFixture) -> None:
    service = stage.other(**STRICT)
    greedy, modest = stage.account(service), stage.account(service)
    runs = [(greedy, greedy.start("wait 60")) for _ in range(2)]
    runs.append((modest, modest.start("wait 60")))
    for wire in (greedy, modest):
        assert code(wire("POST", "/runs", json={"message": "say x"})) == "runtime_capacity_busy"
    for wire, run in runs:
        stop(wire, run)


@pytest.mark.rule("A request without a response for 120 s is a 504; its run continues.")
def test_a_gateway_closes_what_nobody_answers_and_the_run_goes_on(stage: ServiceFixture) -> None:
    wire, headers = stage.account(stage.other(**HURRIED)), {"Idempotency-Key": uuid.uuid4().hex}
    body = {"message": "wait 1.5\nsay done", "sync": True}
    answer = wire("POST", "/runs", json=body, headers=headers)
    assert (answer.status_code, code(answer)) == (504, "gateway_timeout")
    assert answer.headers["connection"] == "close"
    run = wire("POST", "/runs", json={"message": "wait 1.5"}, headers=headers).json()
    # A stream is an answer, and is not cut.
    stream = wire("GET", f"/runs/{run['run_id']}/events", headers={"Accept": "text/event-stream"})
    assert "event: run.ended" in stream.text
    again = wire("POST", "/runs", json=body, headers=headers)
    assert (again.status_code, again.json()["run_id"], again.json()["output"]) == (200, run["run_id"], "done")


@pytest.mark.rule("A locked database is `503 workspace_busy`.")
def test_a_database_that_another_keeps_is_a_busy_workspace(stage: ServiceFixture) -> None:
    service = stage.other(**STRICT)
    wire = stage.account(service)
    with databases.kept_busy(service.folder):
        answer = wire("POST", "/files", files={"files": ("a.txt", b"hello")})
    check(answer, CODES["workspace_busy"])
    assert until(lambda: wire("POST", "/files", files={"files": ("a.txt", b"hello")}).status_code == 200)
