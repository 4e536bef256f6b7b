"""Wallet, budgets, the plan's pool (docs/api/accounts.md). A cent is 10,000 tokens."""

from __future__ import annotations

import asyncio
import json
import resource
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from agentsvc_nb.service.accounts import account_records, accounts, usage_records
from agentsvc_nb.service.accounts.accounts import ACCOUNT
from agentsvc_nb.service.accounts.usage_records import Spent, UsageRecord
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.jobs import jobs
from agentsvc_nb.service.jobs.job_records import JobEnding
from agentsvc_nb.service.jobs.jobs import Submit
from agentsvc_nb.service.keyring import open_beside
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.settings import Settings
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.runs import CENT
from tests.service.api.conftest import Opened, Wire, code
from tests.support import databases
from tests.support.waiting import until
from tests.unit.service.contexts import use_case
from tests.unit.service.site import Answer, Asked, as_json, serving

NOW = 1_700_000_000_000


def refused(wire: Wire, message: str = "say hello", **fields: object) -> httpx.Response:
    headers = fields.pop("headers", None)
    answer = wire("POST", "/runs", json={"message": message, **fields}, headers=headers)
    assert answer.status_code in (429, 503), answer.text
    return answer


def billed(service: RunningService, kind: str) -> int:
    """Micro-cents of that kind, over all keys and months."""
    lines = in_database(service, lambda tx: usage_records.by_key_and_month(tx, ACCOUNT))
    return sum(line.microcents for line in lines if line.kind == kind)


def in_database(service: RunningService, use: Callable[[Tx], list[UsageRecord]]) -> list[UsageRecord]:
    with open_beside(service.folder) as database:
        return database.read(use)


def test_a_run_holds_a_cent_and_settles_for_what_it_used(opened: Opened) -> None:
    with running_service(wallet_cents=3) as service:
        wire = opened(service)
        held = [wire.start("wait 60") for _ in range(3)]
        assert code(refused(wire)) == "api_wallet_exhausted"
        for run in held:
            wire("POST", f"/runs/{run['run_id']}/cancel")
        until(lambda: all(wire("GET", f"/runs/{run['run_id']}").json()["ended_at"] for run in held))
        wire.finish("usage 20000 5000")
        assert billed(service, "tokens") == 2_500_000
        answer = refused(wire)  # half a cent is left, and a start holds one
        assert code(answer) == "api_wallet_exhausted"
        assert "retry-after" not in answer.headers


def test_a_spent_budget_is_named_with_its_reset(opened: Opened) -> None:
    with running_service(run_hold_cents=0) as service:
        wire = opened(service, service.create_key(budget_cents=2))
        wire.finish("usage 15000 0")
        wire.finish("usage 90000 0")  # the one that crosses it
        answer = refused(wire)
        assert code(answer) == "api_key_budget_exhausted"
        facts = answer.json()["error"]["key_budget"]
        assert (facts["budget_cents"], facts["billed_cents"]) == (2, 10)
        assert facts["resets_at"].endswith("-01T00:00:00.000Z")
        opened(service).finish("say the other key goes on")


def test_many_starts_at_one_moment_do_not_pass_a_budget(opened: Opened) -> None:
    with running_service() as service:
        wire = opened(service, service.create_key(budget_cents=2))
        answers = [wire("POST", "/runs", json={"message": "wait 5\nusage 10000 0"}) for _ in range(5)]
        assert [answer.status_code for answer in answers] == [202, 202, 429, 429, 429]


def test_jobs_neither_use_nor_hold_a_keys_budget(opened: Opened) -> None:
    with running_service() as service:
        wire = opened(service, service.create_key(budget_cents=1))
        for _ in range(3):
            given = {"tool": "echo_job", "input": {"seconds": 30}, "chat": "new"}
            assert wire("POST", "/jobs", json=given).status_code == 202
        wire.start("wait 30")
        answer = refused(wire)
        assert code(answer) == "api_key_budget_exhausted"
        assert "active runs" in answer.json()["error"]["message"]


