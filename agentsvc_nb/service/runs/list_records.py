"""Pages of an account's runs and jobs, without what they came to."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.service.ports import Row, Tx
from agentsvc_nb.service.runs import run_records
from agentsvc_nb.service.sql import load
from agentsvc_nb.service.times import rfc3339, rfc3339_or_none
from agentsvc_nb.wire.runs import RunEntry, Usage
from agentsvc_nb.wire.tools import JobEntry, Progress, ToolError

MESSAGE_CHARS: Final = 200
"""Of a run's message that a list shows."""

_sql = load("runs/lists")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which part of an account's work: of this chat, with this status, before the one with the id `after` (None: from
    the newest on), at most so many."""

    account: str
    chat: str | None
    status: str | None
    after: str | None
    limit: int


def of_runs(tx: Tx, wanted: Wanted) -> list[RunEntry]:
    return [_run(tx, row) for row in _rows(tx, "runs", wanted)]


def of_jobs(tx: Tx, wanted: Wanted) -> list[JobEntry]:
    """Without those that are handles of runs."""
    return [_job(row) for row in _rows(tx, "jobs", wanted)]


def _rows(tx: Tx, work: str, wanted: Wanted) -> list[Row]:
    where = {"account": wanted.account, "chat": wanted.chat, "status": wanted.status, "after": wanted.after}
    return tx.all(_sql[work], **where, limit=wanted.limit)


def _run(tx: Tx, row: Row) -> RunEntry:
    return RunEntry(
        run_id=row["run_id"],
        status=row["status"],
        chat=row["chat"],
        project=row["project"],
        message=run_records.typed_beginning(tx, row["run_id"], MESSAGE_CHARS),
        model=row["model"],
        steps=row["steps"],
        usage=Usage(**{name: row[name] for name in ("input_tokens", "output_tokens", "cost_microcents")}),
        last_error=row["last_error"],
        created_at=rfc3339(row["created_at"]),
        started_at=rfc3339_or_none(row["started_at"]),
        ended_at=rfc3339_or_none(row["ended_at"]),
    )


def _job(row: Row) -> JobEntry:
    return JobEntry(
        job_id=row["job_id"],
        tool=row["tool"],
        family=row["family"],
        chat=row["chat"],
        status=row["status"],
        error=None if row["error"] is None else ToolError(**json.loads(row["error"])),
        progress=Progress(**json.loads(row["progress"])),
        created_at=rfc3339(row["created_at"]),
        started_at=rfc3339_or_none(row["started_at"]),
        ended_at=rfc3339_or_none(row["ended_at"]),
    )
