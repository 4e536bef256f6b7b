"""Define the use cases of tool calls: direct calls, and the calls of runs, which a person may have to approve."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from agentsvc_nb.service.accounts import money, usage_records
from agentsvc_nb.service.accounts.account_records import KeyRecord
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats import chats
from agentsvc_nb.service.chats.chat_records import ChatRecord
from agentsvc_nb.service.jobs import jobs
from agentsvc_nb.service.jobs.job_records import JobRecord
from agentsvc_nb.service.new_ids import new_id
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.runs import call_records, event_records, run_records, runs, standing
from agentsvc_nb.service.runs.attempts import LostRun
from agentsvc_nb.service.runs.call_records import CallRecord, State
from agentsvc_nb.service.sql import public
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.tools.port import Outcome, Tool, with_integers, without_nulls
from agentsvc_nb.wire.runs import CallApproval, NewClientTool, Verdict

_SAME: Final = {True: ("approved", "begun", "done"), False: ("refused",)}
"""The states of a call that already has the verdict: True for approved, False for refused."""
_ASKED: Final = ("asked", "answered", "expired")
"""The states of a client tool's call after it was requested. Its `reason` is None if no person had to approve it."""
_CHANGES_CHARS: Final = 4_000
"""The maximum number of characters of a person's changes to show to the agent."""


async def open_call(
    context: UseCaseContext, run: run_records.RunRecord, attempt: int, key: str, tool: str, given: dict[str, Any]
) -> CallRecord:
    """Return the call with this key. Record the call first if it does not exist. Raises `LostRun`."""
    call_id, now = new_id("call"), context.now
    opened = await context.write(lambda tx: call_records.open(tx, run, attempt, key, call_id, tool, given, now))
    if opened is None:
        raise LostRun(run.run_id)
    return opened


async def get(context: UseCaseContext, call: CallRecord) -> CallRecord:
    """Read the call again and return it."""
    found = await context.read(lambda tx: call_records.get(tx, call.run_id, call.key))
    assert found is not None
    return found


async def wait(context: UseCaseContext, run: run_records.RunRecord, attempt: int, call: CallRecord) -> CallRecord:
    """Mark the call as waiting for approval, and return the updated call. Raises `LostRun`."""
    waiting = await context.write(lambda tx: call_records.wait(tx, call, attempt))
    if waiting is None:
        raise LostRun(run.run_id)
    return waiting


async def get_outcome(context: UseCaseContext, run_id: str) -> Outcome | None:
    """Return the outcome of the only tool call of a run with the model `DIRECT_CALL`.

    Return None if the call has no outcome yet.
    """
    call = await context.read_single(lambda tx: call_records.get_first(tx, run_id))
    return None if call is None or call.outcome is None else add_changes(call, call.outcome)


def add_changes(call: CallRecord, outcome: Outcome) -> Outcome:
    """Return the call's `outcome` for the agent.

    If a person changed the call's input before approving it, add a description of the changes to the outcome.
    """
    if call.asked_input is None:
        return outcome
    changed = {name: value for name, value in call.input.items() if _differ(value, call.asked_input.get(name))}
    changed |= dict.fromkeys(name for name in without_nulls(call.asked_input) if name not in call.input)
    text = json.dumps(changed, ensure_ascii=False)
    more = f"… ({len(text):,} characters)" if len(text) > _CHANGES_CHARS else ""
    said = f"The user changed this call before approving it (null means removed): {text[:_CHANGES_CHARS]}{more}"
    error = outcome.error and (outcome.error[0], f"{outcome.error[1]} {said}")
    content = [{"type": "text", "text": said}, *outcome.content]
    return outcome.model_copy(update={"content": content, "error": error})


def _differ(one: object, other: object) -> bool:
    """Return whether two inputs differ as JSON. Python's `==` does not suffice, because `1 == True`."""
    texts = {json.dumps(with_integers(without_nulls(each)), sort_keys=True) for each in (one, other)}
    return len(texts) > 1


async def list_waiting(context: UseCaseContext, run_id: str) -> list[CallRecord]:
    """Return the run's calls that wait for approval."""
    return await context.read_single(lambda tx: call_records.list_waiting(tx, run_id))


