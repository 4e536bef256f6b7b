"""Define the use case "resume a failed run" (docs/api/runs.md "Resume").

A new run in the same chat continues from the checkpoint and the tool calls of the failed run. The failed run itself
does not change.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from agentsvc_nb.service import payloads
from agentsvc_nb.service.accounts import idempotency, money
from agentsvc_nb.service.accounts.account_records import KeyRecord
from agentsvc_nb.service.accounts.idempotency import IdempotencyScope
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats import chats
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.runs import call_records, event_records, run_records, runs
from agentsvc_nb.service.runs.run_records import RunLimits, RunRecord
from agentsvc_nb.service.telemetry import tracing
from agentsvc_nb.service.times import utc_day
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.wire.codes import FAILURES


@dataclass(frozen=True, slots=True)
class Resume:
    """A validated request to resume a failed run.

    The idempotency key is valid on the UTC day of `received_at` (ms). `limits` replace the failed run's limits.
    """

    run_id: str
    received_at: int
    idempotency_key: str | None = None
    limits: RunLimits = field(default_factory=RunLimits)


async def resume(context: UseCaseContext, key: KeyRecord, given: Resume) -> RunRecord:
    """Start a run that continues a failed run.

    If the account has used the idempotency key to resume this run today, return the run that was started then.

    Raises what `runs.get` raises, `chat_id_retired`, what `money.check_start` raises, `run_not_resumable`,
    `agent_run_rejected` if the chat has an active run, and `runtime_capacity_busy`.
    """
    now = context.now
    address = json.dumps(["resume", given.run_id.lower()])
    scope = IdempotencyScope(key.account, "run", address, utc_day(given.received_at), given.idempotency_key)

    def use(tx: Tx) -> tuple[RunRecord, bool]:
        old = runs.get_in_tx(tx, key.account, given.run_id)
        chats.check_known(tx, ChatSelector(chat=old.chat), key.account)
        bill = money.check_start(tx, key, context.settings, now)
        if original := idempotency.recall(tx, scope):
            record = run_records.get(tx, original)
            assert record is not None
            return record, False
        _check_resumable(tx, old, context.settings.run_models)
        runs.check_free(tx, old.chat)
        runs.check_capacity(tx, key.account, context.settings.run_capacity)
        record = _begin(tx, old, bill, given.limits, now)
        idempotency.remember(tx, scope, record.run_id)
        return record, True

    record, new = await context.write(use, long=True)  # long, because the transaction may copy texts of megabytes
    if new:
        context.workers.wake_run(record.run_id)
    return record


def _check_resumable(tx: Tx, old: RunRecord, offered: Sequence[str]) -> None:
    """Raise `run_not_resumable` if the run can't be resumed.

    A run can be resumed if it failed for a possibly temporary reason, the service offers its model, and no other run
    already continues it.
    """
    if old.status != "failed":
        raise ApiError("run_not_resumable", f"The run has the status {old.status}. Only a failed run can be resumed.")
    failure = FAILURES.get(old.last_error or "")
    if failure is None or not failure.resumable:
        raise ApiError(
            "run_not_resumable", f"The run failed with {old.last_error} and would fail again, so it can't be resumed."
        )
    if old.model not in offered:
        raise ApiError(
            "run_not_resumable",
            f"The service no longer offers the run's model {old.model}, so the run can't be resumed.",
        )
    if later := run_records.find_resumption(tx, old):
        raise ApiError("run_not_resumable", f"This run was already resumed as run {later}. Resume that run instead.")


def _begin(tx: Tx, old: RunRecord, bill: money.Bill, limits: RunLimits, now: int) -> RunRecord:
    saved = run_records.get_state(tx, old.run_id)
    record = run_records.insert_resumed(tx, old, bill, bill.hold_microcents, limits, tracing.get_current(), now)
    runs.announce(tx, record, record.last_event, now)
    # The new run's text starts with the text of the failed run.
    for piece in payloads.split(saved.get("said", "")):
        event_records.append(tx, record.run_id, record.attempt, "text.delta", {"text": piece}, now)
    if plan := saved.get("plan"):
        event_records.append(tx, record.run_id, record.attempt, "plan.changed", {"steps": plan}, now)
    if saved:
        # The new run has used nothing itself. It counts the earlier steps separately, because a call's key contains the
        # number of its step (`LiveRunContext.call`).
        before = saved.get("before", 0) + saved.get("counted", {}).get("steps", 0)
        run_records.set_state(tx, record.run_id, {**saved, "counted": {}, "before": before})
    call_records.copy_to(tx, old.run_id, record.run_id)
    return record
