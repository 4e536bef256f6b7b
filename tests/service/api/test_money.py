"""Wallet, budgets and the plan (docs/api/accounts.md). A cent is 10,000 tokens; each test has its own account."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
import pytest

from agentsvc_nb.service.accounts import account_records, usage_records
from agentsvc_nb.service.accounts.usage_records import UsageRecord
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.runs import CENT
from tests.service.api.conftest import Wire, code
from tests.service.api.mcp_caller import TASKS, McpCaller
from tests.service.api.service_fixture import DAILY, ServiceFixture, operate, stop
from tests.support.waiting import until
from tests.unit.service.site import Answer, Asked, Site, as_json, serving

ONCE = 10
"""How many requests are sent at one moment."""


@dataclass(frozen=True)
class Bank:
    """A service whose accounts have a wallet of five cents and a plan of five cents a month."""

    service: RunningService
    searx: Site
    stage: ServiceFixture

    def open(self, **key: Any) -> Wire:
        return self.stage.account(self.service, **key)

    def bill(self, wire: Wire) -> list[UsageRecord]:
        return operate(self.service, lambda tx: usage_records.by_key_and_month(tx, wire.account))

    def billed(self, wire: Wire, kind: str) -> int:
        """Micro-cents of that kind, over all keys and months."""
        return sum(line.microcents for line in self.bill(wire) if line.kind == kind)

    def held(self, wire: Wire) -> int:
        def both(tx: Tx) -> int:
            return usage_records.sum_holds(tx, wire.account, "wallet") + usage_records.sum_holds(
                tx, wire.account, "plan"
            )

        return operate(self.service, both)


@pytest.fixture(scope="module")
def bank(stage: ServiceFixture) -> Iterator[Bank]:
    money: dict[str, Any] = {"wallet_cents": 5, "plan_pool_cents": 5, "ask_handle_seconds": 0}
    with (
        serving() as searx,
        running_service(**money, web_search="searxng", web_search_url=searx.url) as service,
    ):
        yield Bank(service, searx, stage)


@pytest.fixture
def free(bank: Bank, stage: ServiceFixture) -> Bank:
    """The same of a service without a wallet or a plan."""
    return Bank(stage.service, bank.searx, stage)


def refused(wire: Wire, message: str = "say hello", key: str | None = None) -> httpx.Response:
    headers = {"Idempotency-Key": key} if key else None
    answer = wire("POST", "/runs", json={"message": message}, headers=headers)
    assert answer.status_code in (429, 503), answer.text
    return answer


def at_once(wire: Wire, path: str, body: Mapping[str, object]) -> list[httpx.Response]:
    with ThreadPoolExecutor(ONCE) as threads:
        return list(threads.map(lambda _: wire("POST", path, json=body), range(ONCE)))


def pictures(count: int) -> dict[str, object]:
    return {"request": {"kind": "static_ad", "brief": "Headline: Sale", "outputs": {"mode": "count", "count": count}}}


def job_of(wire: Wire, tool: str, given: object) -> Callable[[], dict[str, object]]:
    """Submit a job; what is returned reads it."""
    job = wire("POST", "/jobs", json={"tool": tool, "input": given, "chat": "new"}).json()
    return lambda: wire("GET", f"/jobs/{job['job_id']}", params={"chat": job["chat"]}).json()


@pytest.mark.rule("A start reserves a cent and is billed for its use when it ends.")
def test_a_run_holds_a_cent_and_settles_for_what_it_used(bank: Bank) -> None:
    wire = bank.open()
    held = [wire.start("wait 60") for _ in range(5)]
    assert bank.held(wire) == 5 * CENT
    assert code(refused(wire)) == "api_wallet_exhausted"
    for run in held:
        stop(wire, run)
    wire.finish("usage 30000 15000")
    assert (bank.billed(wire, "tokens"), bank.held(wire)) == (4_500_000, 0)
    assert code(refused(wire)) == "api_wallet_exhausted", "half a cent is left, and a start holds one"
    for path in ("/tools", "/runs/{run_id}", "/runs/{run_id}/events", "/files?chat_id={chat}"):
        assert wire("GET", path.format(**held[0])).status_code == 200, "reads cost nothing"


@pytest.mark.rule("A spent key budget is `api_key_budget_exhausted` with `key_budget`.")
def test_a_spent_budget_is_named_with_its_reset(bank: Bank) -> None:
    wire = bank.open(budget_cents=2)
    wire.finish("usage 5000 0")
    wire.finish("usage 25000 0")  # the one that crosses it
    answer = refused(wire)
    assert code(answer) == "api_key_budget_exhausted"
    facts = answer.json()["error"]["key_budget"]
    assert (facts["budget_cents"], facts["billed_cents"]) == (2, 3)
    assert facts["resets_at"].endswith("-01T00:00:00.000Z")
    bank.open(account=wire.account).finish("say the other key goes on")


@pytest.mark.rule("Per-use charges count toward the wallet, not toward a key's budget.")
def test_pictures_are_billed_to_the_wallet_and_never_to_the_budget(bank: Bank) -> None:
    wire = bank.open(budget_cents=1, scopes=("tools", "runs"))
    until(job_of(wire, "create_images", pictures(3)), lambda job: job["status"] == "succeeded")
    assert bank.billed(wire, "picture") == 3 * CENT
    assert wire.finish("usage 100 0")["status"] == "completed", "no token was billed so far"


@pytest.mark.rule("A member token bills the plan's monthly pool, not the wallet.")
def test_a_member_token_uses_the_plan_and_not_the_wallet(bank: Bank) -> None:
    member = bank.open(member=True)
    member.finish("usage 60000 0")
    answer = refused(member)
    assert code(answer) == "monthly_usage_limit_reached"
    assert answer.json()["error"]["plan_usage"]["used_cents"] == 6
    key = bank.open(account=member.account)
    key.finish("usage 50000 0")
    assert code(refused(key)) == "api_wallet_exhausted"


def is_running(wire: Wire, run: dict[str, Any]) -> bool:
    return bool(wire("GET", f"/runs/{run['run_id']}").json()["status"] == "running")


def test_after_a_crash_a_run_keeps_its_pool_and_settles_for_what_was_saved(bank: Bank) -> None:
    """Whoever calls goes by the pool; so does a run that goes on by itself."""
    script = "usage 10000 0\nstep 1\nusage 20000 0\nwait 60"
    wallet, plan = bank.open(), bank.open(member=True)
    runs = [(wire, wire.start(script)) for wire in (wallet, plan)]
    until(lambda: [bank.held(wire) for wire, _ in runs] == [3 * CENT] * 2)
    bank.service.kill()
    bank.service.start()
    for wire, run in runs:
        until(partial(is_running, wire, run))
        stop(wire, run)
        ended = wire("GET", f"/runs/{run['run_id']}").json()
        assert ended["usage"]["cost_microcents"] == bank.billed(wire, "tokens") >= CENT
        assert bank.held(wire) == 0
    assert {line.pool for line in bank.bill(wallet)} == {"wallet"}
    assert {line.pool for line in bank.bill(plan)} == {"plan"}


@pytest.mark.rule("A run that needs step 1,501 fails with `budget_limited` and is not billed.")
def test_a_run_at_its_limit_of_steps_is_not_billed(free: Bank) -> None:
    wire = free.open()
    run = wire.finish("usage 50000 0\nstep 1501")
    assert (run["last_error"], run["steps"], run["usage"]["cost_microcents"]) == ("budget_limited", 1500, 0)
    assert free.billed(wire, "tokens") == 0


@pytest.mark.rule("A model call without token counts is `api_wallet_reconciliation_required`.")
def test_a_call_without_counts_stops_the_wallet_until_it_is_reconciled(bank: Bank, free: Bank) -> None:
    key = bank.open()
    key.finish("usage none")
    answer = refused(key)
    assert (answer.status_code, code(answer)) == (503, "api_wallet_reconciliation_required")
    assert key("GET", "/tools").status_code == 200
    bank.open(account=key.account, member=True).finish("say members go on")
    operate(bank.service, lambda tx: account_records.set_review(tx, key.account, None))
    key.finish("say resolved")
    unlimited = free.open()
    unlimited.finish("usage none")
    assert unlimited.finish("say on")["status"] == "completed", "without a wallet it stops nothing"


@pytest.mark.rule("A keyed retry passes the wallet check again.")
def test_a_replay_passes_the_wallet_again_and_a_refused_key_stays_free(bank: Bank) -> None:
    wire = bank.open()
    first = wire.start("wait 60", headers={"Idempotency-Key": "once"})
    others = [wire.start("wait 60") for _ in range(4)]
    for key in ("once", "other"):
        assert code(refused(wire, key=key)) == "api_wallet_exhausted"
    for run in others:
        stop(wire, run)
    assert wire.start("say x", headers={"Idempotency-Key": "once"})["run_id"] == first["run_id"]
    assert wire.finish("say y", headers={"Idempotency-Key": "other"})["output"] == "y"
    stop(wire, first)


def test_a_limit_is_not_raised_past_what_pays_for_the_run(bank: Bank) -> None:
    wire = bank.open()
    run = wire.start("wait 60", max_cents=2)
    path, body = f"/runs/{run['run_id']}/limits", {"max_cents": 4}
    others = [wire.start("wait 60") for _ in range(4)]
    assert code(wire("POST", path, json=body)) == "api_wallet_exhausted"
    stop(wire, others[0])
    assert wire("POST", path, json=body).json()["max_cents"] == 4
    for other in (*others[1:], run):
        stop(wire, other)


@pytest.fixture
def daily(bank: Bank, stage: ServiceFixture) -> Bank:
    """A service whose accounts have five cents a day."""
    return Bank(stage.other(**DAILY), bank.searx, stage)


def test_a_day_is_shared_by_all_work_warns_at_80_percent_and_begins_anew(daily: Bank) -> None:
    wire = daily.open()
    run = wire.finish("usage 41000 0\nstep 1\nstep 1\nsay x")
    told = [event["payload"] for event in wire.events(run["run_id"]) if event["type"] == "warning"]
    assert [warning["code"] for warning in told] == ["day_budget_near"]
    assert "4.10 cents of its daily limit of 5.00 cents" in told[0]["message"]
    member = daily.open(account=wire.account, member=True)
    answer = refused(member)
    assert code(answer) == "day_budget_exhausted", "nine tenths of a cent are left, and a start holds one"
    facts = answer.json()["error"]["day_budget"]
    assert (facts["limit_cents"], facts["billed_cents"], facts["held_cents"]) == (5, 4.1, 0)
    assert facts["resets_at"] in answer.json()["error"]["message"]
    today = wire("GET", "/usage").json()
    assert (today["billed_cents"], today["limit_cents"], today["resets_at"]) == (4.1, 5, facts["resets_at"])
    yesterday = "UPDATE usage_day SET day = '2026-01-01' WHERE account = :account"
    operate(daily.service, lambda tx: tx.run(yesterday, account=wire.account))
    assert member.finish("say anew")["output"] == "anew"


def test_no_run_on_its_way_crosses_the_day(daily: Bank) -> None:
    wire = daily.open()
    answers = at_once(wire, "/runs", {"message": "say before\nwait 0.2\nusage 20000 0\nsay after"})
    assert {answer.status_code for answer in answers} == {202, 429}
    started = [answer.json()["run_id"] for answer in answers if answer.status_code == 202]
    until(lambda: all(wire("GET", f"/runs/{run_id}").json()["ended_at"] for run_id in started))
    ended = [wire("GET", f"/runs/{run_id}").json() for run_id in started]
    done = [run for run in ended if run["status"] == "completed"]
    assert daily.billed(wire, "tokens") == 2 * CENT * len(done) <= 5 * CENT
    assert {run["last_error"] for run in ended if run not in done} == {"limit_reached"}
    assert all("AGENTSVC_DAY_CENTS" in run["last_error_message"] for run in ended if run not in done)
    assert daily.held(wire) == 0


@pytest.mark.rule("At most one call crosses a limit, also with forty starts at once.")
@pytest.mark.parametrize(("limit", "billed_cents"), [("wallet", 0), ("budget", 10), ("plan", 10)])
def test_forty_starts_at_one_moment_cross_a_limit_by_one_call_at_most(
    limit: str, billed_cents: int, bank: Bank, free: Bank
) -> None:
    """A wallet must have room for a call of a model; a key's budget and the plan's pool may be crossed by it."""
    used = free if limit == "budget" else bank
    wire = used.open(budget_cents=5 if limit == "budget" else None, member=limit == "plan")
    answers = at_once(wire, "/runs", {"message": "say before\nwait 0.2\nusage 100000 0\nsay after"})
    assert {answer.status_code for answer in answers} == {202, 429}
    started = [answer.json()["run_id"] for answer in answers if answer.status_code == 202]
    until(lambda: all(wire("GET", f"/runs/{run_id}").json()["ended_at"] for run_id in started))
    ended = [wire("GET", f"/runs/{run_id}").json() for run_id in started]
    failed = [run for run in ended if run["status"] == "failed"]
    assert len(failed) == len(started) - billed_cents // 10
    # On a slow machine, the limit may be reached before a second run has started.
    assert {(run["last_error"], run["output"]) for run in failed} <= {("limit_reached", "before")}
    assert all("10.00" in run["last_error_message"] for run in failed)
    assert (used.billed(wire, "tokens"), used.held(wire)) == (billed_cents * CENT, 0)


@pytest.mark.rule("A priced call reserves its price before it is made.")
def test_pictures_are_held_before_they_are_drawn(bank: Bank) -> None:
    wire = bank.open()
    answers = at_once(wire, "/jobs", {"tool": "create_images", "input": pictures(3), "chat": "new"})
    assert sorted(answer.status_code for answer in answers) == [202] + [429] * (ONCE - 1)
    until(lambda: bank.held(wire) == 0)
    assert bank.billed(wire, "picture") == 3 * CENT
    run = wire.finish(f"say before\nusage 5000 0\ncall create_images {json.dumps(pictures(3))}\nsay after")
    assert (run["last_error"], run["output"]) == ("limit_reached", "before")
    assert bank.billed(wire, "picture") + bank.billed(wire, "tokens") == 3.5 * CENT
    assert wire.finish(f"call create_images {json.dumps(pictures(1))}\nsay after")["output"] == "after"
    assert bank.held(wire) == 0


@pytest.mark.sqlite("fills the disk under the database's file")
def test_a_search_on_a_full_disk_is_billed_once_there_is_room(bank: Bank) -> None:
    wire, asked_before = bank.open(), len(bank.searx.asked)

    def fill_up(asked: Asked) -> Answer:
        resource.prlimit(bank.service.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        return as_json({"results": []})

    bank.searx.pages["/search"] = fill_up
    run = wire.start('call web_search {"query": "tea"}\nsay done')
    until(lambda: len(bank.searx.asked) > asked_before)
    assert (bank.billed(wire, "web_search"), bank.held(wire)) == (0, CENT)
    resource.prlimit(bank.service.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    until(lambda: bank.billed(wire, "web_search") == CENT)
    ended = until(lambda: wire("GET", f"/runs/{run['run_id']}").json(), lambda seen: seen["ended_at"])
    assert ended["output"] == "done"
    assert (bank.held(wire), len(bank.searx.asked)) == (0, asked_before + 1)


def test_an_ask_holds_its_money_once(bank: Bank) -> None:
    """The run holds and is billed; the job shows what that was, and costs nothing of its own."""
    wire = bank.open()

    def ask(message: str) -> httpx.Response:
        body = {"input": {"message": message}, "chat": "new"}
        return wire("POST", "/tools/ask_stefanbrain/invoke", json=body)

    job = ask("usage 9000 1000").json()
    path, look = f"/jobs/{job['job_id']}", {"chat": job["chat"]}
    done = until(lambda: wire("GET", path, params=look).json(), lambda found: found["ended_at"])
    assert done["usage"] == {"input_tokens": 9_000, "output_tokens": 1_000, "cost_microcents": CENT}
    assert bank.billed(wire, "tokens") == CENT
    asks = [ask("wait 60") for _ in range(5)]
    assert [answer.status_code for answer in asks] == [202, 202, 202, 202, 429]
    assert code(asks[4]) == "api_wallet_exhausted"
    for answer in asks[:4]:
        job = answer.json()
        wire("POST", f"/jobs/{job['job_id']}/cancel", params={"chat": job["chat"]})


@pytest.mark.rule("MCP calls bill the plan's pool.")
def test_what_is_asked_for_here_goes_on_the_plan(bank: Bank) -> None:
    """Over MCP: neither on the wallet nor on a key's budget."""
    wire = bank.open(scopes=("mcp",), budget_cents=1)
    with McpCaller(bank.service, wire.key, TASKS) as caller:
        for name, given in (("ask", {"message": "usage 10000 0"}), ("create_images", pictures(4))):
            assert caller.ended(caller.call(name, **given)["taskId"])["status"] == "completed"
        bill = {(line.pool, line.kind): line.microcents for line in bank.bill(wire)}
        assert bill == {("plan", "tokens"): CENT, ("plan", "picture"): 4 * CENT}
        for name, given in (("ask", {"message": "say x"}), ("create_images", pictures(1))):
            refused = caller.call(name, **given)["structuredContent"]["error"]["code"]
            assert refused == "monthly_usage_limit_reached"
        assert not caller.call("list_chats")["isError"], "what costs nothing goes on"
