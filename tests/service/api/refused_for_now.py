"""Requests that are right and can't be done, by the code that each is answered with."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator
from typing import Final

import httpx

from agentsvc_nb.service.accounts import account_records, accounts
from agentsvc_nb.service.accounts.accounts import ACCOUNT
from agentsvc_nb.testing import running_service
from agentsvc_nb.wire.routes import V1
from tests.service.api.conftest import Wire
from tests.service.api.refused_requests import Provoke, start
from tests.service.api.service_fixture import ServiceFixture, operate, stop
from tests.service.process.test_stop import answer, connected
from tests.support import databases
from tests.support.contents import incoming, lose
from tests.support.waiting import until

PICTURE: Final = {"request": {"kind": "static_ad", "brief": "x", "outputs": {"mode": "count", "count": 1}}}
AGAIN: Final = {"message": "say x"}
A_MINUTE: Final = {"rate_per_minute": 1, "rate_per_minute_user": 3}


def _suspended(stage: ServiceFixture) -> httpx.Response:
    name = uuid.uuid4().hex
    wire = stage.keyed(name=name)
    operate(stage.service, lambda tx: accounts.change_key(tx, name, "suspend", 0))
    return wire("GET", "/tools")


def _barred(stage: ServiceFixture, state: account_records.State) -> httpx.Response:
    """By the operator's word about the account, which is taken back."""
    service = stage.other(run_capacity=1)
    operate(service, lambda tx: account_records.set_state(tx, ACCOUNT, state))
    answer = stage.open(service)("GET", "/tools")
    operate(service, lambda tx: account_records.set_state(tx, ACCOUNT, "active"))
    return answer


def _without_plan(stage: ServiceFixture) -> httpx.Response:
    service = stage.other(run_capacity=1)
    operate(service, lambda tx: account_records.set_plan(tx, ACCOUNT, False))
    answer = stage.open(service)("GET", "/tools")
    operate(service, lambda tx: account_records.set_plan(tx, ACCOUNT, True))
    return answer


def _while_running(wire: Wire, *, same_chat: bool = False) -> httpx.Response:
    """A start while another run is active."""
    run = wire.start("wait 60")
    answer = wire("POST", "/runs", json={**AGAIN, "chat": run["chat"] if same_chat else None})
    stop(wire, run)
    return answer


def _mismatch(stage: ServiceFixture) -> httpx.Response:
    ours, theirs = (stage.wire("POST", "/projects", json={"name": name}).json()["id"] for name in ("a", "b"))
    return start(stage, chat=stage.wire.finish("say x", project=ours)["chat"], project=theirs)


def _unavailable(stage: ServiceFixture) -> httpx.Response:
    service = stage.other(models="scripted,openai-chat:none", model_url="http://127.0.0.1:1")
    return start(stage, wire=stage.open(service), model="openai-chat:none")


def _resumed(stage: ServiceFixture, script: str) -> httpx.Response:
    run = stage.wire.finish(script)
    return stage.wire("POST", f"/runs/{run['run_id']}/resume")


def _retired(stage: ServiceFixture) -> httpx.Response:
    chat = stage.wire.new_chat()
    stage.wire("DELETE", f"/chats/{chat}")
    return start(stage, chat=chat)


def _key_of_another_chat(stage: ServiceFixture) -> httpx.Response:
    def submit(chat: str) -> httpx.Response:
        body = {"tool": "create_images", "input": PICTURE, "chat": chat}
        return stage.wire("POST", "/jobs", json=body, headers=headers)

    headers = {"Idempotency-Key": uuid.uuid4().hex}
    submit(stage.wire.new_chat())
    return submit(stage.wire.new_chat())


def _early_result(stage: ServiceFixture) -> httpx.Response:
    job = stage.job(steps=600, seconds=60)
    look = {"chat": job["chat"]}
    answer = stage.wire("GET", f"/jobs/{job['job_id']}/result", params=look)
    stage.wire("POST", f"/jobs/{job['job_id']}/cancel", params=look)
    return answer


def _stale_version(stage: ServiceFixture) -> httpx.Response:
    path, body = f"/landing-pages/{stage.page()}/labels", {"labels": {}, "expected_version": 1}
    assert stage.wire("PUT", path, json=body).status_code == 200
    return stage.wire("PUT", path, json=body)


def _often(stage: ServiceFixture, expected: str, **limits: int) -> httpx.Response:
    """Ask until the limit is named, since a new minute may begin meanwhile: twice with a key where keys are counted,
    else with ever new keys."""
    service = stage.other(**limits)

    def ask() -> httpx.Response:
        wire = stage.open(service, service.create_key())
        answers = [wire("GET", "/tools") for _ in range(2 if expected == "request_per_minute" else 1)]
        return answers[-1]

    return until(ask, lambda answer: f'"{expected}"' in answer.text)