def test_pictures_are_billed_to_the_wallet_and_never_to_the_budget(opened: Opened) -> None:
    with running_service(wallet_cents=4) as service:
        wire = opened(service, service.create_key(budget_cents=1, scopes=("tools", "runs")))
        given = {"request": {"kind": "static_ad", "brief": "Sale", "outputs": {"mode": "count", "count": 3}}}
        job = wire("POST", "/jobs", json={"tool": "create_images", "input": given}).json()
        look = {"chat": job["chat"]}
        until(lambda: wire("GET", f"/jobs/{job['job_id']}", params=look).json()["status"] == "succeeded")
        assert billed(service, "picture") == 3_000_000
        run = wire.start("usage 100 0\nwait 60")  # no token was billed so far; a cent is left
        assert code(refused(opened(service))) == "api_wallet_exhausted"
        wire("POST", f"/runs/{run['run_id']}/cancel")


def test_a_member_token_uses_the_plan_and_not_the_wallet(opened: Opened) -> None:
    with running_service(wallet_cents=0, plan_pool_cents=2, run_hold_cents=0) as service:
        key, member = (opened(service, secret) for secret in (service.api_key, service.create_key(member=True)))
        assert code(refused(key)) == "api_wallet_exhausted"
        member.finish("usage 30000 0")
        answer = refused(member)
        assert code(answer) == "monthly_usage_limit_reached"
        assert answer.json()["error"]["plan_usage"]["used_cents"] == 3


def test_a_run_at_its_limit_of_steps_is_not_billed(opened: Opened) -> None:
    with running_service() as service:
        run = opened(service).finish("usage 50000 0\nstep 1501")
        assert run["last_error"] == "budget_limited"
        assert billed(service, "tokens") == 0


def test_a_call_without_counts_stops_the_wallet_until_it_is_reconciled(
    opened: Opened,
) -> None:
    with running_service(wallet_cents=100) as service:
        key, member = (opened(service, secret) for secret in (service.api_key, service.create_key(member=True)))
        key.finish("usage none")
        answer = refused(key)
        assert (answer.status_code, code(answer)) == (503, "api_wallet_reconciliation_required")
        assert key("GET", "/tools").status_code == 200
        member.finish("say members go on")
        with open_beside(service.folder) as database:
            database.write_now(lambda tx: account_records.set_review(tx, ACCOUNT, None))
        key.finish("say resolved")


def test_without_a_wallet_a_call_without_counts_stops_nothing(opened: Opened) -> None:
    with running_service() as service:
        wire = opened(service)
        wire.finish("usage none")
        assert wire.finish("say on")["status"] == "completed"


def test_a_replay_passes_the_wallet_again_and_a_refused_key_stays_free(
    opened: Opened,
) -> None:
    with running_service(wallet_cents=2, run_hold_cents=2) as service:
        wire = opened(service)
        headers = {"Idempotency-Key": "once"}
        run = wire.start("usage 10000 0\nwait 60", headers=headers)
        assert code(refused(wire, headers=headers)) == "api_wallet_exhausted"
        assert code(refused(wire, headers={"Idempotency-Key": "other"})) == "api_wallet_exhausted"
        wire("POST", f"/runs/{run['run_id']}/cancel")
        until(lambda: wire("GET", f"/runs/{run['run_id']}").json()["status"] == "cancelled")
        assert code(refused(wire, headers={"Idempotency-Key": "other"})) == "api_wallet_exhausted"


@pytest.mark.parametrize("path", ["/tools", "/runs/{run_id}", "/runs/{run_id}/events", "/files?chat_id={chat}"])
def test_money_is_not_asked_for_by_reads(path: str, opened: Opened) -> None:
    with running_service(wallet_cents=1, run_hold_cents=1) as service:
        wire = opened(service)
        run = wire.finish("usage 10000 0")
        assert code(refused(wire)) == "api_wallet_exhausted"
        assert wire("GET", path.format(**run)).status_code == 200


def test_the_bill_of_a_key_is_by_month_and_kind(opened: Opened) -> None:
    with running_service() as service:
        wire = opened(service)
        for _ in range(2):
            wire.finish("usage 100 20")
        lines = in_database(service, lambda tx: usage_records.by_key_and_month(tx, ACCOUNT))
        assert [(line.kind, line.quantity, line.microcents, line.pool) for line in lines] == [
            ("tokens", 240, 24_000, "wallet")
        ]


