"""Define the use cases of the worker that executes a run: claim, resume, append events, checkpoint and finish.

Each execution of a run is an attempt with a number, and each write names its attempt. The database refuses a write of
an earlier attempt, because the worker of that attempt may only have been frozen for a while.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from agentsvc_nb.service.accounts import money
from agentsvc_nb.service.accounts.usage_records import ModelUsage
from agentsvc_nb.service.jobs import job_records
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.runs import event_records, observing, process_records, run_records, runs, sent_records
from agentsvc_nb.service.runs.run_records import RunEnding, RunRecord
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.tools.port import OutgoingCall
from agentsvc_nb.wire.limits import RESTARTS_MAX
from agentsvc_nb.wire.runs import CENT

DAY_BUDGET_NEAR: Final = "day_budget_near"
"""The code of the warning that the account has spent or reserved 80 % of its daily budget."""
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AgentUsage:
    """The number of steps and the model usage of a run's agent so far. The usage of the run's jobs is not included."""

    steps: int
    spent: ModelUsage


class LostRun(Exception):
    """Another attempt has taken over the run. The database refuses the worker's writes, and the worker must stop."""


async def claim(context: UseCaseContext, run_id: str) -> RunRecord | None:
    """Mark a queued run as running and return the run. Return None if the run is no longer queued."""
    now = context.now

    def use(tx: Tx) -> RunRecord | None:
        record = run_records.claim(tx, run_id, context.process, now)
        if record is not None:
            runs.announce(tx, record, record.last_event, now)
            job_records.update_handle(tx, run_id, record.status, record.started_at)
        return record

    record = await context.write(use)
    if record is not None:
        context.signals.notify(run_id)
    return record


async def resume(context: UseCaseContext, run_id: str, attempt: int) -> RunRecord | None:
    """Take over a run at its last checkpoint, under a new attempt number.

    Return None if `attempt` is no longer the run's current attempt. Readers of the run's events discard the events
    after the checkpoint (docs/api/events.md).
    """
    now = context.now

    def use(tx: Tx) -> RunRecord | None:
        record = run_records.resume(tx, run_id, attempt, context.process)
        if record is not None:
            payload = {"attempt": record.attempt, "discard_after": record.checkpoint_event}
            event_records.append(tx, run_id, record.attempt, "run.resumed", payload, now)
        return record

    record = await context.write(use)
    if record is not None:
        context.signals.notify(run_id)
        await observing.record_resumed(context, record)
    return record


async def append(
    context: UseCaseContext,
    run_id: str,
    attempt: int,
    events: Sequence[tuple[str, dict[str, Any]]],
    used: AgentUsage | None = None,
) -> None:
    """Append events, each with a type and a payload, and store what the run `used` so far. Raises `LostRun`."""
    now = context.now

    def use(tx: Tx) -> bool:
        if used is not None:
            run_records.set_usage(tx, run_id, attempt, used.steps, used.spent + job_records.get_usage_in(tx, run_id))
        return event_records.append_all(tx, run_id, attempt, events, now)

    if not await context.write(use):
        raise LostRun(run_id)
    context.signals.notify(run_id)


async def warn_near_limit(context: UseCaseContext, run_id: str, attempt: int, limit: int, spent: int) -> None:
    """Append the event `limit.near`, unless the run already has this event for its current limit.

    Raises `LostRun`.
    """
    now = context.now
    payload = {"max_cents": limit / CENT, "spent_cents": spent / CENT, "suggested_cents": money.suggested_cents(limit)}

    def use(tx: Tx) -> bool:
        if event_records.has_warned_of_limit(tx, run_id) or run_records.get_limit(tx, run_id) != limit:
            return True
        return event_records.append(tx, run_id, attempt, "limit.near", payload, now) is not None

    if not await context.write(use):
        raise LostRun(run_id)
    context.signals.notify(run_id)


async def warn_near_day(context: UseCaseContext, run_id: str, attempt: int, day: money.DayBudget, spent: int) -> None:
    """Append a warning, once per run, that 80 % of the daily budget is spent or held. Raises `LostRun`."""
    now = context.now
    used = f"{(day.billed + day.held + spent) / CENT:,.2f} cents of its daily limit of {day.limit / CENT:,.2f} cents"
    payload = {"code": DAY_BUDGET_NEAR, "message": f"Today, the account's work has spent or reserved {used}."}

    def use(tx: Tx) -> bool:
        if event_records.has_warned(tx, run_id, DAY_BUDGET_NEAR):
            return True
        return event_records.append(tx, run_id, attempt, "warning", payload, now) is not None

    if not await context.write(use):
        raise LostRun(run_id)
    context.signals.notify(run_id)


