"""Read and write the rows of processes that share a PostgreSQL database, and query the queue of their runs and jobs.

A process is alive while its last heartbeat is at most `DEAD_MS` old, according to the database's clock.
"""

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
"""A process or a queue worker is dead if its last heartbeat is older than this."""
FORGET_MS: Final = 86_400_000
"""The time after which a dead process is removed, because it will not return to charge its direct calls."""


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """A process that is alive.

    Attributes:
        works: 1 if the process executes runs and jobs, otherwise 0.
        models: the models of the process, one per line.
        contents: the place where the process stores the contents of files.
        sign_in: the digest of the token in the process's sign-in link.
    """

    id: str
    works: int
    models: str
    contents: str
    sign_in: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """The state of a run or job, to notice changes by other processes.

    Attributes:
        name: the id of the run or job.
        worker_id: the process that executes the run or job.
        progress: the progress of the job, or the id of the run's last event.
        calls: the states of the calls for which the run waits.
    """

    name: str
    worker_id: str | None
    status: str
    progress: str
    calls: str | None


def record_heartbeat(tx: Tx, process: ProcessRecord, registrations: Collection[int] = ()) -> None:
    """Record a heartbeat of the process and its workers. Release the money held for direct calls of dead processes."""
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


def list_living(tx: Tx) -> list[ProcessRecord]:
    return [sql.record(ProcessRecord, row) for row in tx.all(_sql["living"])]


def remove_dead(tx: Tx) -> None:
    """Remove the processes that died more than `FORGET_MS` ago, and their direct calls that never ended."""
    tx.run(_sql["forget"], after_ms=FORGET_MS)
    tx.run(_sql["forget_calls"])


def remove(tx: Tx, process: str) -> None:
    tx.run(_sql["end"], process=process)


def list_stray_runs(tx: Tx, held: Collection[str], limit: int) -> list[RunRecord]:
    """Return active runs that no living process will execute, oldest first. Leave out the runs in `held`.

    Such a run has no queue job, has a queue job of a dead worker, or waits for a model that no living process offers.
    """
    rows = tx.all(_sql["stray_runs"], held=list(held), limit=limit, dead_ms=DEAD_MS)
    return [run_records.from_row(row) for row in rows]


def list_stray_jobs(tx: Tx, held: Collection[str], limit: int) -> list[JobRecord]:
    """Return active jobs that no living process will execute, or whose run has ended.

    Leave out the jobs in `held`.
    """
    rows = tx.all(_sql["stray_jobs"], held=list(held), limit=limit, dead_ms=DEAD_MS)
    return [job_records.read(row) for row in rows]


def queue_run(tx: Tx, run_id: str, attempt: int) -> None:
    """Queue the run again. Do nothing if `attempt` is no longer the run's current attempt."""
    tx.run(_sql["queue_run"], id=run_id, attempt=attempt)


def queue_job(tx: Tx, job_id: str, attempt: int) -> None:
    """Queue the job again. Do nothing if `attempt` is no longer the job's current attempt."""
    tx.run(_sql["queue_job"], id=job_id, attempt=attempt)


def states(tx: Tx, names: Collection[str]) -> list[State]:
    return [sql.record(State, row) for row in tx.all(_sql["states"], names=list(names))]
