"""Runs: started, read, cancelled, approved; and what a worker does with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.ports import Index, Tx
from agentsvc_nb.service.records import idempotency, jobs, runs, tool_calls
from agentsvc_nb.service.records.chats import ChatRecord
from agentsvc_nb.service.records.files import Content
from agentsvc_nb.service.records.idempotency import IdempotencyScope
from agentsvc_nb.service.records.jobs import JobEnding
from agentsvc_nb.service.records.keys import KeyRecord
from agentsvc_nb.service.records.runs import Ending, RunRecord
from agentsvc_nb.service.records.tool_calls import CallRecord
from agentsvc_nb.service.records.usage import Spent
from agentsvc_nb.service.usecases import chats, files, money, payloads
from agentsvc_nb.service.usecases.chats import Where
from agentsvc_nb.service.usecases.money import Bill
from agentsvc_nb.settings import Settings
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.limits import RESTARTS_MAX
from agentsvc_nb.wire.runs import CallApproval, Event, EventPage, Verdict
from agentsvc_nb.wire.times import utc_day


def decide(tx: Tx, account: str, run_id: str, call_id: str, given: Verdict) -> CallApproval:
    """Approve or refuse a call; the same verdict once more changes nothing.

    Raises `invalid_run_id`, `run_not_found`, `call_not_found`, and `call_not_waiting` for the other verdict and for a
    call whose run has ended.
    """
    run = get(tx, account, run_id)
    call = tool_calls.by_call_id(tx, run.run_id, call_id)
    if call is None:
        raise ApiError("call_not_found")
    if decided := tool_calls.decide(tx, call, "approved" if given.approved else "refused", given.reason or ""):
        return _shown(decided, given.approved)
    if call.state in _SAME[given.approved]:
        return _shown(call, given.approved)
    raise ApiError("call_not_waiting")


_SAME = {True: ("approved", "begun", "done"), False: ("refused",)}


def _shown(call: CallRecord, approved: bool) -> CallApproval:
    return CallApproval(
        run_id=call.run_id, call_id=call.call_id, tool=call.tool, approved=approved, reason=call.reason or ""
    )


T = TypeVar("T")

STEPS_EXCEEDED: Final = "budget_limited"
"""Why a run failed that needed more model steps than a run may take (`wire.failures`)."""


@dataclass(frozen=True, slots=True)
class Start:
    """A validated start. `received_at` (ms) fixes the UTC day of its key; `model` is the one that will answer."""

    message: str
    where: Where
    model: str
    received_at: int
    output_config: dict[str, Any] | None = None
    contents: Sequence[Content] = field(default_factory=tuple)
    idempotency_key: str | None = None


def start(tx: Tx, index: Index, key: KeyRecord, given: Start, settings: Settings, now: int) -> tuple[RunRecord, bool]:
    """The run, and whether it is new: an Idempotency-Key seen today gives the original, whatever else changed.

    Raises `chat_not_found`, `project_not_found`, `chat_project_mismatch`, `chat_id_retired`, what `money.check`
    raises, `agent_run_rejected` with the `activeRunId` when the chat has an active turn, and
    `runtime_capacity_busy`.
    """
    chats.check_known(tx, given.where, key.account)
    bill = money.check(tx, key, settings, now)
    address = _address(key.account, given)
    if address and (original := idempotency.recall(tx, address)):
        record = runs.get(tx, original)
        assert record is not None
        return record, False
    chat = chats.resolve(tx, given.where, key.account, now, shared=False)
    record = begin(tx, index, bill, given, chat, settings, now)
    if address:
        idempotency.remember(tx, address, record.run_id)
    return record, True


def begin(tx: Tx, index: Index, bill: Bill, given: Start, chat: ChatRecord, settings: Settings, now: int) -> RunRecord:
    """A new run in this chat, with its attachments. Raises `agent_run_rejected` and `runtime_capacity_busy`."""
    if busy := runs.active_of_chat(tx, chat.id):
        raise ApiError("agent_run_rejected", top={"activeRunId": busy.run_id})
    _check_capacity(tx, bill.account, settings.run_capacity)
    attached = [file.path for file in files.attach(tx, index, chat.id, given.contents, now)]
    return _insert(tx, bill, given, chat, attached, now)


def get(tx: Tx, account: str, run_id: str) -> RunRecord:
    """Raises `invalid_run_id` and `run_not_found`."""
    return _found(runs.get_of_account(tx, _checked(run_id), account))


def shown(tx: Tx, account: str, run_id: str, origin: str) -> dict[str, Any]:
    """`get`, as the JSON that goes over the wire."""
    return _found(runs.of_account(tx, _checked(run_id), account, origin))


def _checked(run_id: str) -> str:
    if not ids.is_run(run_id):
        raise ApiError("invalid_run_id")
    return run_id.lower()


def _found(run: T | None) -> T:
    if run is None:
        raise ApiError("run_not_found")
    return run


def page(tx: Tx, run_id: str, status: str, after: int, limit: int) -> EventPage:
    found, more = events(tx, run_id, after, limit)
    return EventPage(data=found, next_after=found[-1].id if found else after, has_more=more, status=status)


def events(tx: Tx, run_id: str, after: int, limit: int) -> tuple[list[Event], bool]:
    """The events after `after`, as many as a page may hold, and whether there are more."""
    found, more = runs.events(tx, run_id, after, limit)
    return [payloads.readable(event, stored) for event, stored in found], more


def cancel(tx: Tx, account: str, run_id: str, origin: str, now: int) -> RunRecord:
    """Ask a run to stop: a queued one ends here, a running one when its agent has stopped. Safe to repeat."""
    record = get(tx, account, run_id)
    if record.status == "queued":
        return finish(tx, record.run_id, record.attempt, Ending("cancelled"), origin, now) or record
    if changed := runs.cancelling(tx, record.run_id):
        runs.append(tx, changed.run_id, changed.attempt, "run.status", {"status": changed.status}, now)
        _update_ask_job(tx, changed)
        return changed
    return record


def claim(tx: Tx, run_id: str, now: int) -> RunRecord | None:
    """Begin a queued run; None when it is no longer queued."""
    record = runs.claim(tx, run_id, now)
    if record is None:
        return None
    _announce(tx, record, record.last_event, now)
    _update_ask_job(tx, record)
    return record


def resume(tx: Tx, run_id: str, attempt: int, now: int) -> RunRecord | None:
    """Take a run over at its last checkpoint: what was said since no longer counts (docs/api/events.md)."""
    record = runs.resume(tx, run_id, attempt)
    if record is not None:
        payload = {"attempt": record.attempt, "discard_after": record.checkpoint_event}
        runs.append(tx, run_id, record.attempt, "run.resumed", payload, now)
    return record


def recover(tx: Tx, origin: str, model: str, now: int) -> list[RunRecord]:
    """After a crash, holding the folder's lock: every active run is nobody's. Those to be worked on again, by `model`:
    what another model began is not its to finish."""
    waiting = []
    for record in runs.active(tx):
        if record.status == "cancelling":
            finish(tx, record.run_id, record.attempt, _used_so_far(record, Ending("cancelled")), origin, now)
        elif record.restarts >= RESTARTS_MAX:
            ending = Ending("failed", last_error="attempts_exhausted", last_error_message="The run kept being cut off.")
            finish(tx, record.run_id, record.attempt, _used_so_far(record, ending), origin, now)
        elif record.model != model:
            why = f"It was begun by the model {record.model}, and the service was started again with {model}."
            ending = Ending("failed", last_error="model_changed", last_error_message=why)
            finish(tx, record.run_id, record.attempt, _used_so_far(record, ending), origin, now)
        else:
            runs.restarted(tx, record.run_id, 1)
            waiting.append(record)
    return waiting


def finish(tx: Tx, run_id: str, attempt: int, ending: Ending, origin: str, now: int) -> RunRecord | None:
    """End a run: its record, its last status event and `run.ended`, in one transaction. None for a late attempt."""
    billed = _is_billed(ending)
    if not billed:
        ending = replace(ending, spent=replace(ending.spent, cost_microcents=0))
    record = runs.finish(tx, run_id, attempt, ending, jobs.spent_in(tx, run_id), now)
    if record is not None:
        if billed:  # the agent's part; jobs are billed when they end
            money.charge_spent(tx, record, ending.spent, now)
        _announce(tx, record, record.last_event - 1, now)
        runs.note(tx, run_id, record.last_event, "run.ended", payloads.ended(record.document(origin)), now)
        _end_ask_job(tx, record, origin, now)
    return record


def _check_capacity(tx: Tx, account: str, capacity: int | None) -> None:
    """When the service is full, an account may still have its fair share (docs/api/runs.md "Capacity")."""
    if capacity is None:
        return
    active = runs.active_by_account(tx)
    mine, accounts = active.get(account, 0), len(active.keys() | {account})
    if sum(active.values()) >= capacity and mine >= capacity // accounts:
        raise ApiError("runtime_capacity_busy")


def _is_billed(ending: Ending) -> bool:
    """A run that reached the limit of steps is not billed, and its record shows no cost (docs/api/runs.md "Record").

    Decided here alone: the runner only says how the run ended.
    """
    return ending.last_error != STEPS_EXCEEDED


def _insert(tx: Tx, bill: Bill, given: Start, chat: ChatRecord, attached: list[str], now: int) -> RunRecord:
    record = runs.insert(
        tx,
        run_id=ids.new_run(),
        account=bill.account,
        key_id=bill.key_id,
        pool=bill.pool,
        hold_microcents=bill.hold_microcents,
        chat=chat.id,
        project=chat.project,
        message=given.message,
        output_config=given.output_config,
        model=given.model,
        attachments=attached,
        now=now,
    )
    _announce(tx, record, record.last_event, now)
    return record


def _announce(tx: Tx, record: RunRecord, event_id: int, now: int) -> None:
    runs.note(tx, record.run_id, event_id, "run.status", {"status": record.status}, now)


def _address(account: str, given: Start) -> IdempotencyScope | None:
    if given.idempotency_key is None:
        return None
    where = json.dumps([given.where.chat, given.where.session, given.where.project])
    return IdempotencyScope(account, "run", where, utc_day(given.received_at), given.idempotency_key)


def _used_so_far(record: RunRecord, ending: Ending) -> Ending:
    """What the last checkpoint counted still counts."""
    counted = dict(record.saved().get("counted", {}))
    return replace(ending, steps=counted.pop("steps", 0), spent=Spent(**counted))


_ASK_JOB_STATUS: Final = {"completed": "succeeded", "failed": "failed", "cancelled": "cancelled"}
"""The status of an ask job by that of its run (docs/api/tools-and-jobs.md "Ask")."""


def _update_ask_job(tx: Tx, run: RunRecord) -> None:
    """Show the run's status on the ask job that is its handle, if it has one."""
    jobs.follow(tx, run.run_id, run.status, run.started_at)


def _end_ask_job(tx: Tx, run: RunRecord, origin: str, now: int) -> None:
    """End the ask job together with its run: nothing waits for the run, and a crash leaves neither half ended."""
    job = jobs.following(tx, run.run_id)
    if job is not None:
        jobs.finish(tx, job.job_id, job.attempt, _ask_job_ending(run, origin), now)


def _ask_job_ending(run: RunRecord, origin: str) -> JobEnding:
    data = {
        "answer": run.output,
        "chat": run.chat,
        "app_url": run.document(origin)["app_url"],
        "run_id": run.run_id,
        "steps": run.steps,
    }
    content = [{"type": "text", "text": run.output}] if run.output else []
    error = {"code": run.last_error, "message": run.last_error_message or ""} if run.last_error else None
    spent = Spent(run.input_tokens, run.output_tokens, run.cost_microcents)  # shown here, billed with the run
    return JobEnding(_ASK_JOB_STATUS[run.status], content, data, error, spent=spent)
