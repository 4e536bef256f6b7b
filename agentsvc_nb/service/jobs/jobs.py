"""Use cases of jobs and asks. Callers submit, read and cancel them; workers claim, finish and recover them.

An ask is a call of `ask_stefanbrain`, a tool that starts a run. Its job is the run's handle: nobody executes it, and it
copies the run's status and result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from agentsvc_nb.service.accounts import idempotency, money, usage_records
from agentsvc_nb.service.accounts.account_records import KeyRecord
from agentsvc_nb.service.accounts.idempotency import IdempotencyScope
from agentsvc_nb.service.accounts.money import Bill
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats import chats
from agentsvc_nb.service.chats.chat_records import ChatRecord
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.files import file_records
from agentsvc_nb.service.jobs import job_records
from agentsvc_nb.service.jobs.job_records import JobEnding, JobRecord
from agentsvc_nb.service.lists import ListQuery
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.runs import event_records, process_records, run_records, runs
from agentsvc_nb.service.times import utc_day
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.wire.limits import RESTARTS_MAX
from agentsvc_nb.wire.tools import Job, JobPage


class LostJob(Exception):
    """Another attempt has taken over the job, or the job has ended. This attempt's tool must not spend more money."""


@dataclass(frozen=True, slots=True)
class JobSubmission:
    """A validated request to submit a job."""

    tool: str
    family: str
    input: dict[str, Any]
    where: ChatSelector
    received_at: int
    """The time (ms) of the request. An idempotency key is valid on the UTC day of this time."""
    idempotency_key: str | None = None
    """The request's Idempotency-Key, or None if it has none or the tool does not deduplicate requests."""
    charges_microcents: int = 0
    """The most that the job's per-use charges can cost."""


async def submit(context: UseCaseContext, key: KeyRecord, given: JobSubmission) -> JobRecord:
    """Queue a job and return it.

    If a request for a tool of the same family has used the Idempotency-Key today, return the job of that request.
    Raises `idempotency_conflict` if that job is in another chat, and what `chats.check_known` and `money.check_start`
    raise.
    """
    record, new = await _submit(context, key, given, None)
    if new:
        context.workers.wake_job(record.job_id)
    return record


@dataclass(frozen=True, slots=True)
class AskSubmission:
    """A validated ask: the run to start, and the job that is the run's handle."""

    start: runs.Start
    submit: JobSubmission
    pictures: int = 0
    """The number of pictures that the service fetched."""
    unreached: tuple[str, ...] = ()
    """A sentence for each picture that the service could not fetch."""


async def submit_ask(context: UseCaseContext, key: KeyRecord, given: AskSubmission) -> tuple[JobRecord, bool]:
    """Start a run and create the job that is the run's handle, in one transaction.

    Return the job, and whether it is new (False for a repeated request). Raises what `submit` and `runs.begin` raise.
    """
    record, new = await _submit(context, key, given.submit, given)
    if new and record.follows is not None:
        context.workers.wake_run(record.follows)
    return record, new


async def _submit(
    context: UseCaseContext, key: KeyRecord, given: JobSubmission, ask: AskSubmission | None
) -> tuple[JobRecord, bool]:
    """Return the job, and whether it is new (False for a repeated request)."""
    now = context.now
    scope = IdempotencyScope(key.account, given.family, "", utc_day(given.received_at), given.idempotency_key)

    def use(tx: Tx) -> tuple[JobRecord, bool]:
        chats.check_known(tx, given.where, key.account)
        bill = money.check_start(tx, key, context.settings, now, given.charges_microcents)
        known = idempotency.recall(tx, scope)
        original = job_records.get(tx, known) if known else None
        if original is not None and given.where.chat == "new":
            # A retry with `chat: "new"` returns the original job, in the chat that the first request created.
            return original, False
        chat = chats.resolve(tx, given.where, key.account, now, shared=True)
        if original is not None:
            if original.chat != chat.id:
                raise ApiError("idempotency_conflict")
            return original, False
        if ask is None:
            record = insert(tx, bill, chat.id, None, given, now)
        else:
            record = _insert_ask(tx, context, bill, chat, ask, now)
        idempotency.remember(tx, scope, record.job_id)
        return record, True

    return await context.write(use, long=ask is not None and bool(ask.start.contents))


def _insert_ask(
    tx: Tx, context: UseCaseContext, bill: Bill, chat: ChatRecord, given: AskSubmission, now: int
) -> JobRecord:
    """Insert the run, its warnings, and the job that is its handle. Return the job."""
    run = runs.begin(tx, context, bill, given.start, chat, now)
    warnings = [{"code": "image_not_fetched", "message": message} for message in given.unreached]
    if given.pictures:  # no agent of this version can read pictures
        which = "The picture was" if given.pictures == 1 else f"The {given.pictures} pictures were"
        message = f"{which} ignored: this agent reads only text."
        warnings.append({"code": "images_not_seen", "message": message})
    if warnings:
        event_records.append_all(tx, run.run_id, run.attempt, [("warning", warning) for warning in warnings], now)
    free = replace(bill, hold_microcents=0)  # the run holds the money
    return insert(tx, free, chat.id, None, given.submit, now, follows=run.run_id)


