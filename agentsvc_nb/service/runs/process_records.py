"""Rows of the processes that share a database, and queries of their queue. For PostgreSQL only."""

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
"""A process or queue worker counts as dead if it has sent no heartbeat for this time."""
FORGET_MS: Final = 86_400_000
"""A process that has been dead for a day will not return to charge its direct calls."""


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """A live process.

    `works` is 1 if the process executes runs and jobs. `models` lists its models, one per line. `contents` is where it
    stores the contents of files. `sign_in` is the digest of the token in its sign-in link.
    """

    id: str
    works: int
    models: str
    contents: str
    sign_in: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """The state of a run or job, which other processes may have changed.

    `worker_id` names the process that executes the run or job. `progress` shows its events or progress so far. `calls`
    has the states of the calls for which the run waits.
    """

    name: str
    worker_id: str | None
    status: str
    progress: str
    calls: str | None


def live(tx: Tx, process: ProcessRecord, registrations: Collection[int] = ()) -> None:
    """Record a heartbeat of the process and its queue workers, valid for `DEAD_MS`. Release the holds of dead
    processes' direct calls.
    """
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
    """Remove the processes that died long ago, with their remaining direct calls."""
    tx.run(_sql["forget"], after_ms=FORGET_MS)
    tx.run(_sql["forget_calls"])


def end(tx: Tx, process: str) -> None:
    tx.run(_sql["end"], process=process)


def stray_runs(tx: Tx, held: Collection[str], limit: int) -> list[RunRecord]:
    """Return active runs that no living process will execute, oldest first, without those in `held`.

    Such a run has no queue job, has a queue job of a dead worker, or waits for a model that no living process offers.
    """
    rows = tx.all(_sql["stray_runs"], held=list(held), limit=limit, dead_ms=DEAD_MS)
    return [run_records.read(row) for row in rows]


def stray_jobs(tx: Tx, held: Collection[str], limit: int) -> list[JobRecord]:
    """Return stray jobs, as `stray_runs` does for runs. Also return jobs that still wait although their run has
    ended.
    """
    rows = tx.all(_sql["stray_jobs"], held=list(held), limit=limit, dead_ms=DEAD_MS)
    return [job_records.read(row) for row in rows]


def queue_run(tx: Tx, run_id: str, attempt: int) -> None:
    """Put the run into the queue again, as a new queue job. Do nothing if `attempt` is not the run's current one."""
    tx.run(_sql["queue_run"], id=run_id, attempt=attempt)


def queue_job(tx: Tx, job_id: str, attempt: int) -> None:
    """Put the job into the queue again, as `queue_run` does for runs."""
    tx.run(_sql["queue_job"], id=job_id, attempt=attempt)


def states(tx: Tx, names: Collection[str]) -> list[State]:
    return [sql.record(State, row) for row in tx.all(_sql["states"], names=list(names))]