def test_what_a_jobs_tool_asked_a_model_counts_against_the_budget(tmp_path: Path) -> None:
    """At the actions: no model that a test can ask has a price."""
    submit = Submit("find_angles", "find_angles", {}, ChatSelector(), NOW)
    database = databases.opened(tmp_path / "db.sqlite3")
    context = use_case(database, NOW, Settings(tmp_path, run_hold_cents=0))
    key, _ = database.write_now(lambda tx: accounts.create_key(tx, context.clock, name="k", budget_cents=2))

    async def cross() -> str:
        job = await jobs.submit(context, key, submit)
        ending = JobEnding("failed", [], spent=Spent(30_000, 1_000, 3 * CENT))
        await jobs.finish(context, job.job_id, job.attempt, ending)
        with pytest.raises(ApiError) as refused:
            await jobs.submit(context, key, submit)
        return refused.value.row.code

    assert asyncio.run(cross()) == "api_key_budget_exhausted"
    database.close()


FORTY = 40
MODEL_CALL = {"message": "say before\nwait 0.2\nusage 100000 0\nsay after"}
"""A run with one call of ten cents."""


@pytest.mark.parametrize(("limit", "billed_cents"), [("wallet", 0), ("budget", 10), ("plan", 10)])
def test_forty_starts_at_one_moment_cross_a_limit_by_one_call_at_most(
    limit: str, billed_cents: int, opened: Opened
) -> None:
    """A wallet must have room for a call of a model; a key's budget and the plan's pool may be crossed by it."""
    pools = {"wallet_cents": 5 if limit == "wallet" else None, "plan_pool_cents": 5 if limit == "plan" else None}
    with running_service("scripted", **{name: cents for name, cents in pools.items() if cents}) as service:
        budget = 5 if limit == "budget" else None
        wire = opened(service, service.create_key(budget_cents=budget, member=limit == "plan"))
        answers = at_once(wire, "/runs", MODEL_CALL)
        assert {answer.status_code for answer in answers} == {202, 429}
        started = [answer.json()["run_id"] for answer in answers if answer.status_code == 202]
        until(lambda: all(wire("GET", f"/runs/{run_id}").json()["ended_at"] for run_id in started))
        ended = [wire("GET", f"/runs/{run_id}").json() for run_id in started]
        failed = [run for run in ended if run["status"] == "failed"]
        assert len(failed) == len(started) - billed_cents // 10
        assert {(run["last_error"], run["output"]) for run in failed} == {("limit_reached", "before")}
        assert "10.00 cents" in failed[0]["last_error_message"]
        assert billed(service, "tokens") == billed_cents * CENT
        assert held(service) == 0


def test_pictures_are_held_before_they_are_drawn(opened: Opened) -> None:
    with running_service(wallet_cents=5) as service:
        wire = opened(service)
        answers = at_once(wire, "/jobs", {"tool": "create_images", "input": pictures(3), "chat": "new"})
        assert sorted(answer.status_code for answer in answers) == [202] + [429] * (FORTY - 1)
        job = next(answer.json() for answer in answers if answer.status_code == 202)
        until(lambda: wire("GET", f"/jobs/{job['job_id']}", params={"chat": job["chat"]}).json()["ended_at"])
        assert billed(service, "picture") == 3 * CENT
        too_many = json.dumps(pictures(3))
        run = wire.finish(f"say before\nusage 5000 0\ncall create_images {too_many}\nsay after")
        assert (run["last_error"], run["output"]) == ("limit_reached", "before")
        assert billed(service, "picture") + billed(service, "tokens") == 3.5 * CENT
        exactly = json.dumps(pictures(1))
        assert wire.finish(f"call create_images {exactly}\nsay after")["output"] == "after"
        assert held(service) == 0


