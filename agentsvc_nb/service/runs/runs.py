"""Define the use cases of a run's caller: start, read, wait for, and cancel a run. Workers use `attempts`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from agentsvc_nb.service import payloads
from agentsvc_nb.service.accounts import idempotency, money
from agentsvc_nb.service.accounts.account_records import KeyRecord
from agentsvc_nb.service.accounts.idempotency import IdempotencyScope
from agentsvc_nb.service.accounts.usage_records import ModelUsage
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats import chats
from agentsvc_nb.service.chats.chat_records import ChatRecord
from agentsvc_nb.service.files import files
from agentsvc_nb.service.files.file_records import Content
from agentsvc_nb.service.jobs import job_records
from agentsvc_nb.service.lists import ListQuery
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.runs import event_records, observing, run_records, sent_records
from agentsvc_nb.service.runs.run_records import RunEnding, RunLimits, RunRecord
from agentsvc_nb.service.telemetry import tracing
from agentsvc_nb.service.times import utc_day
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.limits import EVENT_PAGE_BYTES, PAGE_MAX, STREAM_READ_BYTES
from agentsvc_nb.wire.runs import CENT, TERMINAL, Effort, NewClientTool, RunPage, SentCall

T = TypeVar("T")

LONG_CHARS: Final = 100_000
"""Messages and answers with more characters than this are read and written in a thread."""
EARLIER_CHARS: Final = 1_000_000
"""The maximum number of characters of an earlier message to show to the agent. No model has such a long context."""
STEPS_EXCEEDED: Final = "budget_limited"
"""The last error of a run that reached the service's limit of model steps (`wire.codes`)."""


@dataclass(frozen=True, slots=True)
class Start:
    """A validated request to start a run.

    The idempotency key is valid on the UTC day of `received_at` (ms). `files_from` is a chat whose files are copied to
    the new chat.
    """

    message: str
    where: chats.ChatSelector
    model: str
    received_at: int
    output_config: dict[str, Any] | None = None
    contents: Sequence[Content] = field(default_factory=tuple)
    idempotency_key: str | None = None
    limits: RunLimits = field(default_factory=RunLimits)
    effort: Effort | None = None
    unavailable: str | None = None
    """Why the requested model is unavailable now, as a sentence. None if the model is available."""
    client_tools: Sequence[NewClientTool] = ()
    files_from: str | None = None
    traceparent: str | None = field(default_factory=tracing.get_current)
    shared: bool = False
    """If `where` names neither chat nor session: True for the chat that tools share, False for a new chat."""


async def start(context: UseCaseContext, key: KeyRecord, given: Start) -> RunRecord:
    """Start a run.

    If the account has used the idempotency key with the same chat fields today, return the run that was started then,
    even if the rest of the request differs.

    Raises what `chats.check_known`, `money.check_start`, `files.copy_chat` (for `files_from`) and `begin` raise.
    """
    now = context.now
    address = json.dumps([given.where.chat, given.where.session, given.where.project])
    scope = IdempotencyScope(key.account, "run", address, utc_day(given.received_at), given.idempotency_key)

    def use(tx: Tx) -> tuple[RunRecord, bool]:
        # A repeated request also fails for an unknown chat or an empty wallet, so check both before the idempotency key
        # (docs/api/conventions.md).
        chats.check_known(tx, given.where, key.account)
        bill = money.check_start(tx, key, context.settings, now)
        if original := idempotency.recall(tx, scope):
            return _require(run_records.get(tx, original)), False
        chat = chats.resolve(tx, given.where, key.account, now, shared=given.shared)
        if given.files_from is not None:
            files.copy_chat(tx, context.index, key.account, given.files_from, chat.id, now)
        record = begin(tx, context, bill, given, chat, now)
        idempotency.remember(tx, scope, record.run_id)
        return record, True

    long = bool(given.contents or given.files_from) or len(given.message) > LONG_CHARS
    record, new = await context.write(use, long=long)
    if new:
        files.wake_readings(context, given.contents, copied=given.files_from is not None)
        context.workers.wake_run(record.run_id)
    return record


