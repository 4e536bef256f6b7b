"""Use cases and workers on a real database, without a service around them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.agents.scripted import Scripted
from agentsvc_nb.documents.engine.process import TableProcess
from agentsvc_nb.documents.schemas import SchemaValidator
from agentsvc_nb.service.accounts import accounts
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.ports import Clock
from agentsvc_nb.service.ports import DatabaseEngine as Engine
from agentsvc_nb.service.runner.jobs import JobRunner
from agentsvc_nb.service.runner.runs import RunRunner
from agentsvc_nb.service.runner.signals import LocalSignals
from agentsvc_nb.service.runner.storage import BackgroundReader, ServiceClock, Storage
from agentsvc_nb.service.runs import attempts, event_records, runs
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.service.runs.runs import Start
from agentsvc_nb.service.store.blobs import LocalBlobs
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.port import Tool

NOW: Final = 1_700_000_000_000


class SetClock:
    """A clock that a test moves."""

    def __init__(self, now: int) -> None:
        self.ms = now

    def now(self) -> int:
        return self.ms


class NoWorkers:
    """Nobody executes anything."""

    def wake_run(self, run_id: str) -> None: ...
    def wake_job(self, job_id: str) -> None: ...
    def wake_readings(self) -> None: ...
    def interrupt_run(self, run_id: str) -> None: ...
    def interrupt_job(self, job_id: str) -> None: ...
    def disk_fault_of_run(self, run_id: str) -> str | None: ...


def use_case(database: Engine, clock: Clock | int | None = None, settings: Settings | None = None) -> UseCaseContext:
    """What use cases work with: this database, that time (else the machine's), these settings (else the defaults)."""
    clock = SetClock(clock) if isinstance(clock, int) else clock or ServiceClock()
    settings = settings or Settings(data=Path())
    return UseCaseContext(database, database.index, clock, settings, "", LocalSignals(), NoWorkers())


def storage(database: Engine, folder: Path, clock: Clock | None = None, settings: Settings | None = None) -> Storage:
    """What workers share, with its blobs in `folder`."""
    context, blobs = use_case(database, clock, settings), LocalBlobs(folder)
    return Storage(context, blobs, BackgroundReader(context, blobs), TableProcess(folder.with_name("tables")))


def workers(storage: Storage, *tools: Tool, schemas: SchemaValidator | None = None) -> tuple[RunRunner, JobRunner]:
    """Workers of runs of `scripted` and of jobs, with these tools. What checks schemas needs `schemas`."""
    known = {tool.name: tool for tool in tools}
    jobs = JobRunner(storage, known)
    return RunRunner(storage, {"scripted": Scripted()}, known, jobs, schemas or SchemaValidator()), jobs


async def started(storage: Storage, message: str) -> RunRecord:
    context = storage.use_case
    key, _ = await context.write(lambda tx: accounts.create_key(tx, context.clock, name="caller"))
    return await runs.start(context, key, Start(message, ChatSelector(), "scripted", NOW))


async def claimed(storage: Storage) -> RunRecord:
    run = await attempts.claim(storage.use_case, (await started(storage, "hello")).run_id)
    assert run is not None
    return run


async def ended(storage: Storage, run: RunRecord, *tools: Tool) -> RunRecord:
    """The run after a worker has worked on it."""
    worker, _ = workers(storage, *tools)
    worker.wake(run.run_id)
    await worker.supervisor.wait_ended(run.run_id)
    found = await runs.find(storage.use_case, run.run_id)
    assert found is not None
    return found


async def events(storage: Storage, run: RunRecord, *kinds: str) -> list[dict[str, Any]]:
    """The run's events, or those of these types."""
    found, _ = await storage.use_case.read(lambda tx: event_records.list_events(tx, run.run_id, 0, 1_000, 10**9))
    every = [{"id": event.id, "type": event.type, "payload": json.loads(event.payload)} for event in found]
    return [event for event in every if not kinds or event["type"] in kinds]
