"""The use cases of a run's worker: claim, resume, append events, checkpoint and finish. Each write carries the attempt
number, so that writes of an earlier attempt are refused (docs/decisions/0009-attempts.md)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.records import jobs
from agentsvc_nb.service.records import runs as run_records
from agentsvc_nb.service.records.runs import Ending, RunRecord
from agentsvc_nb.service.records.usage import Spent
from agentsvc_nb.service.usecases import UseCaseContext, money, observing, runs
from agentsvc_nb.wire.limits import RESTARTS_MAX

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Used:
    """What the agent of a run used so far; its jobs have their own."""

    steps: int
    spent: Spent


class LostRun(Exception):
    """Another attempt has taken the run over: this worker's writes are refused, and it must stop."""


async def claim(context: UseCaseContext, run_id: str) -> RunRecord | None:
    """Mark a queued run as running and return it; None when it is no longer queued."""
    now = context.now

    def use(tx: Tx) -> RunRecord | None:
        record = run_records.claim(tx, run_id, now)
        if record is not None:
            runs.announce(tx, record, record.last_event, now)
            runs.update_ask_job(tx, record)
        return record

    record = await context.write(use)
    if record is not None:
        context.signals.notify(run_id)
    return record


async def resume(context: UseCaseContext, run_id: str, attempt: int) -> RunRecord | None:
    """Take a run over at its last checkpoint, under a new attempt number. Events after the checkpoint are discarded by
    readers (docs/api/events.md). None when `attempt` is no longer the run's."""
    now = context.now

    def use(tx: Tx) -> RunRecord | None:
        record = run_records.resume(tx, run_id, attempt)
        if record is not None:
            payload = {"attempt": record.attempt, "discard_after": record.checkpoint_event}
            run_records.append(tx, run_id, record.attempt, "run.resumed", payload, now)
        return record

    record = await context.write(use)
    if record is not None:
        context.signals.notify(run_id)
        await observing.resumed(context, record)
    return record


async def append(
    context: UseCaseContext,
    run_id: str,
    attempt: int,
    type: str,
    found: Sequence[dict[str, Any]],
    used: Used | None = None,
) -> None:
    """Append one event of type `type` for each payload in `found`, in order, and show what the run `used` so far.
    Raises `LostRun`."""
    now = context.now

    def use(tx: Tx) -> bool:
        if used is not None:
            _show(tx, run_id, attempt, used)
        # A run that was taken over refuses all of them, since the attempt cannot change within a transaction.
        written = [run_records.append(tx, run_id, attempt, type, payload, now) for payload in found]
        return None not in written

    if not await context.write(use):
        raise LostRun(run_id)
    context.signals.notify(run_id)


def _show(tx: Tx, run_id: str, attempt: int, used: Used) -> None:
    run_records.used(tx, run_id, attempt, used.steps, used.spent + jobs.spent_in(tx, run_id))


async def checkpoint(
    context: UseCaseContext, run_id: str, attempt: int, state: dict[str, Any], hold: int, used: Used
) -> None:
    """Store the state from which a takeover resumes the run, and hold `hold` micro-cents. Raises `LostRun`."""

    def use(tx: Tx) -> bool:
        _show(tx, run_id, attempt, used)
        return run_records.checkpoint(tx, run_id, attempt, state, hold)

    if not await context.write(use, long=len(state.get("said", "")) > runs.LONG_CHARS):
        raise LostRun(run_id)


async def hold(
    context: UseCaseContext, run: RunRecord, attempt: int, spent: int, *, tokens: int = 0, charges: int = 0
) -> None:
    """Hold the `spent` micro-cents of a run and the worst case of its next call, for tokens and for per-use charges.

    Raises `LostRun`, and `WorkFailure("limit_reached")` when the account or the key has no room for the call.
    """
    now = context.now

    def use(tx: Tx) -> bool:
        # First down to what was spent: the worst case of the call before must not count against this one
        # (docs/decisions/0037).
        if not run_records.hold(tx, run.run_id, attempt, spent, 0):
            return False
        money.check_more(tx, run, context.settings, now, tokens=tokens, charges=charges)
        return run_records.hold(tx, run.run_id, attempt, spent + tokens, charges)

    if not await context.write(use):
        raise LostRun(run.run_id)


async def leave(context: UseCaseContext, run_id: str) -> None:
    """Leave an active run for recovery at the next start. An orderly stop does not count against `RESTARTS_MAX`."""
    await context.write(lambda tx: run_records.restarted(tx, run_id, -1))


async def recover(context: UseCaseContext) -> list[RunRecord]:
    """After a crash: end the active runs that cannot go on, and return the others, to be woken.

    A run is ended if it was being cancelled, was cut off too often, or was begun by a model that is not offered now.
    The caller holds the folder's lock, so no other worker has any of these runs.
    """
    now = context.now
    waiting, ended = await context.write(lambda tx: _recover(tx, context.origin, context.settings.offered, now))
    for record in ended:
        await observing.ended(context, record)
    return waiting


def _recover(tx: Tx, origin: str, offered: Sequence[str], now: int) -> tuple[list[RunRecord], list[RunRecord | None]]:
    """The runs that go on, and those that were ended."""
    waiting: list[RunRecord] = []
    ended: list[RunRecord | None] = []

    def end(record: RunRecord, ending: Ending) -> None:
        ended.append(runs.end(tx, record.run_id, record.attempt, _used_so_far(tx, record, ending), origin, now))

    for record in run_records.active(tx):
        if record.status == "cancelling":
            end(record, Ending("cancelled"))
        elif record.restarts >= RESTARTS_MAX:
            ending = Ending("failed", last_error="attempts_exhausted", last_error_message="The run kept being cut off.")
            end(record, ending)
        elif record.model not in offered:
            there = ", ".join(offered)
            why = f"It was begun by the model {record.model}, and the service was started again with {there}."
            ending = Ending("failed", last_error="model_changed", last_error_message=why)
            end(record, ending)
        else:
            run_records.restarted(tx, record.run_id, 1)
            waiting.append(record)
    return waiting, ended


async def finish(context: UseCaseContext, run_id: str, attempt: int, ending: Ending) -> RunRecord | None:
    """End a run: its record, its last status event and `run.ended`, in one transaction. None when `attempt` is no
    longer the run's."""
    now = context.now
    long = len(ending.output or "") > runs.LONG_CHARS
    record = await context.write(lambda tx: runs.end(tx, run_id, attempt, ending, context.origin, now), long=long)
    context.signals.notify(run_id)
    if record is None:
        context.metrics.fences_refused.add("run")
    await observing.ended(context, record)
    return record


def _used_so_far(tx: Tx, record: RunRecord, ending: Ending) -> Ending:
    """`ending` with the steps and tokens of the last checkpoint, which are billed although the run ends here."""
    try:
        counted = dict(run_records.saved(tx, record.run_id).get("counted", {}))
        counted.pop("charged", None)
        return replace(ending, steps=counted.pop("steps", 0), spent=Spent(**counted))
    except (AttributeError, TypeError, ValueError):  # a damaged state must not keep the service from starting
        log.exception("the saved state of run %s can't be read: it ends without what it used", record.run_id)
        return ending