def insert(
    tx: Tx,
    bill: Bill,
    chat: str,
    run_id: str | None,
    given: JobSubmission,
    now: int,
    *,
    follows: str | None = None,
    max_microcents: int | None = None,
) -> JobRecord:
    """Insert a queued job: either one that the run `run_id` submitted, or the handle of the run `follows`.

    `max_microcents` limits the cost of the job's model calls.
    """
    return job_records.insert(
        tx,
        account=bill.account,
        key_id=bill.key_id,
        pool=bill.pool,
        charge_hold_microcents=bill.hold_microcents,
        chat=chat,
        run_id=run_id,
        follows=follows,
        tool=given.tool,
        family=given.family,
        input=given.input,
        max_microcents=max_microcents,
        now=now,
    )


async def get(context: UseCaseContext, account: str, job_id: str, where: ChatSelector) -> JobRecord:
    """Return a job in the chat that `where` names. Raises `job_not_found` and errors of `find_existing`."""
    return await context.read(lambda tx: _job_of(tx, account, job_id, where))


async def page_of_account(context: UseCaseContext, query: ListQuery) -> JobPage:
    """Return a page of an account's jobs.

    Raises `invalid_chat`, `chat_not_found`, and, if `query.after` is not a job of the account, `job_not_found`.
    """

    def use(tx: Tx) -> JobPage:
        if query.chat is not None:
            chats.get_of_account(tx, query.chat, query.account)
        if query.after is not None:
            last = job_records.get(tx, query.after)
            if last is None or last.account != query.account:
                raise ApiError("job_not_found")
        found, more = job_records.page(tx, query)
        return JobPage(data=found, next_after=found[-1].job_id if more else None)

    return await context.read(use)


def _job_of(tx: Tx, account: str, job_id: str, where: ChatSelector) -> JobRecord:
    chat = chats.find_existing(tx, where, account)
    record = job_records.get(tx, job_id)
    if record is None or record.account != account or chat is None or record.chat != chat.id:
        raise ApiError("job_not_found")
    return record


async def result(context: UseCaseContext, account: str, job_id: str, where: ChatSelector) -> Job:
    """Return the finished job with its files or its data. Raises `job_not_finished`, and what `get` raises."""
    now = context.now

    def use(tx: Tx) -> Job:
        record = _job_of(tx, account, job_id, where)
        if record.ended_at is None:
            raise ApiError("job_not_finished", f"The job has the status {record.status}. Try again when it has ended.")
        answer = record.public(now)
        answer.kind = record.kind
        if record.kind == "files":
            found = (file_records.get(tx, record.chat, path) for path in record.files)
            answer.files = [file.public() for file in found if file is not None]
        return answer

    return await context.read(use)


async def cancel(context: UseCaseContext, account: str, job_id: str, where: ChatSelector) -> JobRecord:
    """Ask a job, or the run whose handle it is, to stop. This is safe to repeat. Raises what `get` raises."""
    now = context.now

    def use(tx: Tx) -> JobRecord:
        record = _job_of(tx, account, job_id, where)
        return record if record.follows is not None else _request_stop(tx, record, now)

    record = await context.write(use)
    if record.follows is not None:
        await runs.cancel(context, account, record.follows)
        record = await find(context, job_id) or record
    context.workers.interrupt_job(record.job_id)
    return record


async def stop(context: UseCaseContext, job_id: str, run_id: str, attempt: int) -> None:
    """Request that a job stop because its run is ending. Do nothing if another attempt has taken over the run."""
    now = context.now

    def use(tx: Tx) -> bool:
        job, run = job_records.get(tx, job_id), run_records.get(tx, run_id)
        if job is None or run is None or run.attempt != attempt:
            return False
        _request_stop(tx, job, now)
        return True

    if await context.write(use):
        context.workers.interrupt_job(job_id)


def _request_stop(tx: Tx, record: JobRecord, now: int) -> JobRecord:
    """End a queued job. Mark a running job as `cancelling`: its worker ends the job once the tool has stopped."""
    if record.status == "queued":
        return job_records.finish(tx, record.job_id, record.attempt, JobEnding("cancelled", []), now) or record
    return job_records.mark_cancelling(tx, record.job_id) or record


async def find(context: UseCaseContext, job_id: str) -> JobRecord | None:
    """Return the job, or None if it is unknown. It may belong to any account, so only workers may call this."""
    return await context.read(lambda tx: job_records.get(tx, job_id))


