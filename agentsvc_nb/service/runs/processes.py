"""What a process does so that others may share its database: say that it lives, see what others change, and have
the queue carry what nobody executes."""

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
"""The most runs, and the most jobs, that one sweep finds."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a process finds: whether runs or jobs are astray, and whether it is the one that reads the documents that
    wait."""

    strays: bool
    reads: bool


def check_contents(database: Database, contents: str) -> None:
    """Raise `StoreUnusable` if a process with other contents of files lives: rows of one would name what only the other
    has."""
    others = {process.contents for process in database.read(process_records.living)} - {contents}
    if others:
        raise StoreUnusable(
            f"Another process works with this database and keeps the contents of files in {min(others)}, this one in "
            f"{contents}: give all of them the same AGENTSVC_BLOBS (s3://...), or end the other one first."
        )


async def begin(context: UseCaseContext, process: ProcessRecord) -> None:
    """Say that the process lives, and forget those that died long ago."""

    def use(tx: Tx) -> None:
        process_records.live(tx, process)
        process_records.forget(tx)

    await context.write(use)


async def live(context: UseCaseContext, process: ProcessRecord, registrations: Collection[int]) -> None:
    """Say that the process lives, with the workers as which it is registered in the queue."""
    await context.write(lambda tx: process_records.live(tx, process, registrations))


async def states(context: UseCaseContext, names: Collection[str]) -> list[State]:
    """Return the states of these runs and jobs."""
    return await context.read_single(lambda tx: process_records.states(tx, names))


async def look(context: UseCaseContext, process: ProcessRecord, held: Collection[str]) -> Sweep:
    """Look for what `sweep` would find; `held` are the runs and jobs that the process executes."""

    def use(tx: Tx) -> Sweep:
        strays = process_records.stray_runs(tx, held, 1) or process_records.stray_jobs(tx, held, 1)
        workers = [each.id for each in process_records.living(tx) if each.works]
        return Sweep(bool(strays), workers[:1] == [process.id])

    return await context.read(use)


async def sweep(context: UseCaseContext, held: Collection[str]) -> None:
    """Have the queue carry again what nobody executes, and end what cannot go on, as `attempts.recover` does."""
    now = context.now

    def use(tx: Tx) -> list[RunRecord | None]:
        living = process_records.living(tx)
        offered = sorted({model for each in living if each.works for model in each.models.splitlines()})
        ended: list[RunRecord | None] = []
        for run in process_records.stray_runs(tx, held, SWEEP_MAX):
            if (final := attempts.end_or_count(tx, run, offered, context.origin, now)) is not None:
                ended.append(final)
            else:
                process_records.queue_run(tx, run.run_id, run.attempt)
        for job in process_records.stray_jobs(tx, held, SWEEP_MAX):
            if not jobs.end_or_count(tx, job, now):
                process_records.queue_job(tx, job.job_id, job.attempt)
        return ended

    for record in await context.write(use):
        await observing.ended(context, record)


async def is_sign_in(context: UseCaseContext, token: str) -> bool:
    """True if it is the token in the sign-in link of a process that lives."""
    if context.process is None:
        return False
    found = digest(token)
    return any(process.sign_in == found for process in await context.read_single(process_records.living))


async def end(context: UseCaseContext, process: ProcessRecord) -> None:
    """Say that the process ends."""
    await context.write(lambda tx: process_records.end(tx, process.id))
