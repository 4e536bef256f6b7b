"""Define the use cases of processes that share a database.

They send heartbeats, watch for changes by other processes, and queue stray runs and jobs again. A run or job is stray
if no living process will execute it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.service.accounts.accounts import digest
from agentsvc_nb.service.jobs import jobs
from agentsvc_nb.service.ports import Database, StoreUnusable, Tx
from agentsvc_nb.service.runs import attempts, observing, process_records
from agentsvc_nb.service.runs.process_records import ProcessRecord, State
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.service.use_cases import UseCaseContext

SWEEP_MAX: Final = 100
"""The maximum number of runs, and of jobs, that one call of `sweep` handles."""


@dataclass(frozen=True, slots=True)
class SweepCheck:
    """The result of `check_sweep`.

    Attributes:
        strays: whether there are stray runs or jobs.
        reads: whether this process, and no other one, must read the waiting documents.
    """

    strays: bool
    reads: bool


def check_contents(database: Database, contents: str) -> None:
    """Raise `StoreUnusable` if a living process stores the contents of files in another place than `contents`.

    Each process must find the contents of all files that the shared database lists.
    """
    others = {process.contents for process in database.read(process_records.list_living)} - {contents}
    if others:
        raise StoreUnusable(
            f"Another process on this database stores the contents of files in {min(others)}, but this process "
            f"stores them in {contents}: set the same AGENTSVC_BLOBS (s3://...) for all of them, or stop the "
            "other process first."
        )


async def record_start(context: UseCaseContext, process: ProcessRecord) -> None:
    """Record the first heartbeat of the process, and remove the processes that died long ago."""

    def use(tx: Tx) -> None:
        process_records.record_heartbeat(tx, process)
        process_records.remove_dead(tx)

    await context.write(use)


async def record_heartbeat(context: UseCaseContext, process: ProcessRecord, registrations: Collection[int]) -> None:
    """Record a heartbeat of the process and its queue workers."""
    await context.write(lambda tx: process_records.record_heartbeat(tx, process, registrations))


async def read_states(context: UseCaseContext, names: Collection[str]) -> list[State]:
    return await context.read_single(lambda tx: process_records.states(tx, names))


async def check_sweep(context: UseCaseContext, process: ProcessRecord, held: Collection[str]) -> SweepCheck:
    """Return whether there is work for `sweep`, and whether this process must read documents.

    `held` are the runs and jobs that this process executes.
    """

    def use(tx: Tx) -> SweepCheck:
        strays = process_records.list_stray_runs(tx, held, 1) or process_records.list_stray_jobs(tx, held, 1)
        workers = [each.id for each in process_records.list_living(tx) if each.works]
        return SweepCheck(bool(strays), workers[:1] == [process.id])

    return await context.read(use)


async def sweep(context: UseCaseContext, held: Collection[str]) -> None:
    """Queue stray runs and jobs again. End those that can't continue, as `attempts.recover` does."""
    now = context.now

    def use(tx: Tx) -> list[RunRecord | None]:
        living = process_records.list_living(tx)
        offered = sorted({model for each in living if each.works for model in each.models.splitlines()})
        ended: list[RunRecord | None] = []
        for run in process_records.list_stray_runs(tx, held, SWEEP_MAX):
            if (final := attempts.end_or_count(tx, run, offered, context.origin, now)) is not None:
                ended.append(final)
            else:
                process_records.queue_run(tx, run.run_id, run.attempt)
        for job in process_records.list_stray_jobs(tx, held, SWEEP_MAX):
            if not jobs.end_or_count(tx, job, now):
                process_records.queue_job(tx, job.job_id, job.attempt)
        return ended

    for record in await context.write(use):
        await observing.record_ended(context, record)


async def is_sign_in(context: UseCaseContext, token: str) -> bool:
    """Return whether `token` is the token in a living process's sign-in link."""
    if context.process is None:
        return False
    found = digest(token)
    return any(process.sign_in == found for process in await context.read_single(process_records.list_living))


async def record_end(context: UseCaseContext, process: ProcessRecord) -> None:
    await context.write(lambda tx: process_records.remove(tx, process.id))
