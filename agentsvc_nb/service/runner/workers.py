"""The workers of this process, as use cases reach them."""

from __future__ import annotations

from agentsvc_nb.service.runner.jobs import JobRunner
from agentsvc_nb.service.runner.runs import RunRunner


class LocalWorkers:
    """`ports.Workers`: the runners of this process, which are set once both are made, for they call use cases too."""

    runs: RunRunner
    jobs: JobRunner

    def wake_run(self, run_id: str) -> None:
        self.runs.wake(run_id)

    def wake_job(self, job_id: str) -> None:
        self.jobs.wake(job_id)

    def interrupt_run(self, run_id: str) -> None:
        self.runs.interrupt(run_id)

    def interrupt_job(self, job_id: str) -> None:
        self.jobs.interrupt(job_id)