async def append_verdict(context: UseCaseContext, call: CallRecord, attempt: int) -> None:
    """Append the verdict as an event, and record that no attempt waits for the call, in one transaction.

    Therefore the event is written exactly once, even after crashes. Raises `LostRun`.
    """
    verdict = {"call_id": call.call_id, "approved": call.state == "approved", "reason": call.reason or ""}
    if call.asked_input is not None:
        verdict["input"] = call.input
    now = context.now

    def use(tx: Tx) -> None:
        if not event_records.append_all(tx, call.run_id, attempt, [("approval.decided", verdict)], now):
            raise LostRun(call.run_id)
        assert call.waits_in is not None
        call_records.end_wait(tx, call, call.waits_in)

    await context.write(use)
    context.signals.notify(call.run_id)


async def end_wait(context: UseCaseContext, call: CallRecord, attempt: int) -> None:
    """Record that the attempt no longer waits for the call. From now on, crashes count against `RESTARTS_MAX`."""
    await context.write(lambda tx: call_records.end_wait(tx, call, attempt))


async def move(
    context: UseCaseContext,
    run: run_records.RunRecord,
    attempt: int,
    call: CallRecord,
    state: State,
    outcome: Outcome | None = None,
    charges: Mapping[str, int] = MappingProxyType({}),
) -> CallRecord:
    """Set the call's state and return the updated call.

    With an `outcome`, also charge the per-use `charges` once, and release what the run holds for them. For a call with
    a job, the job does both.

    Raises `LostRun`.
    """
    now = context.now

    def use(tx: Tx) -> CallRecord:
        # The call may already be done and charged, if this write is retried or another attempt took over.
        before = call_records.get(tx, call.run_id, call.key)
        ends = outcome is not None and (before is None or before.state != "done")
        moved = call_records.move(tx, call, attempt, state, outcome=outcome)
        if moved is None:
            raise LostRun(run.run_id)
        if ends and run.restarts:
            run_records.reset_restarts(tx, run.run_id)
        if ends and call.job_id is None:  # a job is charged separately
            run_records.release_charges(tx, run.run_id, attempt)
            money.bill_charges(tx, run, charges, now)
        return moved

    return await context.write(use)


async def list_ended(context: UseCaseContext, run_ids: Sequence[str], limit: int) -> dict[str, list[CallRecord]]:
    """For each run, return the last `limit` calls that have an outcome, oldest first."""
    return await context.read_long(
        lambda tx: {run_id: call_records.list_ended(tx, run_id, limit) for run_id in run_ids}
    )


async def has_outcome(context: UseCaseContext, run_id: str, tool: str) -> bool:
    """Return whether the run, or a run that it continues, has called this tool and recorded the outcome."""
    return await context.read_single(lambda tx: call_records.has_outcome(tx, run_id, tool))


async def submit(
    context: UseCaseContext,
    run: run_records.RunRecord,
    attempt: int,
    call: CallRecord,
    tool: Tool,
    charges: int,
    room: int | None = None,
) -> JobRecord:
    """Queue a job for a call and record the job in the call, in one transaction.

    Therefore a takeover finds the job, and submits no second job. The job holds `charges` micro-cents for per-use
    charges, and its model calls may cost at most `room` micro-cents.

    Raises `LostRun`, and `WorkFailure("limit_reached")`.
    """
    now = context.now
    given = jobs.JobSubmission(tool.name, tool.family, call.input, chats.ChatSelector(chat=run.chat), now)
    bill = money.Bill(run.account, run.key_id, run.pool, charges)

    def use(tx: Tx) -> JobRecord:
        money.check_more(tx, run, context.settings, now, charges=charges)
        job = jobs.insert(tx, bill, run.chat, run.run_id, given, now, max_microcents=room)
        if call_records.move(tx, call, attempt, "begun", job_id=job.job_id) is None:
            raise LostRun(run.run_id)
        return job

    return await context.write(use)


async def get_with_client_tools(
    context: UseCaseContext, account: str, run_id: str, call_id: str
) -> tuple[CallRecord, list[NewClientTool]]:
    """Return a call and the client tools of its run. Raises `invalid_run_id`, `run_not_found`, `call_not_found`."""

    def use(tx: Tx) -> tuple[CallRecord, list[NewClientTool]]:
        call = _get_in_tx(tx, account, run_id, call_id)
        return call, run_records.get_client_tools(tx, call.run_id)

    return await context.read_long(use)


