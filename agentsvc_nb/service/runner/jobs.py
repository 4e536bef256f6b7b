"""Execute tool jobs. Each job has one asyncio task, which claims the job, runs its tool, and ends the job."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pydantic import ValidationError

from agentsvc_nb.service.accounts.money import price_of
from agentsvc_nb.service.jobs import jobs
from agentsvc_nb.service.jobs.job_records import JobEnding, JobRecord
from agentsvc_nb.service.logs import fields
from agentsvc_nb.service.ports import STORE_LOST
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.service.runner.supervisor import TaskSupervisor
from agentsvc_nb.service.runner.tool_context import LiveToolContext, note_outcome, run_tool, tool_span
from agentsvc_nb.service.runs import runs, tool_calls
from agentsvc_nb.service.telemetry import tracing
from agentsvc_nb.tools import port
from agentsvc_nb.tools.port import Outcome, Tool, WorkFailure, repeatable

log = logging.getLogger(__name__)
UNKNOWN: Final = (
    "The service was interrupted during this call. The call may have had an effect, so it was not repeated."
)


class JobRunner:
    """Executes the jobs whose ids `wake` receives.

    It also collects the charges of each direct tool call until the call ends.
    """

    def __init__(self, storage: Storage, tools: Mapping[str, Tool]) -> None:
        self._storage = storage
        self._use_case = storage.use_case
        self._tools = tools
        self.supervisor = TaskSupervisor(self._use_case.signals)
        self._queue_jobs: dict[str, int] = {}
        """The ids of the queue jobs that dispatched the current jobs, if processes share the database."""
        self._calls: dict[str, tuple[tool_calls.AcceptedCall, dict[str, int]]] = {}

    def wake(self, job_id: str, queue_job: int | None = None) -> None:
        """Start to execute the job.

        `queue_job` is the id of the job's entry in the database's queue, or None if no queue exists.
        """
        if queue_job is not None:
            self._queue_jobs[job_id] = queue_job
        self.supervisor.start(job_id, self._work)

    async def recover(self) -> None:
        """Restart the jobs that a crash interrupted, and end those that can't continue.

        The caller must hold the data folder's lock.
        """
        for job in await jobs.recover(self._use_case):
            self.wake(job.job_id)

    def interrupt(self, job_id: str) -> None:
        """Stop the job's tool and notify the job's watchers.

        Call this after the job's cancellation has been stored.
        """
        self._use_case.signals.notify(job_id)
        self.supervisor.interrupt(job_id)

    def track_charges(self, call: tool_calls.AcceptedCall) -> dict[str, int]:
        """Return the dictionary to which a direct call adds its charges. `end_call` stores these charges."""
        charges: dict[str, int] = {}
        self._calls[call.call_id] = call, charges
        return charges

    async def end_call(self, call_id: str) -> None:
        """Store the end of a direct call and its charges. If the database is unavailable, try again later."""
        if call_id not in self._calls:
            return
        call, charges = self._calls.pop(call_id)
        try:
            await tool_calls.end_call(self._use_case, call, charges)
        except Exception:
            log.exception("the charges of a direct call could not be stored; the service will try again")
            self.supervisor.store_later(call.call_id, lambda: tool_calls.end_call(self._use_case, call, charges))

    async def end_calls(self) -> None:
        """End all direct calls with their charges so far, because the service is stopping."""
        for call_id in list(self._calls):
            await self.end_call(call_id)

    async def _work(self, job_id: str) -> None:
        """Execute the job until it ends or another process takes it over.

        If the database was unavailable, start the job again.
        """
        try:
            while True:
                try:
                    return await self._attempt(job_id)
                except STORE_LOST as error:
                    log.warning("the database was unavailable, so job %s starts again: %s", job_id, error)
                await self.supervisor.store(job_id, lambda: self._end_cancelled(job_id))
        finally:
            self._queue_jobs.pop(job_id, None)

    async def _end_cancelled(self, job_id: str) -> None:
        """End the job if it is being cancelled. No worker can claim such a job, so no worker would end it later."""
        found = await jobs.find(self._use_case, job_id)
        if found is not None and found.status == "cancelling" and found.worker_id == self._use_case.process:
            await jobs.finish(self._use_case, job_id, found.attempt, JobEnding("cancelled", []))

    async def _attempt(self, job_id: str) -> None:
        """Claim the job, run its tool, and end the job. Raises the errors in `STORE_LOST`."""
        queue_job = self._queue_jobs.get(job_id)
        job = await self.supervisor.store(job_id, lambda: jobs.claim(self._use_case, job_id, queue_job))
        if job is None:
            return
        ending = await self._execute(job)
        if ending is not None:
            await self.supervisor.store(job_id, lambda: jobs.finish(self._use_case, job_id, job.attempt, ending))
            if ending.status == "failed":
                code = (ending.error or {}).get("code")
                log.info("job failed", extra=fields(job=job_id, run=job.run_id, tool=job.tool, code=code))

    async def _execute(self, job: JobRecord) -> JobEnding | None:
        """Run the tool and return how the job ended.

        Return None if another process, or the service after its next start, continues the job.
        """
        # The tool uses the model of the run that submitted the job.
        run = await runs.find(self._use_case, job.run_id) if job.run_id is not None else None
        model = None if run is None else run.model
        key = job.job_id
        task = LiveToolContext(self._storage, job.account, job.chat, key, run_id=job.run_id, job=job, model=model)
        try:
            outcome = await self.supervisor.run_interruptible(job.job_id, self._run_tool(job, task))
            status = "succeeded" if outcome.error is None else "failed"
            error = None if outcome.error is None else dict(zip(("code", "message"), outcome.error, strict=True))
            files = tuple(dict.fromkeys(task.written))
            kind = "inline" if outcome.inline else "files"
            ending = JobEnding(status, outcome.content, outcome.data, error, kind, files=files)
        except asyncio.CancelledError:
            if self.supervisor.stopping and await self._leave(job):
                return None
            ending = JobEnding("cancelled", [])
        except jobs.LostJob:
            self._use_case.metrics.fences_refused.add("job")
            log.warning("another process took over job %s; this process stops its work on it", job.job_id)
            return None
        except WorkFailure as failure:
            ending = _build_failure(failure.code, failure.message)
        except ValidationError as invalid:
            ending = _build_failure("invalid_tool_input", port.describe_invalid_field(invalid)[1])
        except STORE_LOST:
            raise
        except Exception:
            log.exception("job %s (%s) failed", job.job_id, job.tool)
            ending = _build_failure("agent_error", "The tool failed unexpectedly. The service's log has the details.")
        return replace(ending, spent=task.spent, charges=task.charges)

    async def _run_tool(self, job: JobRecord, task: LiveToolContext) -> Outcome:
        # From here on, a cancellation of the job cancels this task. A cancellation before this point found no task to
        # cancel.
        if await self._must_stop(job):
            raise asyncio.CancelledError
        tool = self._tools.get(job.tool)
        if tool is None:
            raise WorkFailure("tool_not_found", f"The service no longer has the tool {job.tool!r}.")
        if job.attempt > 1 and not repeatable(tool):
            raise WorkFailure("outcome_unknown", UNKNOWN)
        checked = await asyncio.to_thread(lambda: tool.Input.model_validate(job.parse_input()))
        task.charges_held = price_of(tool.max_charges(checked))
        if job.run_id is not None:  # the span of the run's tool call already covers the job
            return await run_tool(tool, checked, task)
        attributes = {"gen_ai.conversation.id": job.chat}
        with tool_span(self._use_case, tool.name, checked, tracing.get_current(), attributes) as span:
            outcome = await run_tool(tool, checked, task)
            note_outcome(self._use_case, span, outcome)
        return outcome

    async def _leave(self, job: JobRecord) -> bool:
        """Leave the job to recovery, because the service is stopping, and return True.

        Return False for a cancelled job, which must end now.
        """

        async def leave() -> bool:
            if await self._must_stop(job):
                return False
            await jobs.leave(self._use_case, job)
            return True

        return await self.supervisor.store(job.job_id, leave) is not False

    async def _must_stop(self, job: JobRecord) -> bool:
        found = await jobs.find(self._use_case, job.job_id)
        return found is None or found.status != "running"


def _build_failure(code: str, message: str) -> JobEnding:
    return JobEnding("failed", [{"type": "text", "text": message}], error={"code": code, "message": message})
