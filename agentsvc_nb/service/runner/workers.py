"""`ports.Workers` for the runners of this process."""

from __future__ import annotations

import asyncio

from agentsvc_nb.service.runner.jobs import JobRunner
from agentsvc_nb.service.runner.readings import Readings
from agentsvc_nb.service.runner.runs import RunRunner


class LocalWorkers:
    """Passes wake-ups and interrupts to the runners of this process.

    The runners are set after they are created, because they need the use case context, which holds this object.
    """

    readings: Readings
    runs: RunRunner
    jobs: JobRunner

    def wake_run(self, run_id: str) -> None:
        self.runs.wake(run_id)

    def wake_job(self, job_id: str) -> None:
        self.jobs.wake(job_id)

    def wake_readings(self) -> None:
        self._waking = asyncio.ensure_future(self.readings.wake())

    def disk_fault_of_run(self, run_id: str) -> str | None:
        return self.runs.supervisor.disk_fault_of(run_id) or self.jobs.supervisor.disk_fault_of(run_id)

    def interrupt_run(self, run_id: str) -> None:
        self.runs.interrupt(run_id)

    def interrupt_job(self, job_id: str) -> None:
        self.jobs.interrupt(job_id)