def begin(tx: Tx, context: UseCaseContext, bill: money.Bill, given: Start, chat: ChatRecord, now: int) -> RunRecord:
    """Insert a run and its attachments.

    Raises `model_unavailable`, `agent_run_rejected` with the `activeRunId` if the chat has an active run, and
    `runtime_capacity_busy`.
    """
    if given.unavailable:
        raise ApiError("model_unavailable", given.unavailable)
    check_free(tx, chat.id)
    check_capacity(tx, bill.account, context.settings.run_capacity)
    record = run_records.insert(
        tx,
        account=bill.account,
        key_id=bill.key_id,
        pool=bill.pool,
        hold_microcents=bill.hold_microcents,
        chat=chat.id,
        project=chat.project,
        message=given.message,
        output_config=given.output_config,
        model=given.model,
        attachments=[file.path for file in files.put_uploads(tx, context.index, chat.id, given.contents, now)],
        traceparent=given.traceparent,
        limits=given.limits,
        effort=given.effort,
        client_tools=given.client_tools,
        now=now,
    )
    announce(tx, record, record.last_event, now)
    return record


async def get(context: UseCaseContext, account: str, run_id: str) -> RunRecord:
    """Return the account's run. Raises `invalid_run_id` and `run_not_found`."""
    return await context.read_single(lambda tx: get_in_tx(tx, account, run_id))


def get_in_tx(tx: Tx, account: str, run_id: str) -> RunRecord:
    """Return the account's run, within the transaction `tx`. Raises what `get` raises."""
    return _require(run_records.get_of_account(tx, _check_id(run_id), account))


async def list_runs(context: UseCaseContext, query: ListQuery) -> RunPage:
    """Return a page of the account's runs. Raises `invalid_chat`, `chat_not_found`, and what `get` raises."""

    def use(tx: Tx) -> RunPage:
        if query.chat is not None:
            chats.get_of_account(tx, query.chat, query.account)
        after = None if query.after is None else get_in_tx(tx, query.account, query.after).run_id
        found, more = run_records.list_page(tx, replace(query, after=after))
        return RunPage(data=found, next_after=found[-1].run_id if more else None)

    return await context.read(use)


async def check(context: UseCaseContext, account: str, run_id: str) -> str:
    """Check that the account has this run. Return the id in lower case, as stored. Raises what `get` raises."""
    stored_id = _check_id(run_id)
    _require(await context.read_single(lambda tx: run_records.get_status_of_account(tx, stored_id, account)))
    return stored_id


async def get_json(context: UseCaseContext, account: str, run_id: str) -> dict[str, Any]:
    """Return the account's run as JSON, in the form of `wire.runs.Run`. Raises what `get` raises."""
    stored_id = _check_id(run_id)
    return _require(await context.read_single(lambda tx: run_records.get_json(tx, stored_id, account, context.origin)))


async def list_sent(context: UseCaseContext, account: str, run_id: str) -> list[SentCall]:
    """Return the run's requests to language models. Raises `invalid_run_id` and `run_not_found`."""
    return await context.read_long(lambda tx: sent_records.list_by_run(tx, get_in_tx(tx, account, run_id).run_id))


def _check_id(run_id: str) -> str:
    if not ids.is_run(run_id):
        raise ApiError("invalid_run_id")
    return run_id.lower()


def _require(run: T | None) -> T:
    if run is None:
        raise ApiError("run_not_found")
    return run


@dataclass(frozen=True, slots=True)
class EventBatch:
    """The events of a run after a given event id.

    `more` is True if more events are already stored. `status` is the run's status, or None if the run was deleted.
    """

    events: list[payloads.StoredEvent]
    more: bool
    status: str | None

    @property
    def ended(self) -> bool:
        """Whether the run has ended or was deleted, so that no event will be added."""
        return self.status is None or self.status in TERMINAL


