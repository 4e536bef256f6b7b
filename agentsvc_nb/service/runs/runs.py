"""The use cases of a run's caller: start, read, wait, cancel. Those of its worker are in `attempts`."""

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
from agentsvc_nb.service.accounts.usage_records import Spent
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats import chats
from agentsvc_nb.service.chats.chat_records import ChatRecord
from agentsvc_nb.service.files import files
from agentsvc_nb.service.files.file_records import Content
from agentsvc_nb.service.jobs import job_records
from agentsvc_nb.service.lists import ListQuery
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.runs import event_records, observing, run_records, sent_records
from agentsvc_nb.service.runs.run_records import Ending, RunLimits, RunRecord
from agentsvc_nb.service.telemetry import tracing
from agentsvc_nb.service.times import utc_day
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.limits import EVENT_PAGE_BYTES, PAGE_MAX, STREAM_READ_BYTES
from agentsvc_nb.wire.runs import CENT, TERMINAL, Effort, NewClientTool, RunPage, SentCall

T = TypeVar("T")

LONG_CHARS: Final = 100_000
"""A longer message, or answer so far, is written and read in a thread."""
EARLIER_CHARS: Final = 1_000_000
"""What an agent is told of an earlier message: more than a model's context holds."""
STEPS_EXCEEDED: Final = "budget_limited"
"""The last error of a run that reached the limit of model steps (`wire.codes`)."""


@dataclass(frozen=True, slots=True)
class Start:
    """A validated start. `received_at` (ms) fixes the UTC day of its idempotency key; `model` will answer it; with
    `files_from` its new chat begins with that chat's files."""

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
    """Why the model that the start names can't answer now, in a sentence."""
    client_tools: Sequence[NewClientTool] = ()
    files_from: str | None = None
    traceparent: str | None = field(default_factory=tracing.current)
    shared: bool = False
    """Whether it works in the chat that tools share if `where` names none."""


async def start(context: UseCaseContext, key: KeyRecord, given: Start) -> RunRecord:
    """Start a run. An Idempotency-Key seen today returns the original run, even if other fields differ.

    Raises `chat_not_found`, `project_not_found`, `chat_project_mismatch`, `chat_id_retired`, what `money.check`
    raises, `agent_run_rejected` with the `activeRunId` when the chat has an active turn, and
    `runtime_capacity_busy`.
    """
    now = context.now
    address = json.dumps([given.where.chat, given.where.session, given.where.project])
    scope = IdempotencyScope(key.account, "run", address, utc_day(given.received_at), given.idempotency_key)

    def use(tx: Tx) -> tuple[RunRecord, bool]:
        # Also a replay is refused for an unknown chat or an empty wallet: both are checked before the key is looked up
        # (docs/api/conventions.md).
        chats.check_known(tx, given.where, key.account)
        bill = money.check(tx, key, context.settings, now)
        if original := idempotency.recall(tx, scope):
            return _found(run_records.get(tx, original)), False
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
    """Insert a run and its attachments into the chat. Raises `model_unavailable`, `agent_run_rejected` and
    `runtime_capacity_busy`."""
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
    """The account's run. Raises `invalid_run_id` and `run_not_found`."""
    return await context.read_single(lambda tx: of_account(tx, account, run_id))


def of_account(tx: Tx, account: str, run_id: str) -> RunRecord:
    """`get`, within a transaction."""
    return _found(run_records.get_of_account(tx, _checked(run_id), account))


async def page_of_account(context: UseCaseContext, query: ListQuery) -> RunPage:
    """A page of an account's runs. Raises `invalid_chat`, `chat_not_found`, and of `after` what `get` raises."""

    def use(tx: Tx) -> RunPage:
        if query.chat is not None:
            chats.of_account(tx, query.chat, query.account)
        after = None if query.after is None else of_account(tx, query.account, query.after).run_id
        found, more = run_records.page(tx, replace(query, after=after))
        return RunPage(data=found, next_after=found[-1].run_id if more else None)

    return await context.read(use)


async def check(context: UseCaseContext, account: str, run_id: str) -> str:
    """The id of the account's run as it is stored, without reading its record. Raises what `get` raises."""
    stored_id = _checked(run_id)
    _found(await context.read_single(lambda tx: run_records.status_of_account(tx, stored_id, account)))
    return stored_id


async def shown(context: UseCaseContext, account: str, run_id: str) -> dict[str, Any]:
    """`get`, as the JSON that goes over the wire."""
    stored_id = _checked(run_id)
    return _found(await context.read_single(lambda tx: run_records.of_account(tx, stored_id, account, context.origin)))


async def sent_by(context: UseCaseContext, account: str, run_id: str) -> list[SentCall]:
    """What a run sent to language models. Raises `invalid_run_id`, `run_not_found`."""
    return await context.read_long(lambda tx: sent_records.of_run(tx, of_account(tx, account, run_id).run_id))


def _checked(run_id: str) -> str:
    if not ids.is_run(run_id):
        raise ApiError("invalid_run_id")
    return run_id.lower()


