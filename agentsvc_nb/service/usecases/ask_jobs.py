"""The job that is a run's handle (an ask): it shows the run's state, and ends with the run, in one transaction.

So nothing has to wait for the run, and after a crash the job goes on with it (docs/api/tools-and-jobs.md "Ask").
"""

from __future__ import annotations

from typing import Final

from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.records import jobs
from agentsvc_nb.service.records.jobs import JobEnding
from agentsvc_nb.service.records.runs import RunRecord
from agentsvc_nb.service.records.usage import Spent

_ENDS: Final = {"completed": "succeeded", "failed": "failed", "cancelled": "cancelled"}


def show(tx: Tx, run: RunRecord) -> None:
    """The run is running now, or being cancelled."""
    jobs.follow(tx, run.run_id, run.status, run.started_at)


def end(tx: Tx, run: RunRecord, origin: str, now: int) -> None:
    job = jobs.following(tx, run.run_id)
    if job is not None:
        jobs.finish(tx, job.job_id, job.attempt, _ending(run, origin), now)


def _ending(run: RunRecord, origin: str) -> JobEnding:
    data = {
        "answer": run.output,
        "chat": run.chat,
        "app_url": run.document(origin)["app_url"],
        "run_id": run.run_id,
        "steps": run.steps,
    }
    content = [{"type": "text", "text": run.output}] if run.output else []
    error = {"code": run.last_error, "message": run.last_error_message or ""} if run.last_error else None
    spent = Spent(run.input_tokens, run.output_tokens, run.cost_microcents)  # shown here, billed with the run
    return JobEnding(_ENDS[run.status], content, data, error, spent=spent)
