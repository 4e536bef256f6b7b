"""Leases as rows: which process of those that share a database executes a run or job, and until when nobody else may
(docs/decisions/0057-leases.md). For PostgreSQL alone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.service.jobs import job_records
from agentsvc_nb.service.jobs.job_records import JobRecord
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.runs import run_records
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.service.sql import load, record

_sql = load("runs/leases")
LEASE_MS: Final = 9_000
"""With the look that finds it, another process has the work of a dead one within ten seconds."""
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
class Free:
    """What nobody holds, and in how many ms the next lease of another process ends, unless it is renewed."""

    runs: list[str]
    jobs: list[str]
    next_end_ms: int | None


def take_run(tx: Tx, run_id: str, worker: str, models: Collection[str]) -> RunRecord | None:
    """Give an active run to the worker, as it is; None when another holds it, or it has ended, or is of a model that
    only another process has."""
    row = tx.one(_sql["take_run"], id=run_id, worker=worker, models=list(models), lease_ms=LEASE_MS)
    return None if row is None else run_records.read(row)


def claim_run(tx: Tx, run_id: str, worker: str, models: Collection[str], now: int) -> RunRecord | None:
    """Mark a queued run of one of these models, which nobody has had yet, as running and the worker's; None when it is
    not such a run."""
    row = tx.one(_sql["claim_run"], id=run_id, worker=worker, models=list(models), lease_ms=LEASE_MS, now=now)
    return None if row is None else run_records.read(row)


def take_job(tx: Tx, job_id: str, worker: str) -> JobRecord | None:
    """As `take_run`; None for the handle of a run, too."""
    row = tx.one(_sql["take_job"], id=job_id, worker=worker, lease_ms=LEASE_MS)
    return None if row is None else job_records.read(row)


def renew(tx: Tx, worker: str, run_names: Collection[str], job_names: Collection[str]) -> set[str]:
    """Hold those of these runs and jobs that the worker still has for `LEASE_MS` from now; their names."""
    kept: set[str] = set()
    for name, names in (("renew_runs", run_names), ("renew_jobs", job_names)):
        if names:
            rows = tx.all(_sql[name], names=list(names), worker=worker, lease_ms=LEASE_MS)
            kept |= {row["name"] for row in rows}
    return kept


def leave_run(tx: Tx, run_id: str, worker: str) -> None:
    """Leave the worker's run to whoever takes it next; that does not count against `RESTARTS_MAX`."""
    tx.run(_sql["leave_run"], id=run_id, worker=worker)


def leave_job(tx: Tx, job_id: str, worker: str) -> None:
    tx.run(_sql["leave_job"], id=job_id, worker=worker)


def free(
    tx: Tx,
    worker: str,
    models: Collection[str],
    run_names: Collection[str],
    job_names: Collection[str],
    limit: int,
    *,
    expired: bool,
) -> Free:
    """What the worker may take besides what it has, `run_names` and `job_names`: at most `limit` each, oldest first.
    `expired`: also that of others whose lease has run out."""
    given = {"worker": worker, "limit": limit, "expired": expired}
    found_runs = tx.all(_sql["free_runs"], names=list(run_names), models=list(models), **given)
    found_jobs = tx.all(_sql["free_jobs"], names=list(job_names), **given)
    ends = tx.one(_sql["next_end"], worker=worker)
    next_end = None if ends is None else ends["ms"]
    return Free([row["name"] for row in found_runs], [row["name"] for row in found_jobs], next_end)


def cancelling(tx: Tx, run_names: Collection[str], job_names: Collection[str]) -> set[str]:
    """Those of these runs and jobs that are to stop."""
    asked: set[str] = set()
    for name, names in (("cancelling_runs", run_names), ("cancelling_jobs", job_names)):
        if names:
            asked |= {row["name"] for row in tx.all(_sql[name], names=list(names))}
    return asked


def live(tx: Tx, process: ProcessRecord) -> None:
    """Note that the process lives, for `LEASE_MS` from now; and free what the direct calls of dead ones held."""
    tx.run(
        _sql["live"],
        worker=process.id,
        works=process.works,
        models=process.models,
        contents=process.contents,
        sign_in=process.sign_in,
        lease_ms=LEASE_MS,
    )
    tx.run(_sql["release_calls"])


def living(tx: Tx) -> list[ProcessRecord]:
    return [record(ProcessRecord, row) for row in tx.all(_sql["living"])]


def forget(tx: Tx) -> None:
    """Remove the processes that died long ago, with what is left of their direct calls."""
    tx.run(_sql["forget"], after_ms=FORGET_MS)
    tx.run(_sql["forget_calls"])


def end(tx: Tx, worker: str) -> None:
    """The process ends: what it still has is free at once."""
    for name in ("end_runs", "end_jobs", "end_process"):
        tx.run(_sql[name], worker=worker)