def _found(run: T | None) -> T:
    if run is None:
        raise ApiError("run_not_found")
    return run


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Events after a cursor. `more`: others are stored already; `status`: the run's, None once it was deleted."""

    events: list[payloads.StoredEvent]
    more: bool
    status: str | None

    @property
    def ended(self) -> bool:
        """True if the run has ended and will write no other events."""
        return self.status is None or self.status in TERMINAL


async def page(context: UseCaseContext, account: str, run_id: str, after: int, limit: int) -> EventBatch:
    """A page of the run's events. Raises what `get` raises."""
    stored_id = _checked(run_id)

    def use(tx: Tx, most_bytes: int) -> EventBatch:
        # Not the whole record: its message may have megabytes.
        status = _found(run_records.status_of_account(tx, stored_id, account))
        return EventBatch(*event_records.events(tx, stored_id, after, limit, most_bytes), status)

    # A page of ordinary size is read at once. One request at a time reads what goes beyond it.
    page = await context.read(lambda tx: use(tx, STREAM_READ_BYTES))
    if not page.more or len(page.events) == limit:
        return page
    async with context.more_events:
        page = await context.read(lambda tx: use(tx, EVENT_PAGE_BYTES))
        await asyncio.sleep(0)
        return page


async def events(context: UseCaseContext, run_id: str, after: int) -> EventBatch:
    """The run's next events after the id `after`, for a stream: as many as it may hold while its reader is slow."""

    def use(tx: Tx) -> EventBatch:
        status = run_records.status(tx, run_id)  # first: of a run that had ended by then all events are there
        return EventBatch(*event_records.events(tx, run_id, after, PAGE_MAX, STREAM_READ_BYTES), status)

    return await context.read_single(use)  # without a transaction, which would be two more round trips for each event


async def wait(context: UseCaseContext, record: RunRecord, until: float) -> RunRecord:
    """Wait for the run's end, at most until the time `until` (ms); the run as it is then (docs/api/runs.md). Raises
    `internal_error` when the disk keeps the run from beginning or ending."""
    with context.signals.watch(record.run_id) as watch:
        while True:
            # Each event of the run wakes this loop, so it reads the status only, and the whole record once at the end.
            status = await context.read_single(lambda tx: run_records.status(tx, record.run_id))
            left = (until - context.now) / 1000
            if status is None or status in TERMINAL or left <= 0 or context.signals.stopping:
                return await context.read_single(lambda tx: run_records.get(tx, record.run_id)) or record
            if fault := context.workers.disk_fault_of_run(record.run_id):
                raise ApiError("internal_error", f"Run {record.run_id} is held up: at the service, {fault}.")
            await watch.wait(left)


async def cancel(context: UseCaseContext, account: str, run_id: str) -> RunRecord:
    """Request that a run stop; safe to repeat. A queued run ends at once, a running one when its agent has stopped.

    Raises what `get` raises.
    """
    now = context.now

    def use(tx: Tx) -> tuple[RunRecord, RunRecord]:
        before = of_account(tx, account, run_id)
        return before, request_stop(tx, before, context.origin, now)

    before, record = await context.write(use)
    context.workers.interrupt_run(record.run_id)
    if before.ended_at is None:
        await observing.ended(context, record)
    return record


def request_stop(tx: Tx, record: RunRecord, origin: str, now: int) -> RunRecord:
    """`cancel`, within a transaction."""
    if record.status == "queued":
        # No worker has it, and none gets it later: only queued runs are claimed.
        return end(tx, record.run_id, record.attempt, Ending("cancelled"), origin, now) or record
    if changed := run_records.cancelling(tx, record.run_id):
        event_records.append(tx, changed.run_id, changed.attempt, "run.status", {"status": changed.status}, now)
        job_records.follow(tx, changed.run_id, changed.status, changed.started_at)
        return changed
    return record


async def raise_limit(context: UseCaseContext, account: str, run_id: str, max_microcents: int) -> RunRecord:
    """Let an active run cost more, from its next call on; safe to repeat.

    Raises what `get` raises, `run_not_active`, `invalid_limits` for less than the run may cost already or has spent,
    and what `money.check_raise` raises.
    """
    now = context.now

    def use(tx: Tx) -> RunRecord:
        run = of_account(tx, account, run_id)
        if run.status not in ("queued", "running"):
            raise ApiError("run_not_active")
        limit = run.max_microcents
        if limit is None:
            raise ApiError("invalid_limits", "The run has no `max_cents` that could be raised.", field="max_cents")
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
    """The run of any account, for workers."""
    return await context.read(lambda tx: run_records.get(tx, run_id))


async def inputs(context: UseCaseContext, record: RunRecord) -> tuple[str, dict[str, Any], list[NewClientTool]]:
    """The run's message, the state of its last checkpoint (empty before the first), and the tools that its caller
    executes."""

    def use(tx: Tx) -> tuple[str, dict[str, Any], list[NewClientTool]]:
        tools = [] if record.client_tools is None else run_records.client_tools(tx, record.run_id)
        return run_records.message(tx, record.run_id), run_records.saved(tx, record.run_id), tools

    read = context.read_long if record.message_chars > LONG_CHARS else context.read_single
    return await read(use)