def _sixty_reports(stage: ServiceFixture) -> httpx.Response:
    wire = stage.open(stage.other(run_capacity=1))
    sent = [wire("POST", "/feedback", json={"summary": "fine"}) for _ in range(61)]
    return sent[-1]


def _without_counts(stage: ServiceFixture) -> httpx.Response:
    service = stage.other(wallet_cents=1, plan_pool_cents=0)
    wire = stage.open(service)
    wire.finish("usage none")
    answer = wire("POST", "/runs", json=AGAIN)
    operate(service, lambda tx: account_records.set_review(tx, ACCOUNT, None))
    return answer


def _spent_pool(stage: ServiceFixture) -> httpx.Response:
    service = stage.other(wallet_cents=1, plan_pool_cents=0)
    return stage.open(service, service.create_key(member=True))("POST", "/runs", json=AGAIN)


def _lost_content(stage: ServiceFixture) -> httpx.Response:
    """A disk that lost a file."""
    words = uuid.uuid4().hex
    run = stage.wire.finish(f"write a.txt {words}")
    lose(stage.service, words.encode())
    return stage.wire("GET", "/files/download", params={"chat_id": run["chat"], "path": "a.txt"})


def _stopped(stage: ServiceFixture) -> httpx.Response:
    """SIGTERM while half of an upload is there."""
    with running_service() as service:
        receiving = incoming(service)

        def half() -> Iterator[bytes]:
            yield b'--b\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\nhalf'
            until(lambda: any(receiving.iterdir()))
            os.kill(service.pid, signal.SIGTERM)
            until(lambda: not any(receiving.iterdir()))

        headers = {"Content-Type": "multipart/form-data; boundary=b"}
        return stage.open(service)("POST", "/files", content=half(), headers=headers)


def _locked(stage: ServiceFixture) -> httpx.Response:
    service = stage.other(run_capacity=1)
    with databases.kept_busy(service.folder):
        return stage.open(service)("POST", "/projects", json={"name": "x"})


def _cut_off(stage: ServiceFixture) -> httpx.Response:
    """A body that does not come."""
    service = stage.other(gateway_seconds=2)
    head = f"POST {V1}/runs HTTP/1.1\r\nHost: localhost\r\nx-api-key: {service.api_key}\r\nContent-Length: 9\r\n\r\n"
    with connected(service.base_url) as connection:
        connection.sendall(head.encode())
        status, headers, document = answer(connection)
    del headers["content-length"]
    return httpx.Response(status, headers=headers, json=document)


def _silent(stage: ServiceFixture) -> httpx.Response:
    wire, headers = stage.open(stage.other(gateway_seconds=2)), {"Idempotency-Key": uuid.uuid4().hex}
    body = {"message": "wait 60", "sync": True}
    answer = wire("POST", "/runs", json=body, headers=headers)
    stop(wire, wire("POST", "/runs", json={"message": "wait 60"}, headers=headers).json())
    return answer


REFUSED_FOR_NOW: Final[dict[str, Provoke]] = {
    "unauthorized": lambda s: s.open(s.service, "svc_sk_unknown")("GET", "/tools"),
    "api_key_scope_forbidden": lambda s: s.keyed(scopes=("mcp",))("GET", "/tools"),
    "key_suspended": _suspended,
    "plan_access_required": _without_plan,
    "model_unavailable": _unavailable,
    "run_not_resumable": lambda s: _resumed(s, "say x"),
    "agent_run_rejected": lambda s: _while_running(s.wire, same_chat=True),
    "chat_project_mismatch": _mismatch,
    "chat_id_retired": _retired,
    "idempotency_conflict": _key_of_another_chat,
    "job_not_finished": _early_result,
    "version_conflict": _stale_version,
    "request_per_minute": lambda s: _often(s, "request_per_minute", **A_MINUTE),
    "request_per_minute_user": lambda s: _often(s, "request_per_minute_user", **A_MINUTE),
    "request_per_day": lambda s: _often(s, "request_per_day", rate_per_day=1),
    "user_throttled": lambda s: _barred(s, "throttled"),
    "user_suspended": lambda s: _barred(s, "suspended"),
    "api_wallet_exhausted": lambda s: _while_running(s.open(s.other(wallet_cents=1, plan_pool_cents=0))),
    "api_key_budget_exhausted": lambda s: _while_running(s.keyed(budget_cents=1)),
    "runtime_capacity_busy": lambda s: _while_running(s.open(s.other(run_capacity=1))),
    "monthly_usage_limit_reached": _spent_pool,
    "feedback_rate_limited": _sixty_reports,
    "internal_error": _lost_content,
    "brain_unavailable": _stopped,
    "workspace_busy": _locked,
    "api_wallet_reconciliation_required": _without_counts,
    "gateway_timeout": _silent,
    "request_timeout": _cut_off,
}