async def checkpoint(
    context: UseCaseContext, run_id: str, attempt: int, state: dict[str, Any], hold: int, used: AgentUsage
) -> None:
    """Store the state from which another attempt could continue the run.

    Also set the amount that the run holds to `hold` micro-cents. Raises `LostRun`.
    """

    def use(tx: Tx) -> bool:
        run_records.set_usage(tx, run_id, attempt, used.steps, used.spent + job_records.get_usage_in(tx, run_id))
        return run_records.checkpoint(tx, run_id, attempt, state, hold)

    if not await context.write(use, long=len(state.get("said", "")) > runs.LONG_CHARS):
        raise LostRun(run_id)


async def record_sending(context: UseCaseContext, run_id: str, call: OutgoingCall) -> bool:
    """Record a request to a language model.

    Return True if the model's provider is hosted and the service has sent it no request before.
    """
    now = context.now
    return await context.write(lambda tx: sent_records.add(tx, run_id, call, now))


async def hold(
    context: UseCaseContext, run: RunRecord, attempt: int, spent: int, *, tokens: int = 0, charges: int = 0
) -> None:
    """Hold money for the run: its cost so far, `spent`, and the maximum cost of its next call, in micro-cents.

    The next call can cost at most `tokens` for tokens, and at most `charges` in per-use charges.

    Raises `LostRun`, and `WorkFailure("limit_reached")` if the account or the key can't pay for the call.
    """
    now = context.now

    def use(tx: Tx) -> bool:
        # First reduce the hold to the cost so far, because the maximum cost of the previous call must not count against
        # this call.
        if not run_records.hold(tx, run.run_id, attempt, spent, 0):
            return False
        money.check_more(tx, run, context.settings, now, tokens=tokens, charges=charges)
        return run_records.hold(tx, run.run_id, attempt, spent + tokens, charges)

    if not await context.write(use):
        raise LostRun(run.run_id)


async def release(context: UseCaseContext, run_id: str, attempt: int) -> bool:
    """Give up a run when the service stops, so that another process, or recovery at the next start, continues it.

    Return False if the run is not running. If the run is being cancelled, the caller must end it at once, while its
    usage is known. A regular stop of the service does not count against `RESTARTS_MAX`.
    """

    def use(tx: Tx) -> bool:
        if run_records.get_status(tx, run_id) != "running":
            return False
        if context.process is None:
            run_records.add_restarts(tx, run_id, -1)
        else:
            process_records.queue_run(tx, run_id, attempt)
        return True

    return await context.write(use)


async def recover(context: UseCaseContext) -> list[RunRecord]:
    """End the active runs that can't continue after a crash. Return the other active runs, which the caller must wake.

    A run can't continue if it was being cancelled, was interrupted too often, or uses a model that the service no
    longer offers. The caller must hold the data folder's lock, so that no other worker executes these runs.
    """
    now, offered = context.now, context.settings.run_models

    def use(tx: Tx) -> list[tuple[RunRecord, RunRecord | None]]:
        return [(run, end_or_count(tx, run, offered, context.origin, now)) for run in run_records.list_active(tx)]

    found = await context.write(use)
    for _, ended in found:
        await observing.record_ended(context, ended)
    return [run for run, ended in found if ended is None]


def end_or_count(tx: Tx, record: RunRecord, offered: Sequence[str], origin: str, now: int) -> RunRecord | None:
    """End an interrupted run that can't continue, and return the run. Otherwise count a restart and return None."""
    if record.status == "cancelling":
        ending = RunEnding("cancelled")
    elif record.restarts >= RESTARTS_MAX:
        why = "The service was interrupted too often while the run made no progress."
        ending = RunEnding("failed", last_error="attempts_exhausted", last_error_message=why)
    elif record.model not in offered:
        there = ", ".join(offered)
        why = f"The run started with the model {record.model}, but the restarted service offers only {there}."
        ending = RunEnding("failed", last_error="model_changed", last_error_message=why)
    else:
        run_records.add_restarts(tx, record.run_id, 1)
        return None
    return runs.end(tx, record.run_id, record.attempt, _add_usage(tx, record, ending), origin, now)


async def finish(context: UseCaseContext, run_id: str, attempt: int, ending: RunEnding) -> RunRecord | None:
    """End a run and append its last events in one transaction.

    Return None if another attempt has taken over the run.
    """
    now = context.now
    long = len(ending.output or "") > runs.LONG_CHARS
    record = await context.write(lambda tx: runs.end(tx, run_id, attempt, ending, context.origin, now), long=long)
    context.signals.notify(run_id)
    if record is None:
        context.metrics.fences_refused.add("run")
    await observing.record_ended(context, record)
    return record


def _add_usage(tx: Tx, record: RunRecord, ending: RunEnding) -> RunEnding:
    """Add the steps and the usage of the last checkpoint to `ending`, so that the usage is charged."""
    try:
        counted = dict(run_records.get_state(tx, record.run_id).get("counted", {}))
        counted.pop("charged", None)
        return replace(ending, steps=counted.pop("steps", 0), spent=ModelUsage(**counted))
    except (AttributeError, TypeError, ValueError):  # a damaged state must not prevent the start of the service
        log.exception(
            "the saved state of run %s can't be read, so the run ends and its usage is not charged", record.run_id
        )
        return ending