async def saved(context: UseCaseContext, run_id: str) -> dict[str, Any]:
    """The state of the run's last checkpoint; empty before the first."""
    return await context.read_single(lambda tx: run_records.saved(tx, run_id))


@dataclass(frozen=True, slots=True)
class Room:
    """The micro-cents that a run may cost now, those that its jobs used as far as they have ended, and the use of its
    account's day without what the run itself holds. None: no limit."""

    limit: int | None = None
    in_jobs: int = 0
    day: money.Day | None = None


async def room(context: UseCaseContext, run: RunRecord) -> Room:
    """What a run and the day of its account have left."""
    now = context.now

    def use(tx: Tx) -> Room:
        found = _found(run_records.get(tx, run.run_id))
        day = money.day(tx, run.account, context.settings, now)
        if day is not None:
            day = replace(day, held=day.held - found.hold_microcents - found.charge_hold_microcents)
        return Room(found.max_microcents, job_records.spent_in(tx, run.run_id).cost_microcents, day)

    return await context.read(use)


async def status(context: UseCaseContext, run_id: str) -> str | None:
    return await context.read_single(lambda tx: run_records.status(tx, run_id))


async def earlier(context: UseCaseContext, record: RunRecord, limit: int) -> list[tuple[RunRecord, str]]:
    """The runs of the chat that ended before this one, latest first, at most `limit`; each with its message's first
    `EARLIER_CHARS`. Before a run that goes on from another stand the turns before that one."""

    def use(tx: Tx) -> list[tuple[RunRecord, str]]:
        first = record
        while first.resumed_from is not None:
            first = _found(run_records.get(tx, first.resumed_from))
        found = run_records.of_chat(tx, record.chat, first.run_id, limit + 1)
        resumed = {run.resumed_from for run in found}  # the run that goes on from it is told instead
        ended = [run for run in found[1:] if run.status in TERMINAL and run.run_id not in resumed][:limit]
        return [(run, run_records.message_beginning(tx, run.run_id, EARLIER_CHARS)) for run in ended]

    return await context.read_long(use)


def end(tx: Tx, run_id: str, attempt: int, ending: Ending, origin: str, now: int) -> RunRecord | None:
    """End a run: its record, its last events (with `answer.basis` if its agent said it), its bill and its ask job. None
    when `attempt` is no longer the run's."""
    # A run that reached the limit of steps shows no cost (docs/api/runs.md "Record"). Only this place decides that.
    billed = ending.last_error != STEPS_EXCEEDED
    if not billed:
        ending = replace(ending, spent=replace(ending.spent, cost_microcents=0))
    record = run_records.finish(tx, run_id, attempt, ending, job_records.spent_in(tx, run_id), now)
    if record is not None:
        if billed:  # the agent's part; jobs are billed when they end
            money.bill_tokens(tx, record, ending.spent, now)
        # `finish` has counted the ids of these events, so that they follow the last one without a gap.
        if ending.basis is not None:
            event_records.note(tx, run_id, record.last_event - 2, "answer.basis", ending.basis, now)
        announce(tx, record, record.last_event - 1, now)
        event_records.note(tx, run_id, record.last_event, "run.ended", payloads.ended(record.document(origin)), now)
        # Here, so that a crash cannot end only one of them, and no task has to wait for the run.
        if (job := job_records.following(tx, run_id)) is not None:
            job_records.finish(tx, job.job_id, job.attempt, _ask_job_ending(record, origin), now)
    return record


def check_free(tx: Tx, chat: str) -> None:
    """Raises `agent_run_rejected` with the `activeRunId` when the chat has an active turn."""
    if busy := run_records.active_of_chat(tx, chat):
        raise ApiError("agent_run_rejected", top={"activeRunId": busy.run_id})


def check_capacity(tx: Tx, account: str, capacity: int | None) -> None:
    """Raises `runtime_capacity_busy` when the service is full and the account has its fair share of active runs
    (docs/api/runs.md "Capacity")."""
    if capacity is None:
        return
    active = run_records.active_by_account(tx)
    mine, accounts = active.get(account, 0), len(active.keys() | {account})
    # An account that has less than its share may start a run although the service is full: others that fill it do not
    # lock it out.
    if sum(active.values()) >= capacity and mine >= capacity // accounts:
        raise ApiError("runtime_capacity_busy")


def announce(tx: Tx, record: RunRecord, event_id: int, now: int) -> None:
    """Write the event `run.status` with the record's status, under an id that the record has counted already."""
    payload: dict[str, Any] = {"status": record.status}
    if record.status == "queued" and record.client_tools is not None:
        payload["client_tools"] = json.loads(record.client_tools)
    event_records.note(tx, record.run_id, event_id, "run.status", payload, now)


_ASK_JOB_STATUS: Final = {"completed": "succeeded", "failed": "failed", "cancelled": "cancelled"}
"""The final status of an ask job, by that of its run (docs/api/tools-and-jobs.md "Ask")."""


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
    spent = Spent(run.input_tokens, run.output_tokens, run.cost_microcents)  # shown here, billed with the run
    return job_records.JobEnding(_ASK_JOB_STATUS[run.status], content, data, error, spent=spent)