def test_pictures_that_were_drawn_before_a_cancel_are_billed(opened: Opened) -> None:
    """They were in the chat, and cost nothing."""
    with running_service(wallet_cents=20) as service:
        wire = opened(service)
        job = wire("POST", "/jobs", json={"tool": "create_images", "input": pictures(20), "chat": "new"}).json()
        where = {"chat": job["chat"]}
        until(lambda: wire("GET", f"/jobs/{job['job_id']}", params=where).json()["progress"]["done"] >= 3)
        wire("POST", f"/jobs/{job['job_id']}/cancel", params=where)
        until(lambda: wire("GET", f"/jobs/{job['job_id']}", params=where).json()["ended_at"])
        drawn = wire("GET", "/files", params={"chat_id": job["chat"]}).json()["files"]
        assert 1 <= len(drawn) < 20
        assert billed(service, "picture") == len(drawn) * CENT
        assert held(service) == 0


def test_direct_searches_hold_their_price(opened: Opened) -> None:
    def slow(asked: Asked) -> Answer:
        time.sleep(0.3)
        return as_json({"results": []})

    with serving() as searx:
        searx.pages["/search"] = slow
        with running_service(wallet_cents=5, web_search="searxng", web_search_url=searx.url) as service:
            wire = opened(service)
            answers = at_once(wire, "/tools/web_search/invoke", {"input": {"query": "tea"}})
            done = [answer for answer in answers if answer.status_code == 200]
            assert billed(service, "web_search") == len(done) * CENT <= 5 * CENT
            assert {code(answer) for answer in answers if answer.status_code != 200} == {"api_wallet_exhausted"}
            assert held(service) == 0


@pytest.mark.sqlite("fills the disk under the database's file")
@pytest.mark.parametrize("how", ["directly", "in a run"])
def test_a_search_on_a_full_disk_is_billed_once_there_is_room(how: str, opened: Opened) -> None:
    """It was made, and its charge was lost; of a direct one the hold stayed until the next start."""
    with serving() as searx, running_service(wallet_cents=5, web_search="searxng", web_search_url=searx.url) as service:

        def fill_up(asked: Asked) -> Answer:
            resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
            return as_json({"results": []})

        searx.pages["/search"] = fill_up
        wire = opened(service)
        run: dict[str, str] = {}
        if how == "directly":
            answer = wire("POST", "/tools/web_search/invoke", json={"input": {"query": "tea"}})
            assert answer.status_code == 200, "the caller has what was paid for"
        else:
            run = wire.start('call web_search {"query": "tea"}\nsay done')
        until(lambda: searx.asked)
        assert (billed(service, "web_search"), held(service)) == (0, CENT)
        resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        until(lambda: billed(service, "web_search") == CENT)
        if run:
            ended = until(lambda: wire("GET", f"/runs/{run['run_id']}").json(), lambda seen: seen["ended_at"])
            assert ended["output"] == "done"
        assert (billed(service, "web_search"), held(service), len(searx.asked)) == (CENT, 0, 1)


def test_a_crash_in_mid_run_settles_for_what_was_saved(opened: Opened) -> None:
    with running_service(wallet_cents=20) as service:
        wire = opened(service)
        run = wire.start("usage 30000 0\nstep 1\nusage 40000 0\nwait 60")
        until(lambda: held(service) == 7 * CENT)
        service.kill()
        service.start()
        wire = opened(service)
        until(lambda: wire("GET", f"/runs/{run['run_id']}").json()["status"] == "running")
        wire("POST", f"/runs/{run['run_id']}/cancel")
        until(lambda: wire("GET", f"/runs/{run['run_id']}").json()["ended_at"])
        ended = wire("GET", f"/runs/{run['run_id']}").json()
        assert ended["usage"]["cost_microcents"] == billed(service, "tokens")
        assert held(service) == 0


def at_once(wire: Wire, path: str, body: Mapping[str, object]) -> list[httpx.Response]:
    """The answers to forty requests of one moment."""
    with ThreadPoolExecutor(FORTY) as threads:
        return list(threads.map(lambda _: wire("POST", path, json=body), range(FORTY)))


def pictures(count: int) -> dict[str, object]:
    return {"request": {"kind": "static_ad", "brief": "Sale", "outputs": {"mode": "count", "count": count}}}


def held(service: RunningService) -> int:
    with open_beside(service.folder) as database:
        return database.read(
            lambda tx: usage_records.held(tx, ACCOUNT, "wallet") + usage_records.held(tx, ACCOUNT, "plan")
        )
