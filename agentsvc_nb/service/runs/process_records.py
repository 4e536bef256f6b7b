"""Rows of the processes that share a database, and what they ask of the queue. For PostgreSQL alone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.service import sql
from agentsvc_nb.service.jobs import job_records
from agentsvc_nb.service.jobs.job_records import JobRecord
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.runs import run_records
from agentsvc_nb.service.runs.run_records import RunRecord

_sql = sql.load("runs/processes")
DEAD_MS: Final = 9_000
"""A process, or a worker of the queue, that has not said for so long that it lives is dead."""
FORGET_MS: Final = 86_400_000
"""A process that is dead for a day won't come back to bill its direct calls."""


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """A process that lives. `works` (1): it executes runs and jobs; `models`: those that it has, a line each;
    `contents`: where its contents of files lie; `sign_in`: the digest of its sign-in link's token."""

    id: str
    works: int
    models: str
    contents: str
    sign_in: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """What others may have changed of a run or job: who executes it, its status, its events or progress so far, and
    the states of the calls in which the run waits for somebody."""

    name: str
    worker_id: str | None
    status: str
    progress: str
    calls: str | None


def live(tx: Tx, process: ProcessRecord, registrations: Collection[int] = ()) -> None:
    """Note that the process lives, for `DEAD_MS` from now, with the workers as which it is registered in the queue; and
    free what the direct calls of dead processes held."""
    tx.run(
        _sql["live"],
        process=process.id,
        works=process.works,
        models=process.models,
        contents=process.contents,
        sign_in=process.sign_in,
        dead_ms=DEAD_MS,
    )
    if registrations:
        tx.all(_sql["register"], registrations=list(registrations))
    tx.run(_sql["release_calls"])


def living(tx: Tx) -> list[ProcessRecord]:
    return [sql.record(ProcessRecord, row) for row in tx.all(_sql["living"])]


def forget(tx: Tx) -> None:
    """Remove the processes that died long ago, with what is left of their direct calls."""
    tx.run(_sql["forget"], after_ms=FORGET_MS)
    tx.run(_sql["forget_calls"])


def end(tx: Tx, process: str) -> None:
    tx.run(_sql["end"], process=process)


def stray_runs(tx: Tx, held: Collection[str], limit: int) -> list[RunRecord]:
    """Return active runs, oldest first, that no job of the queue carries, or one of a dead worker, or that wait for a
    model that no living process has; without those in `held`."""
    rows = tx.all(_sql["stray_runs"], held=list(held), limit=limit, dead_ms=DEAD_MS)
    return [run_records.read(row) for row in rows]


def stray_jobs(tx: Tx, held: Collection[str], limit: int) -> list[JobRecord]:
    """As `stray_runs`; also those that wait while their run has ended."""
    rows = tx.all(_sql["stray_jobs"], held=list(held), limit=limit, dead_ms=DEAD_MS)
    return [job_records.read(row) for row in rows]


def queue_run(tx: Tx, run_id: str, attempt: int) -> None:
    """Have a new job of the queue carry the run; nothing happens if `attempt` is no longer the run's."""
    tx.run(_sql["queue_run"], id=run_id, attempt=attempt)


def queue_job(tx: Tx, job_id: str, attempt: int) -> None:
    """As `queue_run`."""
    tx.run(_sql["queue_job"], id=job_id, attempt=attempt)


def states(tx: Tx, names: Collection[str]) -> list[State]:
    """Return the states of these runs and jobs."""
    return [sql.record(State, row) for row in tx.all(_sql["states"], names=list(names))]
