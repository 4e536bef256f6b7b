"""Executes tool jobs: claim the job, run its tool, end the job. One asyncio task per job."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pydantic import BaseModel, ValidationError

from agentsvc_nb.service.accounts.money import price_of
from agentsvc_nb.service.files.file_records import Author, FileRecord
from agentsvc_nb.service.jobs import jobs
from agentsvc_nb.service.jobs.job_records import JobEnding, JobRecord
from agentsvc_nb.service.logs import fields
from agentsvc_nb.service.ports import STORE_LOST
from agentsvc_nb.service.runner import spans
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.service.runner.supervisor import TaskSupervisor
from agentsvc_nb.service.runner.tool_context import LiveToolContext, performed
from agentsvc_nb.service.runs import runs, tool_calls
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.tools import port
from agentsvc_nb.tools.port import Outcome, Tool, WorkFailure, repeatable
from agentsvc_nb.wire.limits import MESSAGE_CHARS

log = logging.getLogger(__name__)
UNKNOWN: Final = (
    "The service was cut off during this call. Whether its effect is out is not known; it was not repeated."
)


class JobEvents:
    """The `CallEvents` of a job: its progress is stored, and the paths of the files that it writes are gathered."""

    def __init__(self, use_case: UseCaseContext, job: JobRecord, tool: Tool | None) -> None:
        self._use_case = use_case
        self._job = job
        self._tool = tool
        self.written: list[str] = []

    async def progress(self, done: float, total: float | None, message: str) -> None:
        value = {"done": done, "total": total, "message": message[:MESSAGE_CHARS]}
        await jobs.report(self._use_case, self._job, value)

    async def file_written(self, record: FileRecord) -> None:
        self.written.append(record.path)

    async def hold(self, spent: int, worst: int) -> None:
        """Hold what the job has spent and the worst case of its next model call; its per-use charges are held, too."""
        charges = 0 if self._tool is None else price_of(self._tool.max_charges(_given(self._tool, self._job)))
        await jobs.hold(self._use_case, self._job, spent, worst, charges)


class JobRunner:
    """Executes the jobs that it is woken for."""

    def __init__(self, storage: Storage, tools: Mapping[str, Tool]) -> None:
        self._storage = storage
        self._use_case = storage.use_case
        self._tools = tools
        self.supervisor = TaskSupervisor(self._use_case.signals)
        self._queue_jobs: dict[str, int] = {}
        """The jobs of the queue that carry these, in a database that processes share."""
        self._calls: dict[str, tuple[tool_calls.DirectCall, dict[str, int]]] = {}

    def wake(self, job_id: str, queue_job: int | None = None) -> None:
        """Execute the job; `queue_job` carries it in a database that processes share."""
        if queue_job is not None:
            self._queue_jobs[job_id] = queue_job
        self.supervisor.start(job_id, self._work)

    async def recover(self) -> None:
        """Recover jobs after a crash, and wake those that go on. Requires the folder's lock."""
        for job in await jobs.recover(self._use_case):
            self.wake(job.job_id)

    def interrupt(self, job_id: str) -> None:
        """Stop the job's tool and notify the job's watchers, after its cancellation was stored."""
        self._use_case.signals.notify(job_id)
        self.supervisor.interrupt(job_id)

    def charges_of(self, call: tool_calls.DirectCall) -> dict[str, int]:
        """Where a direct call counts its charges, until `end_call`."""
        charges: dict[str, int] = {}
        self._calls[call.call_id] = call, charges
        return charges

    async def end_call(self, call_id: str) -> None:
        """End a direct call. What can't be stored now is stored later: its charge is not lost."""
        if call_id not in self._calls:
            return
        call, charges = self._calls.pop(call_id)
        try:
            await tool_calls.end_call(self._use_case, call, charges)
        except Exception:
            log.exception("the end of a direct call could not be stored; trying again")
            self.supervisor.store_later(call.call_id, lambda: tool_calls.end_call(self._use_case, call, charges))

    async def end_calls(self) -> None:
        """End the direct calls that a stop does not wait for any longer, with their charges so far."""
        for call_id in list(self._calls):
            await self.end_call(call_id)

    async def _work(self, job_id: str) -> None:
        """Work on the job until it has ended, or is another's: again when the database was lost."""
        try:
            while True:
                try:
                    return await self._attempt(job_id)
                except STORE_LOST as error:
                    log.warning("job %s begins again: %s", job_id, error)
                await self.supervisor.store(job_id, lambda: self._end_cancelled(job_id))
        finally:
            self._queue_jobs.pop(job_id, None)

    async def _end_cancelled(self, job_id: str) -> None:
        """End a job that is being cancelled and whose work was lost: it is not claimed again."""
        found = await jobs.find(self._use_case, job_id)
        if found is not None and found.status == "cancelling" and found.worker_id == self._use_case.process:
            await jobs.finish(self._use_case, job_id, found.attempt, JobEnding("cancelled", []))

    async def _attempt(self, job_id: str) -> None:
        """Raises what is in `STORE_LOST`."""
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
        """Run the tool; the job's ending, or None when the service is stopping and leaves the job for recovery, or
        another attempt has it."""
        events = JobEvents(self._use_case, job, self._tools.get(job.tool))
        # The model of the run that submitted the job answers its tool, too.
        run = await runs.find(self._use_case, job.run_id) if job.run_id is not None else None
        task = LiveToolContext(
            self._storage,
            job.account,
            job.chat,
            Author("output", run_id=job.run_id),
            job.job_id,
            events,
            events.hold,
            None if run is None else run.model,
            job.max_microcents,
        )
        ending = await self._tried(job, task, events)
        return ending and replace(ending, spent=task.spent, charges=task.charges)

    async def _tried(self, job: JobRecord, task: LiveToolContext, events: JobEvents) -> JobEnding | None:
        try:
            outcome = await self.supervisor.interruptible(
                job.job_id, self._run_tool(job, task), lambda: self._asked_to_stop(job)
            )
        except asyncio.CancelledError:
            if self.supervisor.stopping and await self._is_left(job):
                return None
            return JobEnding("cancelled", [])
        except jobs.LostJob:
            self._use_case.metrics.fences_refused.add("job")
            log.warning("job %s was taken over", job.job_id)
            return None
        except WorkFailure as failure:
            return _failed(failure.code, failure.message)
        except ValidationError as error:
            return _failed("invalid_tool_input", port.fault(error)[1])
        except STORE_LOST:
            raise
        except Exception:
            log.exception("job %s (%s) failed", job.job_id, job.tool)
            return _failed("agent_error", "The tool failed unexpectedly; see the service's log.")
        return replace(_ended(outcome), files=tuple(dict.fromkeys(events.written)))

    async def _run_tool(self, job: JobRecord, task: LiveToolContext) -> Outcome:
        tool = self._tools.get(job.tool)
        if tool is None:
            raise WorkFailure("tool_not_found", f"There is no tool {job.tool!r} any more.")
        if job.attempt > 1 and not repeatable(tool):
            raise WorkFailure("outcome_unknown", UNKNOWN)
        checked = await asyncio.to_thread(_given, tool, job)
        if job.run_id is not None:  # the run's own call is the span
            return await performed(tool, checked, task)
        with spans.tool_call_of_request(self._use_case, tool.name, job.chat, checked) as span:
            outcome = await performed(tool, checked, task)
            spans.tool_returned(self._use_case, span, outcome)
        return outcome

    async def _is_left(self, job: JobRecord) -> bool:
        """Leave the job for recovery; False if it was cancelled, for then it ends now, while what it used is known."""

        async def leave() -> bool:
            if await self._asked_to_stop(job):
                return False
            await jobs.leave(self._use_case, job)
            return True

        return await self.supervisor.store(job.job_id, leave) is not False

    async def _asked_to_stop(self, job: JobRecord) -> bool:
        found = await jobs.find(self._use_case, job.job_id)
        return found is None or found.status != "running"


def _ended(outcome: Outcome) -> JobEnding:
    kind = "inline" if outcome.inline else "files"
    if outcome.error is not None:
        code, message = outcome.error
        error = {"code": code, "message": message}
        return JobEnding("failed", outcome.content, outcome.data, error, kind)
    return JobEnding("succeeded", outcome.content, outcome.data, None, kind)


def _given(tool: Tool, job: JobRecord) -> BaseModel:
    return tool.Input.model_validate(job.given())


def _failed(code: str, message: str) -> JobEnding:
    return JobEnding("failed", [{"type": "text", "text": message}], error={"code": code, "message": message})