async def list_events(context: UseCaseContext, account: str, run_id: str, after: int, limit: int) -> EventBatch:
    """Return a page of the run's events. Raises what `get` raises."""
    stored_id = _check_id(run_id)

    def use(tx: Tx, most_bytes: int) -> EventBatch:
        # Read only the status, because the run's row may have megabytes.
        status = _require(run_records.get_status_of_account(tx, stored_id, account))
        return EventBatch(*event_records.list_events(tx, stored_id, after, limit, most_bytes), status)

    # Most pages are small, and are read at once. Only one request at a time may read a larger page.
    page = await context.read(lambda tx: use(tx, STREAM_READ_BYTES))
    if not page.more or len(page.events) == limit:
        return page
    async with context.more_events:
        page = await context.read(lambda tx: use(tx, EVENT_PAGE_BYTES))
        await asyncio.sleep(0)
        return page


async def read_events(context: UseCaseContext, run_id: str, after: int) -> EventBatch:
    """Return the run's events after the id `after`.

    Return at most as many bytes of events as a stream may buffer for a slow reader.
    """

    def use(tx: Tx) -> EventBatch:
        # read the status before the events: if the run has ended, all its events are then stored
        status = run_records.get_status(tx, run_id)
        return EventBatch(*event_records.list_events(tx, run_id, after, PAGE_MAX, STREAM_READ_BYTES), status)

    return await context.read_single(use)  # without a transaction, which would cost two more round trips per event


async def wait(context: UseCaseContext, record: RunRecord, until: float) -> RunRecord:
    """Wait until the run has ended, but at most until the time `until` (ms). Return the run.

    Raises `internal_error` if a disk error prevents the run from continuing.
    """
    with context.signals.watch(record.run_id) as watch:
        while True:
            # Each event of the run wakes this loop, so read only the status here, and the whole row once at the end.
            status = await context.read_single(lambda tx: run_records.get_status(tx, record.run_id))
            left = (until - context.now) / 1000
            if status is None or status in TERMINAL or left <= 0 or context.signals.stopping:
                return await context.read_single(lambda tx: run_records.get(tx, record.run_id)) or record
            if fault := context.workers.disk_fault_of_run(record.run_id):
                raise ApiError(
                    "internal_error",
                    f"Run {record.run_id} can't continue, because of a failure at the service: {fault}.",
                )
            await watch.wait(left)


async def cancel(context: UseCaseContext, account: str, run_id: str) -> RunRecord:
    """Cancel a run. A running run ends when its agent stops. This is safe to repeat. Raises what `get` raises."""
    now = context.now

    def use(tx: Tx) -> tuple[RunRecord, RunRecord]:
        before = get_in_tx(tx, account, run_id)
        return before, request_stop(tx, before, context.origin, now)

    before, record = await context.write(use)
    context.workers.interrupt_run(record.run_id)
    if before.ended_at is None:
        await observing.record_ended(context, record)
    return record


def request_stop(tx: Tx, record: RunRecord, origin: str, now: int) -> RunRecord:
    """Cancel a run as `cancel` does, within the transaction `tx`."""
    if record.status == "queued":
        # End the run here, because no worker executes it. Workers claim only queued runs, so none will.
        return end(tx, record.run_id, record.attempt, RunEnding("cancelled"), origin, now) or record
    if changed := run_records.mark_cancelling(tx, record.run_id):
        event_records.append(tx, changed.run_id, changed.attempt, "run.status", {"status": changed.status}, now)
        job_records.update_handle(tx, changed.run_id, changed.status, changed.started_at)
        return changed
    return record


