"""Read and write rows of jobs (background tool calls). A worker writes only if its attempt is the current one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agentsvc_nb.service import lists
from agentsvc_nb.service.accounts.usage_records import ModelUsage, Pool
from agentsvc_nb.service.lists import ListQuery
from agentsvc_nb.service.new_ids import new_id
from agentsvc_nb.service.ports import Row, Tx
from agentsvc_nb.service.sql import fetch_one, load, public, record, wire_value
from agentsvc_nb.wire.runs import Usage
from agentsvc_nb.wire.tools import Job, JobAccepted, JobEntry

_ENTRY_COLUMNS: Final = [name for name in JobEntry.model_fields if name != "object"]
_sql = load("jobs/jobs", entry=_ENTRY_COLUMNS)
POLL_MS = (200, 5_000)
"""The shortest and longest poll interval (ms) that a job recommends. Between them, it is a tenth of the job's age."""


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job's row. `public` returns its wire model. Times are in ms."""

    job_id: str
    account: str
    key_id: str
    chat: str
    run_id: str | None
    """The run that submitted the job, if any."""
    follows: str | None
    """The run whose status and result this job copies, if the job is the handle of an ask's run."""
    tool: str
    family: str
    input: str
    """The tool's input as JSON text, which may have a megabyte. `parse_input` parses it."""
    status: str
    attempt: int
    progress: dict[str, Any]
    error: dict[str, str] | None
    content: list[dict[str, Any]]
    data: dict[str, Any] | None
    kind: str | None
    files: list[str]
    restarts: int
    created_at: int
    started_at: int | None
    ended_at: int | None
    pool: Pool
    hold_microcents: int
    charge_hold_microcents: int
    max_microcents: int | None
    """The most that the job's model calls may cost, or None for no limit.

    This is what was left of the limit of the job's run when the job was submitted.
    """
    input_tokens: int
    output_tokens: int
    cost_microcents: int
    worker_id: str | None
    """The process that executes the job or last executed it, if several processes share the database."""
    queue_job: int | None
    """The queue job that dispatches this job. None if only one process uses the database, or for a run's handle."""

    def parse_input(self) -> dict[str, Any]:
        """Parse the tool's input."""
        found: dict[str, Any] = json.loads(self.input)
        return found

    def accepted(self) -> JobAccepted:
        return public(JobAccepted, self, status="queued", recommended_poll_after_ms=POLL_MS[0])

    def public(self, now: int) -> Job:
        """Return the job as clients receive it, without its result."""
        soonest, latest = POLL_MS
        return public(
            Job,
            self,
            is_error=self.error is not None,
            recommended_poll_after_ms=max(soonest, min((now - self.created_at) // 10, latest)),
            usage=public(Usage, self),
            kind=None,
            files=None,
        )


@dataclass(frozen=True, slots=True)
class JobEnding:
    """How a job ended, with its result and its usage."""

    status: str
    content: list[dict[str, Any]]
    data: dict[str, Any] | None = None
    error: dict[str, str] | None = None
    kind: str = "inline"
    """`inline` if the result is in `content` and `data`, or `files` if it is in the files."""
    files: tuple[str, ...] = ()
    """The paths of the files that the job wrote into its chat."""
    charges: Mapping[str, int] = field(default_factory=dict)
    """Per-use charges: the quantity of each kind (`accounts.money.PER_USE`)."""
    spent: ModelUsage = field(default_factory=ModelUsage)
    """The tokens and cost of the model calls of the job's tool."""


def insert(tx: Tx, *, input: dict[str, Any], **columns: str | int | None) -> JobRecord:
    """Insert a queued job with these columns."""
    text = json.dumps(input, ensure_ascii=False)
    return read(fetch_one(tx, _sql["insert"], job_id=new_id("job"), input=text, **columns))


def get(tx: Tx, job_id: str) -> JobRecord | None:
    return _record(tx.one(_sql["get"], job_id=job_id))


def list_by_chat(tx: Tx, chat: str, limit: int) -> list[JobRecord]:
    """Return the chat's jobs, latest first, without the jobs of asks."""
    return [read(row) for row in tx.all(_sql["of_chat"], chat=chat, limit=limit)]


def get_handle(tx: Tx, run_id: str) -> JobRecord | None:
    """Return the run's handle (the job of the ask that started the run), or None if no ask started it."""
    return _record(tx.one(_sql["following"], run_id=run_id))


def update_handle(tx: Tx, run_id: str, status: str, started_at: int | None) -> None:
    """Copy the run's status to the run's handle (the job of the ask that started the run), if there is one."""
    tx.run(_sql["follow"], run_id=run_id, status=status, started_at=started_at)


def list_active(tx: Tx) -> list[JobRecord]:
    return [read(row) for row in tx.all(_sql["active"])]


def claim(tx: Tx, job_id: str, process: str | None, now: int) -> JobRecord | None:
    """Begin the next attempt at a queued or running job, in this process. Return None if the job has another status."""
    return _record(tx.one(_sql["claim"], job_id=job_id, process=process, now=now))


def add_restarts(tx: Tx, job_id: str, by: int) -> None:
    """Add `by` to the job's restarts: 1 for a recovery, -1 before an orderly stop, which must not count."""
    tx.run(_sql["restarted"], job_id=job_id, by=by)


def progress(tx: Tx, job_id: str, attempt: int, value: dict[str, Any]) -> bool:
    return tx.run(_sql["progress"], job_id=job_id, attempt=attempt, progress=json.dumps(value)) == 1


def hold(tx: Tx, job_id: str, attempt: int, tokens: int, charges: int) -> bool:
    """Set the job's held micro-cents. Return False if `attempt` is not current or the job has ended."""
    return tx.run(_sql["hold"], job_id=job_id, attempt=attempt, tokens=tokens, charges=charges) == 1


def mark_cancelling(tx: Tx, job_id: str) -> JobRecord | None:
    return _record(tx.one(_sql["cancelling"], job_id=job_id))


def finish(tx: Tx, job_id: str, attempt: int, ending: JobEnding, now: int) -> JobRecord | None:
    row = tx.one(
        _sql["finish"],
        job_id=job_id,
        attempt=attempt,
        now=now,
        status=ending.status,
        error=None if ending.error is None else json.dumps(ending.error, ensure_ascii=False),
        content=json.dumps(ending.content, ensure_ascii=False),
        data=None if ending.data is None else json.dumps(ending.data, ensure_ascii=False),
        kind=ending.kind,
        files=json.dumps(ending.files, ensure_ascii=False),
        input_tokens=ending.spent.input_tokens,
        output_tokens=ending.spent.output_tokens,
        cost_microcents=ending.spent.cost_microcents,
    )
    return _record(row)


def get_usage_in(tx: Tx, run_id: str) -> ModelUsage:
    """Return the tokens and cost of the model calls of all jobs that the run submitted."""
    return ModelUsage(**fetch_one(tx, _sql["spent_in"], run_id=run_id))


def is_active_in(tx: Tx, run_id: str) -> bool:
    """Return whether any job that the run submitted is still active."""
    return tx.one(_sql["active_in"], run_id=run_id) is not None


def _record(row: Row | None) -> JobRecord | None:
    return None if row is None else read(row)


def read(row: Row) -> JobRecord:
    """Return the record for a row, which must have all columns."""
    return record(JobRecord, row, **_parsed(row, "progress", "error", "content", "data", "files"))


def _parsed(row: Row, *columns: str) -> dict[str, Any]:
    return {name: row[name] and json.loads(row[name]) for name in columns}


def page(tx: Tx, query: ListQuery) -> tuple[list[JobEntry], bool]:
    """Return a page of jobs, and whether there are further jobs. Handles of runs are left out."""
    rows, more = lists.page(tx, _sql["list"], query)
    documents = [{**row, **_parsed(row, "error", "progress")} for row in rows]
    return [JobEntry(**{name: wire_value(name, row[name]) for name in _ENTRY_COLUMNS}) for row in documents], more
