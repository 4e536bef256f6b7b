"""Use cases on a real database, without a service around them."""

from __future__ import annotations

from pathlib import Path

from agentsvc_nb.documents.engine.process import TableProcess
from agentsvc_nb.service.ports import Clock
from agentsvc_nb.service.ports import DatabaseEngine as Engine
from agentsvc_nb.service.runner.signals import LocalSignals
from agentsvc_nb.service.runner.storage import Readings, Storage, SystemClock
from agentsvc_nb.service.store.blobs import LocalBlobs
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.settings import Settings


class SetClock:
    """A clock that a test moves."""

    def __init__(self, now: int) -> None:
        self.ms = now

    def now(self) -> int:
        return self.ms


class NoWorkers:
    """Nobody executes anything; `asked` says what somebody should have done."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def wake_run(self, run_id: str) -> None:
        self.asked.append(("wake", run_id))

    def wake_job(self, job_id: str) -> None:
        self.asked.append(("wake", job_id))

    def wake_readings(self) -> None:
        self.asked.append(("wake", "readings"))

    def disk_fault_of_run(self, run_id: str) -> str | None:
        return None

    def interrupt_run(self, run_id: str) -> None:
        self.asked.append(("interrupt", run_id))

    def interrupt_job(self, job_id: str) -> None:
        self.asked.append(("interrupt", job_id))


def use_case(database: Engine, clock: Clock | int | None = None, settings: Settings | None = None) -> UseCaseContext:
    """What use cases work with: this database, that time (else the machine's), these settings (else the defaults)."""
    clock = SetClock(clock) if isinstance(clock, int) else clock or SystemClock()
    settings = settings or Settings(data=Path())
    return UseCaseContext(database, database.index, clock, settings, "", LocalSignals(), NoWorkers())


def storage(database: Engine, folder: Path, clock: Clock | None = None, settings: Settings | None = None) -> Storage:
    """What workers share, with its blobs in `folder`."""
    context, blobs = use_case(database, clock, settings), LocalBlobs(folder)
    return Storage(context, blobs, Readings(context, blobs), TableProcess(folder.with_name("tables")))