async def raise_limit(context: UseCaseContext, account: str, run_id: str, max_microcents: int) -> RunRecord:
    """Raise the cost limit of an active run. The new limit applies from the run's next call on.

    A repeated call of this function is harmless.

    Raises what `get` raises, `run_not_active`, what `money.check_raise` raises, and `invalid_limits` if the run has no
    limit, or if the new limit is below the current limit or the cost so far.
    """
    now = context.now

    def use(tx: Tx) -> RunRecord:
        run = get_in_tx(tx, account, run_id)
        if run.status not in ("queued", "running"):
            raise ApiError("run_not_active")
        limit = run.max_microcents
        if limit is None:
            raise ApiError(
                "invalid_limits", "The run has no `max_cents`, so there is no limit to raise.", field="max_cents"
            )
        if max_microcents == limit:
            return run
        least = max(limit, run.cost_microcents)
        if max_microcents < least:
            why = f"A limit can only be raised: send a `max_cents` over {least / CENT:,.2f}."
            raise ApiError("invalid_limits", why, field="max_cents")
        money.check_raise(tx, run, context.settings, now)
        event_records.append(tx, run.run_id, run.attempt, "limit.raised", {"max_cents": max_microcents / CENT}, now)
        return run_records.raise_limit(tx, run.run_id, max_microcents)

    record = await context.write(use)
    context.signals.notify(record.run_id)
    return record


async def find(context: UseCaseContext, run_id: str) -> RunRecord | None:
    """Return the run with this id, of any account. Workers use this function."""
    return await context.read(lambda tx: run_records.get(tx, run_id))


async def get_inputs(context: UseCaseContext, record: RunRecord) -> tuple[str, dict[str, Any], list[NewClientTool]]:
    """Return the run's message, the state of its last checkpoint (`get_state`), and its client tools."""

    def use(tx: Tx) -> tuple[str, dict[str, Any], list[NewClientTool]]:
        tools = [] if record.client_tools is None else run_records.get_client_tools(tx, record.run_id)
        return run_records.get_message(tx, record.run_id), run_records.get_state(tx, record.run_id), tools

    read = context.read_long if record.message_chars > LONG_CHARS else context.read_single
    return await read(use)


async def get_state(context: UseCaseContext, run_id: str) -> dict[str, Any]:
    """Return the state of the run's last checkpoint, or {} before the first checkpoint."""
    return await context.read_single(lambda tx: run_records.get_state(tx, run_id))


@dataclass(frozen=True, slots=True)
class SpendingLimits:
    """The limits that apply to a run's spending, in micro-cents. None means no limit.

    Attributes:
        limit: the run's cost limit.
        in_jobs: the cost of the run's jobs that have ended.
        day: the account's use of its daily budget, without what this run holds.
    """

    limit: int | None = None
    in_jobs: int = 0
    day: money.DayBudget | None = None


async def get_spending_limits(context: UseCaseContext, run: RunRecord) -> SpendingLimits:
    """Return the limits that apply to the run's spending now."""
    now = context.now

    def use(tx: Tx) -> SpendingLimits:
        found = _require(run_records.get(tx, run.run_id))
        day = money.get_day_budget(tx, run.account, context.settings, now)
        if day is not None:
            day = replace(day, held=day.held - found.hold_microcents - found.charge_hold_microcents)
        return SpendingLimits(found.max_microcents, job_records.get_usage_in(tx, run.run_id).cost_microcents, day)

    return await context.read(use)


async def get_status(context: UseCaseContext, run_id: str) -> str | None:
    return await context.read_single(lambda tx: run_records.get_status(tx, run_id))


async def list_earlier(context: UseCaseContext, record: RunRecord, limit: int) -> list[tuple[RunRecord, str]]:
    """Return earlier runs of the chat that have ended, latest first, each with the beginning of its message.

    Return at most `limit` runs. A beginning has at most `EARLIER_CHARS` characters. If a run continues a failed run,
    leave out the failed run, because both are the same turn.
    """

    def use(tx: Tx) -> list[tuple[RunRecord, str]]:
        first = record
        while first.resumed_from is not None:
            first = _require(run_records.get(tx, first.resumed_from))
        found = run_records.list_by_chat(tx, record.chat, first.run_id, limit + 1)
        resumed = {run.resumed_from for run in found}  # the runs that later runs continue
        ended = [run for run in found[1:] if run.status in TERMINAL and run.run_id not in resumed][:limit]
        return [(run, run_records.get_message_beginning(tx, run.run_id, EARLIER_CHARS)) for run in ended]

    return await context.read_long(use)


