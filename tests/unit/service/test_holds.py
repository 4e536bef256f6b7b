"""Money in mid-run, as a state machine on SQLite: starts, calls of models and priced tools, endings, cancels and
crashes in any order (docs/decisions/08).

Held: a wallet is never billed more than its credit, a key's budget and the plan's pool at most one call more; what is
held covers what is being spent; nothing stays held in the end.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agentsvc_nb.documents.schemas import SchemaValidator
from agentsvc_nb.service.accounts import accounts, usage_records
from agentsvc_nb.service.accounts.account_records import KeyRecord
from agentsvc_nb.service.accounts.accounts import ACCOUNT
from agentsvc_nb.service.accounts.usage_records import ModelUsage, Pool
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.jobs import jobs
from agentsvc_nb.service.jobs.job_records import JobEnding, JobRecord
from agentsvc_nb.service.jobs.jobs import JobSubmission
from agentsvc_nb.service.runner.jobs import JobRunner
from agentsvc_nb.service.runner.run_context import LiveRunContext
from agentsvc_nb.service.runner.storage import ServiceClock
from agentsvc_nb.service.runs import attempts, run_records, runs, tool_calls
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.service.runs.runs import Start
from agentsvc_nb.service.runs.tool_calls import AcceptedCall
from agentsvc_nb.service.times import utc_month
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.port import Outcome, WorkFailure
from agentsvc_nb.wire.runs import CENT
from tests.support import databases
from tests.unit.service import contexts
from tests.unit.service.contexts import NOW

pytestmark = pytest.mark.rule("Nothing stays reserved after an end, a cancel or a crash.")

TOKEN: Final = 100
"""Micro-cents that a token of `scripted` costs."""
WALLET, BUDGET, PLAN = 12, 5, 5
CALL_CENTS: Final = 4
"""The dearest single call, of a model or a priced tool."""
HOLD_CENTS: Final = 1
POOLS: Final[tuple[Pool, ...]] = ("wallet", "plan")

Cents = st.integers(1, CALL_CENTS)
Share = st.floats(0, 1)
"""The part of its worst case that a call came to."""


class Money(RuleBasedStateMachine):
    """Two API keys, one with a budget, and a member token; each run is one that a worker drives."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        data = Path(self.folder.name)
        self.database = databases.opened(data / "db.sqlite3")
        limits = Settings(data, model="scripted", wallet_cents=WALLET, plan_pool_cents=PLAN, run_hold_cents=HOLD_CENTS)
        self.storage = contexts.storage(self.database, data, contexts.SetClock(NOW), limits)
        self.context = self.storage.use_case
        self.asyncio = asyncio.Runner()
        self.keys = [self.key(), self.key(budget_cents=BUDGET), self.key(member=True)]
        self.driven: list[tuple[RunRecord, LiveRunContext]] = []
        self.jobs: list[JobRecord] = []
        self.spent_by_jobs: dict[str, int] = {}
        self.pictures: dict[str, int] = {}
        """What the pictures of each job may cost."""
        self.calls = 0
        self.due = 0
        """What must have been billed, by our own count."""
        self.direct: list[AcceptedCall] = []
        self.order: list[str] = []
        """The ids of runs and jobs by their start, as ids themselves are random: a machine repeats itself exactly."""

    def key(self, **fields: Any) -> KeyRecord:
        made = self.database.write_now(lambda tx: accounts.create_key(tx, ServiceClock(), name="k", **fields))
        return made[0]

    def run(self, use_case: Coroutine[Any, Any, Any]) -> Any:
        return self.asyncio.run(use_case)

    def drive(self, run: RunRecord) -> None:
        self.driven.append(
            (run, LiveRunContext(self.storage, run, "", {}, (), {}, JobRunner(self.storage, {}), SchemaValidator()))
        )

    @contextlib.contextmanager
    def ended_where_refused(self, which: tuple[RunRecord, LiveRunContext]) -> Iterator[None]:
        try:
            yield
        except WorkFailure:
            self.end(which, "failed")

    def end(self, which: tuple[RunRecord, LiveRunContext], status: str) -> None:
        run, context = which
        self.driven.remove(which)
        ending = context.build_ending(status)
        assert self.run(attempts.finish(self.context, run.run_id, context.log.attempt, ending))
        self.due += ending.spent.cost_microcents

    @rule(key=st.integers(0, 2))
    def start(self, key: int) -> None:
        with contextlib.suppress(ApiError):
            run = self.run(runs.start(self.context, self.keys[key], Start("hello", ChatSelector(), "scripted", NOW)))
            self.order.append(run.run_id)
            self.drive(self.run(attempts.claim(self.context, run.run_id)))

    @precondition(lambda self: self.driven)
    @rule(data=st.data(), cents=Cents, share=Share)
    def call_a_model(self, data: st.DataObject, cents: int, share: float) -> None:
        which = self.driven[data.draw(st.integers(0, len(self.driven) - 1))]
        with self.ended_where_refused(which):
            self.run(which[1].hold(cents * CENT // TOKEN, 0))
            which[1].use(int(share * cents * CENT) // TOKEN, 0)

    @precondition(lambda self: self.driven)
    @rule(data=st.data(), cents=Cents, share=Share, dies=st.booleans(), again=st.booleans())
    def call_a_priced_tool(self, data: st.DataObject, cents: int, share: float, dies: bool, again: bool) -> None:
        """One that is not asynchronous: it is held, and the worker may die before it is billed, or bill it `again`."""
        which = self.driven[data.draw(st.integers(0, len(self.driven) - 1))]
        with self.ended_where_refused(which):
            self.run(which[1].budget.hold_charges(cents * CENT))
            self.what_is_held_covers_what_is_being_spent(cents * CENT)
            if dies:
                return self.crash()
            run, attempt, pictures = which[0], which[1].log.attempt, int(share * cents)
            self.calls += 1
            call = self.run(tool_calls.open_call(self.context, run, attempt, str(self.calls), "edit_image", {}))
            made = {"picture": pictures}
            for _ in range(1 + again):
                self.run(tool_calls.move(self.context, run, attempt, call, "done", Outcome(), made))
            self.due += pictures * CENT

    @precondition(lambda self: self.driven)
    @rule(data=st.data())
    def checkpoint(self, data: st.DataObject) -> None:
        self.run(self.driven[data.draw(st.integers(0, len(self.driven) - 1))][1].checkpoint({}))

    @precondition(lambda self: self.driven)
    @rule(data=st.data(), status=st.sampled_from(["completed", "failed", "cancelled"]))
    def finish(self, data: st.DataObject, status: str) -> None:
        which = self.driven[data.draw(st.integers(0, len(self.driven) - 1))]
        if status == "cancelled":
            self.run(runs.cancel(self.context, ACCOUNT, which[0].run_id))
        self.end(which, status)

    @rule(key=st.integers(0, 2), cents=st.integers(0, CALL_CENTS))
    def submit_a_job(self, key: int, cents: int) -> None:
        given = JobSubmission("create_images", "static_ad", {}, ChatSelector(chat="new"), NOW, None, cents * CENT)
        with contextlib.suppress(ApiError):
            job = self.run(jobs.submit(self.context, self.keys[key], given))
            self.order.append(job.job_id)
            self.jobs.append(self.run(jobs.claim(self.context, job.job_id)))
            self.pictures[job.job_id] = cents * CENT

    @precondition(lambda self: self.jobs)
    @rule(data=st.data(), cents=Cents, share=Share)
    def a_job_calls_a_model(self, data: st.DataObject, cents: int, share: float) -> None:
        job = self.jobs[data.draw(st.integers(0, len(self.jobs) - 1))]
        spent = self.spent_by_jobs.get(job.job_id, 0)
        with contextlib.suppress(WorkFailure):
            self.run(jobs.hold(self.context, job, spent, cents * CENT, self.pictures[job.job_id]))
            self.what_is_held_covers_what_is_being_spent(cents * CENT)
            self.spent_by_jobs[job.job_id] = spent + int(share * cents * CENT)

    @precondition(lambda self: self.jobs)
    @rule(data=st.data(), share=Share)
    def end_a_job(self, data: st.DataObject, share: float) -> None:
        job = self.jobs[data.draw(st.integers(0, len(self.jobs) - 1))]
        self.jobs.remove(job)
        pictures = int(share * self.pictures[job.job_id]) // CENT
        spent = self.spent_by_jobs.pop(job.job_id, 0)
        ending = JobEnding("succeeded", [], charges={"picture": pictures}, spent=ModelUsage(spent // TOKEN, 0, spent))
        assert self.run(jobs.finish(self.context, job.job_id, job.attempt, ending))
        self.due += pictures * CENT + spent

    @rule(key=st.integers(0, 2))
    def call_directly(self, key: int) -> None:
        given = JobSubmission("web_search", "web_search", {}, ChatSelector(), NOW, None, CENT)
        with contextlib.suppress(ApiError):
            self.direct.append(self.run(tool_calls.begin_call(self.context, self.keys[key], given)))

    @precondition(lambda self: self.direct)
    @rule(searches=st.integers(0, 1), again=st.booleans())
    def answer_directly(self, searches: int, again: bool) -> None:
        call = self.direct.pop()
        for _ in range(1 + again):
            self.run(tool_calls.end_call(self.context, call, {"web_search": searches}))
        self.due += searches * CENT

    @rule()
    def crash(self) -> None:
        """The service dies, and another one recovers what it left."""
        self.driven, self.jobs, self.direct, self.spent_by_jobs = [], [], [], {}
        for run in sorted(self.run(attempts.recover(self.context)), key=lambda run: self.order.index(run.run_id)):
            self.drive(self.run(attempts.resume(self.context, run.run_id, run.attempt)))
        for job in sorted(self.run(jobs.recover(self.context)), key=lambda job: self.order.index(job.job_id)):
            self.jobs.append(self.run(jobs.claim(self.context, job.job_id)))
        # What could not go on was ended, and billed for what was saved.
        assert self.billed("wallet") + self.billed("plan") >= self.due
        self.due = self.billed("wallet") + self.billed("plan")

    def billed(self, pool: str, key: str | None = None) -> int:
        lines = self.database.read(lambda tx: usage_records.by_key_and_month(tx, ACCOUNT))
        assert {line.month for line in lines} <= {utc_month(NOW)}
        return sum(line.microcents for line in lines if line.pool == pool and (key is None or self.counts(line, key)))

    @staticmethod
    def counts(line: usage_records.UsageRecord, key: str) -> bool:
        return line.key_id == key and line.kind == "tokens"

    @invariant()
    def no_limit_is_crossed_by_more_than_a_call(self) -> None:
        assert self.billed("wallet") <= WALLET * CENT
        assert self.billed("wallet", self.keys[1].id) <= (BUDGET + CALL_CENTS) * CENT
        assert self.billed("plan") <= (PLAN + CALL_CENTS) * CENT

    @invariant()
    def each_use_is_billed_once(self) -> None:
        assert self.billed("wallet") + self.billed("plan") == self.due

    @invariant()
    def what_is_held_covers_what_is_being_spent(self, next_call: int = 0) -> None:
        in_wallet, in_plan = self.database.read(
            lambda tx: [usage_records.sum_holds(tx, ACCOUNT, pool) for pool in POOLS]
        )
        direct = self.database.read(lambda tx: tx.all("SELECT hold_microcents FROM direct_call"))
        assert [row["hold_microcents"] for row in direct] == [CENT] * len(self.direct)
        needed = len(self.direct) * CENT + next_call
        for run, context in self.driven:
            spent = context.build_ending("x").spent.cost_microcents
            stored = self.database.read(partial(run_records.get, run_id=run.run_id))
            assert stored is not None
            assert stored.hold_microcents >= spent
            needed += spent
        for job in self.jobs:
            needed += self.spent_by_jobs.get(job.job_id, 0) + self.pictures[job.job_id]
        assert in_wallet + in_plan >= needed
        assert self.billed("wallet") + in_wallet <= WALLET * CENT

    def teardown(self) -> None:
        try:
            self.all_ends_and_holds_nothing()
        finally:
            self.asyncio.close()
            self.database.close()
            self.folder.cleanup()

    def all_ends_and_holds_nothing(self) -> None:
        self.crash()
        while self.driven:
            self.end(self.driven[0], "completed")
        for job in self.jobs:
            assert self.run(jobs.finish(self.context, job.job_id, job.attempt, JobEnding("cancelled", [])))
        self.no_limit_is_crossed_by_more_than_a_call()
        for run in self.database.read(run_records.list_active):
            raise AssertionError(f"{run.run_id} is stuck")
        assert self.held() == 0

    def held(self) -> int:
        return self.database.read(lambda tx: sum(usage_records.sum_holds(tx, ACCOUNT, pool) for pool in POOLS))


TestMoney = Money.TestCase
TestMoney.settings = settings(max_examples=8, stateful_step_count=30, deadline=None, derandomize=True)


def test_a_checkpoint_after_a_priced_tool_holds_nothing_unasked() -> None:
    """It held a cent again, under which calls of a model went on although the wallet was empty."""
    money = Money()
    money.start(0)
    run, context = money.driven[0]
    try:
        money.run(context.budget.hold_charges(HOLD_CENTS * CENT))
        money.run(context.checkpoint({}))
        assert money.held() == HOLD_CENTS * CENT
        stored = money.database.read(lambda tx: run_records.get(tx, run.run_id))
        assert stored is not None
        assert stored.hold_microcents == 0
    finally:
        money.teardown()


def test_a_priced_tool_that_ended_holds_nothing() -> None:
    """Not a micro-cent: what the call did not use is there for the next one."""
    money = Money()
    money.start(0)
    run, context = money.driven[0]
    attempt = context.log.attempt
    try:
        money.run(context.budget.hold_charges(CALL_CENTS * CENT))
        assert money.held() == CALL_CENTS * CENT
        call = money.run(tool_calls.open_call(money.context, run, attempt, "1", "edit_image", {}))
        money.run(tool_calls.move(money.context, run, attempt, call, "done", Outcome(), {"picture": 1}))
        money.due += CENT
        assert (money.held(), money.billed("wallet")) == (0, CENT)
    finally:
        money.teardown()
