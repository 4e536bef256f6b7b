"""Record metrics and spans of runs after the runs' changes are committed, and count the active work."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Final

from agentsvc_nb.service import payloads
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.runs import process_records, run_records
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.service.sql import fetch_one, load
from agentsvc_nb.service.telemetry import tracing
from agentsvc_nb.service.telemetry.tracing import FinishedSpan
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.wire.runs import TERMINAL

log = logging.getLogger(__name__)
_sql = load("runs/counts")
STATES: Final = ("queued", "running", "cancelling")
CONTENT_CHARS: Final = 8_000
_UNRECORDED = "the spans of run %s could not be recorded"


@dataclass(frozen=True, slots=True)
class ActiveWork:
    """The number of active runs (or jobs) by status, and the creation time of the oldest queued run or job (ms)."""

    by_status: dict[str, int]
    queued_since: int | None


@dataclass(frozen=True, slots=True)
class ServiceLoad:
    """The state of the service for its operators.

    It contains the active runs and jobs, the number of calls that wait for approval, the size of the database, and the
    number of processes that execute runs.
    """

    runs: ActiveWork
    jobs: ActiveWork
    approvals: int
    database_bytes: int
    workers: int


async def measure_load(context: UseCaseContext) -> ServiceLoad:
    def active(tx: Tx, work: str) -> ActiveWork:
        found = {row["status"]: row for row in tx.all(_sql[work])}
        by_status = {status: found[status]["works"] if status in found else 0 for status in STATES}
        return ActiveWork(by_status, found["queued"]["oldest"] if "queued" in found else None)

    def read(tx: Tx) -> ServiceLoad:
        return ServiceLoad(
            active(tx, "runs"),
            active(tx, "jobs"),
            approvals=fetch_one(tx, _sql["approvals"])["works"],
            database_bytes=fetch_one(tx, _sql["database_bytes"])["bytes"],
            workers=1 if context.process is None else sum(process.works for process in process_records.list_living(tx)),
        )

    return await context.read(read)


async def touch(context: UseCaseContext) -> None:
    """Check with a small write that the database responds and has room. Raises what a write raises."""
    await context.write(lambda tx: tx.run(_sql["touch"], now=str(context.now)))


def attempt_span(run: RunRecord, attempt: int | None = None) -> str | None:
    """Return the `traceparent` of an attempt's span. Without `attempt`, use the run's current attempt."""
    return tracing.derive(run.traceparent, f"{run.run_id}/{attempt or run.attempt}")


async def record_resumed(context: UseCaseContext, run: RunRecord) -> None:
    """Record in the metrics that an attempt has taken over the run, and record the span of the interrupted attempt.

    The interrupted attempt can't record its span, because its process may have been killed. The span ends with the
    attempt's last event, so `run` must be the record from before the event `run.resumed`.
    """
    context.metrics.attempts_resumed.add()
    if context.tracing.on and run.traceparent is not None:
        try:
            await _record_attempt(context, run, run.attempt - 1, error="interrupted")
        except Exception:
            log.exception(_UNRECORDED, run.run_id)


async def record_ended(context: UseCaseContext, run: RunRecord | None) -> None:
    """Record the metrics and spans of a run that has ended. Do nothing for None or for a run that is still active."""
    if run is None or run.status not in TERMINAL:
        return
    context.metrics.count_run(run.status, run.last_error)
    if context.tracing.on and run.traceparent is not None:
        try:
            await _record_run(context, run)
        except Exception:
            log.exception(_UNRECORDED, run.run_id)


async def _record_run(context: UseCaseContext, run: RunRecord) -> None:
    assert run.traceparent is not None
    if run.attempt:
        await _record_attempt(context, run, run.attempt, run.last_error)
    own = tracing.derive(run.traceparent, run.run_id)
    assert own is not None
    used = usage_attributes(run.input_tokens, run.output_tokens, run.cost_microcents)
    found = {**attributes(run), **used, "agentsvc.run.status": run.status}
    times = (run.created_at, run.ended_at or context.now)
    context.tracing.record(FinishedSpan("run", own, run.traceparent, *times, found, run.last_error))


async def _record_attempt(context: UseCaseContext, run: RunRecord, attempt: int, error: str | None) -> None:
    """Record the span of an attempt.

    The span ends with the run's last event. It links to the span of the previous attempt, if there is one.
    """

    def read(tx: Tx) -> tuple[int | None, int | None, str | None]:
        last = tx.one(_sql["event_time"], run_id=run.run_id, id=run.last_event)
        began = run.started_at
        if attempt > 1:
            resumed = tx.one(_sql["last_resumed"], run_id=run.run_id, id=run.last_event)
            began = None if resumed is None else resumed["created_at"]
        message = run_records.get_message(tx, run.run_id) if context.tracing.content else None
        return began, None if last is None else last["created_at"], message

    began, last, message = await context.read(read)
    own, parent = attempt_span(run, attempt), tracing.derive(run.traceparent, run.run_id)
    assert own is not None
    assert parent is not None
    began = began or run.created_at
    found: dict[str, Any] = {**attributes(run), "gen_ai.operation.name": "invoke_agent", "agentsvc.attempt": attempt}
    if message is not None:
        found["gen_ai.input.messages"] = encode_message("user", message)
        if run.output is not None:
            found["gen_ai.output.messages"] = encode_message("assistant", run.output)
    link = attempt_span(run, attempt - 1) if attempt > 1 else None
    context.tracing.record(FinishedSpan("invoke_agent", own, parent, began, last or began, found, error, link))


def attributes(run: RunRecord) -> dict[str, str | int]:
    """Return the attributes that all spans of a run have."""
    provider, _, model = run.model.rpartition(":")
    return {
        "run_id": run.run_id,
        "gen_ai.conversation.id": run.chat,
        "gen_ai.provider.name": provider or "agentsvc",
        "gen_ai.request.model": model,
    }


def usage_attributes(input_tokens: int, output_tokens: int, microcents: int) -> dict[str, int]:
    return {
        "gen_ai.usage.input_tokens": input_tokens,
        "gen_ai.usage.output_tokens": output_tokens,
        "agentsvc.cost_microcents": microcents,
    }


def encode_message(role: str, text: str) -> str:
    """Encode a message as a span attribute."""
    return payloads.encode([{"role": role, "parts": [{"type": "text", "content": truncate(text)}]}])


def truncate(content: str) -> str:
    """Truncate a text for a span. Thousands of spans may wait in memory while the collector is unavailable."""
    return content if len(content) <= CONTENT_CHARS else content[:CONTENT_CHARS] + payloads.SHORTENED
