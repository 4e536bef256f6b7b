"""What a process does so that others may share its database (docs/decisions/0057-leases.md): say that it lives, keep
what it executes, and find what nobody executes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.service.accounts.accounts import digest
from agentsvc_nb.service.ports import Database, StoreUnusable, Tx
from agentsvc_nb.service.runs import lease_records
from agentsvc_nb.service.runs.lease_records import ProcessRecord
from agentsvc_nb.service.use_cases import UseCaseContext

LOOK_MAX: Final = 100
"""The most runs, and the most jobs, that one look finds."""


@dataclass(frozen=True, slots=True)
class InHand:
    """The names of the runs and jobs that a process has; `stoppable`: those whose work it can interrupt."""

    runs: Collection[str]
    jobs: Collection[str]
    stoppable: Collection[str]


@dataclass(frozen=True, slots=True)
class Look:
    """What a process finds: runs and jobs to take, those of its own that are to stop, whether it is the one that reads
    the documents that wait, and in how many ms the next lease of another ends."""

    runs: list[str]
    jobs: list[str]
    stopping: set[str]
    reads: bool
    next_end_ms: int | None

    @property
    def full(self) -> bool:
        """True if there may be more to take."""
        return LOOK_MAX in (len(self.runs), len(self.jobs))


def check_contents(database: Database, contents: str) -> None:
    """Raise `StoreUnusable` if a process with other contents of files lives: rows of one would name what only the other
    has."""
    others = {process.contents for process in database.read(lease_records.living)} - {contents}
    if others:
        raise StoreUnusable(
            f"Another process works with this database and keeps the contents of files in {min(others)}, this one in "
            f"{contents}: give all of them the same AGENTSVC_BLOBS (s3://...), or end the other one first."
        )


async def begin(context: UseCaseContext, process: ProcessRecord) -> None:
    """Say that the process lives, and forget those that died long ago."""

    def use(tx: Tx) -> None:
        lease_records.live(tx, process)
        lease_records.forget(tx)

    await context.write(use)


async def renew(context: UseCaseContext, process: ProcessRecord, in_hand: InHand) -> set[str]:
    """Say that the process lives, and keep what it has; of what it can interrupt, that which it has lost."""

    def use(tx: Tx) -> set[str]:
        lease_records.live(tx, process)
        return lease_records.renew(tx, process.id, in_hand.runs, in_hand.jobs)

    kept = await context.write(use)
    return set(in_hand.stoppable) - kept


async def look(
    context: UseCaseContext, process: ProcessRecord, in_hand: InHand, most: int = LOOK_MAX, *, expired: bool = True
) -> Look:
    """What there is for the process to do: at most `most` runs, and as many jobs; with `expired` also what others had
    whose lease has run out."""

    def use(tx: Tx) -> Look:
        models = process.models.splitlines()
        free = lease_records.free(tx, process.id, models, in_hand.runs, in_hand.jobs, most, expired=expired)
        stopping = lease_records.cancelling(tx, in_hand.runs, in_hand.jobs) & set(in_hand.stoppable)
        workers = [each.id for each in lease_records.living(tx) if each.works]
        return Look(free.runs, free.jobs, stopping, workers[:1] == [process.id], free.next_end_ms)

    return await context.read(use)


async def workers(context: UseCaseContext) -> list[ProcessRecord]:
    """The processes that live and execute runs."""
    return [process for process in await context.read_single(lease_records.living) if process.works]


async def is_sign_in(context: UseCaseContext, token: str) -> bool:
    """True if it is the token in the sign-in link of a process that lives."""
    if context.process is None:
        return False
    found = digest(token)
    return any(process.sign_in == found for process in await context.read_single(lease_records.living))


async def end(context: UseCaseContext, process: ProcessRecord) -> None:
    """Say that the process ends: what it still has is free for others."""
    await context.write(lambda tx: lease_records.end(tx, process.id))