def end(tx: Tx, run_id: str, attempt: int, ending: RunEnding, origin: str, now: int) -> RunRecord | None:
    """End a run and charge it. If an `ask` job waits for the run, end the job, too.

    Return None if `attempt` is no longer the run's current attempt.
    """
    # A run that reached the service's limit of steps costs nothing (docs/api/runs.md "Record").
    billed = ending.last_error != STEPS_EXCEEDED
    if not billed:
        ending = replace(ending, spent=replace(ending.spent, cost_microcents=0))
    record = run_records.finish(tx, run_id, attempt, ending, job_records.get_usage_in(tx, run_id), now)
    if record is not None:
        if billed:  # only the agent's usage, because jobs are charged when they end
            money.bill_tokens(tx, record, ending.spent, now)
        # `finish` has reserved the ids of these events, so that they follow the last event without a gap.
        if ending.basis is not None:
            event_records.insert(tx, run_id, record.last_event - 2, "answer.basis", ending.basis, now)
        announce(tx, record, record.last_event - 1, now)
        event_records.insert(
            tx, run_id, record.last_event, "run.ended", payloads.run_ended_payload(record.document(origin)), now
        )
        # End the job in the same transaction, so that a crash can't end only one of the two, and no task must wait for
        # the run.
        if (job := job_records.get_handle(tx, run_id)) is not None:
            job_records.finish(tx, job.job_id, job.attempt, _ask_job_ending(record, origin), now)
    return record


def check_free(tx: Tx, chat: str) -> None:
    """Raise `agent_run_rejected` with the `activeRunId` if the chat has an active run."""
    if busy := run_records.get_active_of_chat(tx, chat):
        raise ApiError("agent_run_rejected", top={"activeRunId": busy.run_id})


def check_capacity(tx: Tx, account: str, capacity: int | None) -> None:
    """Raise `runtime_capacity_busy` if the service is full and the account has its fair share of active runs."""
    if capacity is None:
        return
    active = run_records.count_active_by_account(tx)
    mine, accounts = active.get(account, 0), len(active.keys() | {account})
    # An account below its share may start a run even at capacity, so that other accounts can't lock this account out.
    if sum(active.values()) >= capacity and mine >= capacity // accounts:
        raise ApiError("runtime_capacity_busy")


def announce(tx: Tx, record: RunRecord, event_id: int, now: int) -> None:
    """Write the event `run.status`, whose id is already reserved in the run's row."""
    payload: dict[str, Any] = {"status": record.status}
    if record.status == "queued" and record.client_tools is not None:
        payload["client_tools"] = json.loads(record.client_tools)
    event_records.insert(tx, record.run_id, event_id, "run.status", payload, now)


_ASK_JOB_STATUS: Final = {"completed": "succeeded", "failed": "failed", "cancelled": "cancelled"}
"""The final status of an `ask` job, by the status of its run (docs/api/tools-and-jobs.md "Ask")."""


def _ask_job_ending(run: RunRecord, origin: str) -> job_records.JobEnding:
    data: dict[str, Any] = {
        "answer": run.output,
        "chat": run.chat,
        "app_url": run.document(origin)["app_url"],
        "run_id": run.run_id,
        "steps": run.steps,
    }
    if run.basis is not None:
        data["basis"] = json.loads(run.basis)
    content = [{"type": "text", "text": run.output}] if run.output else []
    error = {"code": run.last_error, "message": run.last_error_message or ""} if run.last_error else None
    # shown in the job, but charged with the run
    spent = ModelUsage(run.input_tokens, run.output_tokens, run.cost_microcents)
    return job_records.JobEnding(_ASK_JOB_STATUS[run.status], content, data, error, spent=spent)