async def claim(context: UseCaseContext, job_id: str, queue_job: int | None = None) -> JobRecord | None:
    """Start a job, or restart an interrupted job, with the next attempt number.

    Return None if the job has ended or is being cancelled. With `queue_job`, also return None if the job's run has
    ended, or if another queue job dispatches the job now.
    """
    now = context.now

    def use(tx: Tx) -> JobRecord | None:
        if queue_job is not None:
            found = job_records.get(tx, job_id)
            if found is None or found.queue_job != queue_job or _has_run_ended(tx, found):
                return None
        return job_records.claim(tx, job_id, context.process, now)

    record = await context.write(use)
    if record is not None:
        context.signals.notify(job_id)
    return record


async def report(context: UseCaseContext, record: JobRecord, progress: dict[str, Any]) -> None:
    """Store the job's progress. Progress of an earlier attempt is ignored."""
    await context.write(lambda tx: job_records.progress(tx, record.job_id, record.attempt, progress))
    context.signals.notify(record.job_id)


async def hold(context: UseCaseContext, record: JobRecord, spent: int, tokens: int, charges: int) -> None:
    """Hold the job's cost so far (`spent`) and the most that its next call can cost: `tokens` and per-use `charges`.

    All amounts are in micro-cents. Raises `LostJob`, and `WorkFailure("limit_reached")` if the account or the key can't
    pay for the call.
    """
    now, of = context.now, (record.job_id, record.attempt)

    def use(tx: Tx) -> None:
        # First reduce the hold to the cost so far, as in `attempts.hold`.
        if not job_records.hold(tx, *of, spent, charges):
            raise LostJob(record.job_id)
        money.check_run(record.max_microcents, spent, tokens)
        money.check_more(tx, record, context.settings, now, tokens=tokens)
        job_records.hold(tx, *of, spent + tokens, charges)

    await context.write(use)


async def leave(context: UseCaseContext, record: JobRecord) -> None:
    """Leave an active job to another process or the next start. An orderly stop is not counted as a restart."""
    if context.process is None:
        await context.write(lambda tx: job_records.add_restarts(tx, record.job_id, -1))
    else:
        await context.write(lambda tx: process_records.queue_job(tx, record.job_id, record.attempt))


async def finish(context: UseCaseContext, job_id: str, attempt: int, ending: JobEnding) -> JobRecord | None:
    """End a job and record its charges. Return None if `attempt` is not the job's current attempt."""
    now = context.now

    def use(tx: Tx) -> JobRecord | None:
        record = job_records.finish(tx, job_id, attempt, ending, now)
        if record is not None:
            money.bill_charges(tx, record, ending.charges, now)
            money.bill_tokens(tx, record, ending.spent, now)
        return record

    record = await context.write(use)
    context.signals.notify(job_id)
    if record is None:
        context.metrics.fences_refused.add("job")
    return record


async def recover(context: UseCaseContext) -> list[JobRecord]:
    """End the jobs that can't continue after a crash. Return the other active jobs, which the caller must wake.

    A job can't continue if it was being cancelled, if it was interrupted too often, or if its run has ended. So recover
    runs first. Handles of runs stay unchanged, because they end with their runs.
    """
    now = context.now

    def use(tx: Tx) -> list[JobRecord]:
        # Release the holds of direct tool calls. They are not resumed, because their callers no longer wait.
        usage_records.end_direct_calls(tx)
        cut_off = [job for job in job_records.list_active(tx) if job.follows is None]
        return [job for job in cut_off if not end_or_count(tx, job, now)]

    return await context.write(use)


def end_or_count(tx: Tx, record: JobRecord, now: int) -> bool:
    """End an interrupted job that can't continue and return True. Otherwise count a restart and return False."""
    if record.status == "cancelling" or _has_run_ended(tx, record):
        ending = JobEnding("cancelled", [])
    elif record.restarts >= RESTARTS_MAX:
        error = {
            "code": "attempts_exhausted",
            "message": "The service was interrupted too often while it executed the job.",
        }
        ending = JobEnding("failed", [], error=error)
    else:
        job_records.add_restarts(tx, record.job_id, 1)
        return False
    job_records.finish(tx, record.job_id, record.attempt, ending, now)
    return True


def _has_run_ended(tx: Tx, job: JobRecord) -> bool:
    """Return whether the job belongs to a run that has ended."""
    run = run_records.get(tx, job.run_id) if job.run_id is not None else None
    return run is not None and run.ended_at is not None


async def wait_for_ask(context: UseCaseContext, job: JobRecord, until: float) -> JobRecord:
    """Wait for the end of the job's run, but not after the time `until` (ms). Return the job in its current state."""
    assert job.follows is not None
    run = await runs.find(context, job.follows)
    assert run is not None
    await runs.wait(context, run, until)
    return await find(context, job.job_id) or job
