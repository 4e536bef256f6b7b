"""Execute tool jobs: claim the job, run its tool, end the job. Each job has one asyncio task."""

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
from agentsvc_nb.service.runner.tool_context import LiveToolContext, note_outcome, performed, tool_span
from agentsvc_nb.service.runs import runs, tool_calls
from agentsvc_nb.service.telemetry import tracing
from agentsvc_nb.tools import port
from agentsvc_nb.tools.port import Outcome, Tool, WorkFailure, repeatable

log = logging.getLogger(__name__)
UNKNOWN: Final = (
    "The service was interrupted during this call. The call may have had an effect, so it was not repeated."
)


class JobRunner:
    """Executes the jobs that are passed to `wake`."""

    def __init__(self, storage: Storage, tools: Mapping[str, Tool]) -> None:
        self._storage = storage
        self._use_case = storage.use_case
        self._tools = tools
        self.supervisor = TaskSupervisor(self._use_case.signals)
        self._queue_jobs: dict[str, int] = {}
        """The queue jobs that dispatched the jobs, if processes share the database."""
        self._calls: dict[str, tuple[tool_calls.DirectCall, dict[str, int]]] = {}

    def wake(self, job_id: str, queue_job: int | None = None) -> None:
        """Execute the job. `queue_job` is the queue job that dispatched it, if processes share the database."""
        if queue_job is not None:
            self._queue_jobs[job_id] = queue_job
        self.supervisor.start(job_id, self._work)

    async def recover(self) -> None:
        """Recover jobs after a crash, and wake those that continue. The caller must hold the folder's lock."""
        for job in await jobs.recover(self._use_case):
            self.wake(job.job_id)

    def interrupt(self, job_id: str) -> None:
        """Stop the job's tool and notify the job's watchers. Call this after the cancellation is stored."""
        self._use_case.signals.notify(job_id)
        self.supervisor.interrupt(job_id)

    def charges_of(self, call: tool_calls.DirectCall) -> dict[str, int]:
        """Return the dictionary in which a direct call counts its charges, until `end_call`."""
        charges: dict[str, int] = {}
        self._calls[call.call_id] = call, charges
        return charges

    async def end_call(self, call_id: str) -> None:
        """End a direct call. If the end can't be stored now, store it later, so that no charge is lost."""
        if call_id not in self._calls:
            return
        call, charges = self._calls.pop(call_id)
        try:
            await tool_calls.end_call(self._use_case, call, charges)
        except Exception:
            log.exception("the result of a direct call could not be stored; the service tries again")
            self.supervisor.store_later(call.call_id, lambda: tool_calls.end_call(self._use_case, call, charges))

    async def end_calls(self) -> None:
        """End the direct calls for which a stopping service no longer waits, with their charges so far."""
        for call_id in list(self._calls):
            await self.end_call(call_id)

    async def _work(self, job_id: str) -> None:
        """Work on the job until it ends or another process takes it over. Start again after a loss of the database."""
        try:
            while True:
                try:
                    return await self._attempt(job_id)
                except STORE_LOST as error:
                    log.warning("job %s starts again: %s", job_id, error)
                await self.supervisor.store(job_id, lambda: self._end_cancelled(job_id))
        finally:
            self._queue_jobs.pop(job_id, None)

    async def _end_cancelled(self, job_id: str) -> None:
        """End a job that is being cancelled and whose work was lost, because nobody will claim it again."""
        found = await jobs.find(self._use_case, job_id)
        if found is not None and found.status == "cancelling" and found.worker_id == self._use_case.process:
            await jobs.finish(self._use_case, job_id, found.attempt, JobEnding("cancelled", []))

    async def _attempt(self, job_id: str) -> None:
        """Claim the job, run its tool, end the job. Raises the errors in `STORE_LOST`."""
        queue_job = self._queue_jobs.get(job_id)
        job = await self.supervisor.store(job_id, lambda: jobs.claim(self._use_case, job_id, queue_job))
        if job is None:
            return
        ending = await self._ending(job)
        if ending is not None:
            await self.supervisor.store(job_id, lambda: jobs.finish(self._use_case, job_id, job.attempt, ending))
            if ending.status == "failed":
                code = (ending.error or {}).get("code")
                log.info("job failed", extra=fields(job=job_id, run=job.run_id, tool=job.tool, code=code))

    async def _ending(self, job: JobRecord) -> JobEnding | None:
        """Run the tool and return the job's ending.

        Return None when the service stops and leaves the job for recovery, or another attempt has the job.
        """
        # The tool uses the same model as the run that submitted the job.
        run = await runs.find(self._use_case, job.run_id) if job.run_id is not None else None
        model = None if run is None else run.model
        key = job.job_id
        task = LiveToolContext(self._storage, job.account, job.chat, key, run_id=job.run_id, job=job, model=model)
        try:
            outcome = await self.supervisor.interruptible(job.job_id, self._run_tool(job, task))
            status = "succeeded" if outcome.error is None else "failed"
            error = None if outcome.error is None else dict(zip(("code", "message"), outcome.error, strict=True))
            files = tuple(dict.fromkeys(task.written))
            kind = "inline" if outcome.inline else "files"
            ending = JobEnding(status, outcome.content, outcome.data, error, kind, files=files)
        except asyncio.CancelledError:
            if self.supervisor.stopping and await self._is_left(job):
                return None
            ending = JobEnding("cancelled", [])
        except jobs.LostJob:
            self._use_case.metrics.fences_refused.add("job")
            log.warning("another process took over job %s", job.job_id)
            return None
        except WorkFailure as failure:
            ending = _failed(failure.code, failure.message)
        except ValidationError as invalid:
            ending = _failed("invalid_tool_input", port.fault(invalid)[1])
        except STORE_LOST:
            raise
        except Exception:
            log.exception("job %s (%s) failed", job.job_id, job.tool)
            ending = _failed("agent_error", "The tool failed unexpectedly. The service's log has the details.")
        return replace(ending, spent=task.spent, charges=task.charges)

    async def _run_tool(self, job: JobRecord, task: LiveToolContext) -> Outcome:
        # From here on a cancellation interrupts this task. An earlier cancellation found no task.
        if await self._asked_to_stop(job):
            raise asyncio.CancelledError
        tool = self._tools.get(job.tool)
        if tool is None:
            raise WorkFailure("tool_not_found", f"The service no longer has the tool {job.tool!r}.")
        if job.attempt > 1 and not repeatable(tool):
            raise WorkFailure("outcome_unknown", UNKNOWN)
        checked = await asyncio.to_thread(lambda: tool.Input.model_validate(job.given()))
        task.charges_held = price_of(tool.max_charges(checked))
        if job.run_id is not None:  # for a run's job, the span is that of the run's call
            return await performed(tool, checked, task)
        attributes = {"gen_ai.conversation.id": job.chat}
        with tool_span(self._use_case, tool.name, checked, tracing.current(), attributes) as span:
            outcome = await performed(tool, checked, task)
            note_outcome(self._use_case, span, outcome)
        return outcome

    async def _is_left(self, job: JobRecord) -> bool:
        """Leave the job for recovery and return True. Return False for a cancelled job, which must end now, while its
        usage is known.
        """

        async def leave() -> bool:
            if await self._asked_to_stop(job):
                return False
            await jobs.leave(self._use_case, job)
            return True

        return await self.supervisor.store(job.job_id, leave) is not False

    async def _asked_to_stop(self, job: JobRecord) -> bool:
        found = await jobs.find(self._use_case, job.job_id)
        return found is None or found.status != "running"


def _failed(code: str, message: str) -> JobEnding:
    return JobEnding("failed", [{"type": "text", "text": message}], error={"code": code, "message": message})
