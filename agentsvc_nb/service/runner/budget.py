"""Track the money that one attempt at a run spends and holds. To hold money is to reserve it before a call."""

from __future__ import annotations

from agentsvc_nb.service.accounts import money
from agentsvc_nb.service.accounts.usage_records import MICROCENTS_MAX, ModelUsage
from agentsvc_nb.service.runner.event_log import EventLog
from agentsvc_nb.service.runs import attempts, runs
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.wire.runs import CENT


class RunBudget:
    """Holds money before each call that has a price, within the run's limit. Amounts are in micro-cents.

    Attributes:
        spent: the agent's language model usage so far.
        charged: the maximum per-use charges of the run's calls so far.
    """

    def __init__(self, use_case: UseCaseContext, run: RunRecord, log: EventLog) -> None:
        self._use_case = use_case
        self._run = run
        self._log = log
        self.spent = ModelUsage()
        self.charged = 0
        # The money that the run holds for tokens. It includes the money already spent.
        self._held = run.hold_microcents
        # The last limit about which this attempt has warned.
        self._warned: int | None = None
        self._warned_of_day = False

    def use(self, input_tokens: int, output_tokens: int, microcents: int | None) -> int:
        """Record the usage of a model call, and return its cost."""
        cost = self._cost(input_tokens, output_tokens, microcents)
        self.spent.use(input_tokens, output_tokens, cost)
        return cost

    async def hold_tokens(self, input_tokens: int, output_tokens: int, microcents: int | None) -> None:
        """Hold the maximum cost of the next model call. The arguments are the maximum usage of that call."""
        worst = self._cost(input_tokens, output_tokens, microcents)
        await self.check(worst)
        needed = self.spent.cost_microcents + worst
        # A call that fits into the current hold needs no write.
        if worst and needed > self._held:
            await attempts.hold(self._use_case, self._run, self._log.attempt, needed - worst, tokens=worst)
            self._held = needed

    async def hold_charges(self, microcents: int, of_job: int = 0) -> None:
        """Hold `microcents`, the maximum per-use charges of the next call.

        `of_job` is the maximum for a call that runs as a job. It counts against the run's limit, but the job holds it.
        """
        await self.check(microcents + of_job)
        self.charged += microcents + of_job
        spent = self.spent.cost_microcents
        await attempts.hold(self._use_case, self._run, self._log.attempt, spent, charges=microcents)
        self._held = spent

    def release_unused(self) -> int:
        """Release held money that the run does not need now. Return the amount still held, in micro-cents.

        Keep at most the amount held at the run's start, or the money spent so far if that is more.
        """
        at_start = self._use_case.settings.run_hold_cents * CENT
        self._held = max(self.spent.cost_microcents, min(self._held, at_start))
        return self._held

    async def room(self) -> int | None:
        """Return how many micro-cents the run may still spend within its limit and the daily budget.

        Return None if there is neither a limit nor a daily budget.
        """
        found = await self._read_limits()
        rooms = [] if found.limit is None else [found.limit - self._cost_so_far(found)]
        rooms += [] if found.day is None else [found.day.room - self.spent.cost_microcents]
        return max(min(rooms), 0) if rooms else None

    async def check(self, next_call: int = 0) -> None:
        """Raise `WorkFailure` if the run can't pay `next_call` micro-cents. Warn once, with an event, near a limit."""
        found = await self._read_limits()
        run_id, attempt, limit, day = self._run.run_id, self._log.attempt, found.limit, found.day
        if day is not None and not self._warned_of_day and day.is_near(self.spent.cost_microcents):
            self._warned_of_day = True
            await self._log.flush()
            await attempts.warn_near_day(self._use_case, run_id, attempt, day, self.spent.cost_microcents)
        if limit is None:
            return
        cost = self._cost_so_far(found)
        try:
            money.check_run(limit, cost, next_call)
        except WorkFailure:
            # The run ends now, perhaps after a closing answer, so a warning would come too late.
            self._warned = limit
            raise
        if limit != self._warned and money.is_near(limit, cost):
            self._warned = limit
            await self._log.flush()
            await attempts.warn_near_limit(self._use_case, run_id, attempt, limit, cost)

    async def _read_limits(self) -> runs.SpendingLimits:
        """Read the run's current limit, which a user may have raised, and the account's use of its daily budget."""
        if self._run.max_microcents is None and self._use_case.settings.day_cents is None:
            return runs.SpendingLimits()  # nobody can set a limit for a run that started without one
        return await runs.get_spending_limits(self._use_case, self._run)

    def _cost_so_far(self, found: runs.SpendingLimits) -> int:
        return self.spent.cost_microcents + self.charged + found.in_jobs

    def _cost(self, input_tokens: int, output_tokens: int, microcents: int | None) -> int:
        if microcents is None:
            microcents = money.cost_microcents(self._run.model, input_tokens, output_tokens)
        return min(microcents, MICROCENTS_MAX)
