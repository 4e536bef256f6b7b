"""What a job gives back."""

from __future__ import annotations

from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.display.results import Kept
from agentsvc_nb.wire.tools import Job


class JobResult(Kept):
    """The result of a job: `result.files` and `result.df`, or `result.data`."""

    def __init__(self, job: Job, bundle: Bundle) -> None:
        super().__init__(bundle, job.files or [], job.chat)
        self.job, self.data = job, job.data

    @property
    def status(self) -> str:
        return str(self.job.status)

    def __repr__(self) -> str:
        return f"<JobResult {self.status}, {len(self.files)} files, job {self.job.job_id}>"