def _get_in_tx(tx: Tx, account: str, run_id: str, call_id: str) -> CallRecord:
    call = call_records.by_call_id(tx, runs.get_in_tx(tx, account, run_id).run_id, call_id)
    if call is None:
        raise ApiError("call_not_found")
    return call


async def decide(context: UseCaseContext, account: str, run_id: str, call_id: str, given: Verdict) -> CallApproval:
    """Approve or refuse a call. The same verdict again changes nothing.

    The code that calls this function must check a changed input and a standing approval first.

    Raises `invalid_run_id`, `run_not_found`, `call_not_found`, and `call_not_waiting` if the call has the opposite
    verdict, is not waiting for approval, or its run is not running.
    """
    now = context.now

    def use(tx: Tx) -> tuple[CallRecord, standing.StandingRecord | None]:
        call = _get_in_tx(tx, account, run_id, call_id)
        state: State = "approved" if given.approved else "refused"
        changed = given.input if given.input is not None and _differ(given.input, call.input) else None
        if decided := call_records.decide(tx, call, state, given.reason or "", changed):
            run = runs.get_in_tx(tx, account, run_id)
            return decided, standing.add(tx, run, call.tool, given.standing, now) if given.standing else None
        same = call.state in _SAME[given.approved]
        same = same or (given.approved and call.reason is not None and call.state in _ASKED)
        if same and changed is None and (call.asked_input is None or given.input is not None):
            return call, None
        raise ApiError("call_not_waiting")

    call, made = await context.write(use)
    context.signals.notify(call.run_id)
    told = {"reason": call.reason or "", "input": None if call.asked_input is None else call.input}
    return public(CallApproval, call, approved=given.approved, standing=made and made.public(), **told)


async def approve_in_advance(
    context: UseCaseContext, run: run_records.RunRecord, attempt: int, call: CallRecord
) -> CallRecord | None:
    """Approve the call if a standing approval applies to it, and append the verdict as an event, in one transaction.

    Return None if no standing approval applies, or the run is being cancelled. Raises `LostRun`.
    """
    now = context.now

    def use(tx: Tx) -> CallRecord | None:
        found = standing.find(tx, run, call.tool, call.input, now)
        if found is None:
            return None
        if call_records.wait(tx, call, attempt) is None:
            raise LostRun(run.run_id)
        approved = call_records.decide(tx, call, "approved", "", None)
        if approved is None:
            return None
        told = {"call_id": call.call_id, "approved": True, "reason": "", "standing": found.public().model_dump()}
        if not event_records.append_all(tx, run.run_id, attempt, [("approval.decided", told)], now):
            raise LostRun(run.run_id)
        call_records.end_wait(tx, call, attempt)
        return approved

    approved = await context.write(use)
    if approved is not None:
        context.signals.notify(run.run_id)
    return approved and replace(approved, waits_in=None)


@dataclass(frozen=True, slots=True)
class AcceptedCall:
    """A direct tool call that the service has accepted, with its chat and the bill for its charges."""

    call_id: str
    bill: money.Bill
    chat: ChatRecord


async def begin_call(context: UseCaseContext, key: KeyRecord, given: jobs.JobSubmission) -> AcceptedCall:
    """Accept a direct tool call and hold its maximum cost.

    Raises what `chats.check_known` and `money.check_start` raise.
    """
    now, call_id = context.now, new_id("call")

    def use(tx: Tx) -> AcceptedCall:
        chats.check_known(tx, given.where, key.account)
        bill = money.check_start(tx, key, context.settings, now, given.charges_microcents)
        # Add the row even if the call holds nothing, because the row ensures that the call is charged only once.
        hold = bill.hold_microcents if given.charges_microcents else 0
        usage_records.begin_direct_call(tx, bill, call_id, hold, context.process)
        return AcceptedCall(call_id, bill, chats.resolve(tx, given.where, key.account, now, shared=True))

    return await context.write(use)


async def end_call(context: UseCaseContext, call: AcceptedCall, charges: Mapping[str, int]) -> None:
    """Charge a direct call, and release what the call holds. A repeated call of this function is harmless."""
    now = context.now

    def use(tx: Tx) -> None:
        if usage_records.end_direct_call(tx, call.call_id):
            money.bill_charges(tx, call.bill, charges, now)

    await context.write(use)
