"""Execute runs. Each run has one asyncio task, which claims the run, runs its agent, and ends the run.

An attempt is one execution of a run, with a number. After a crash or a loss of the database, a new attempt takes over
the run at its last checkpoint.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial

from agentsvc_nb.agents.direct_call import DirectCallAgent
from agentsvc_nb.agents.port import Agent, StepsExceeded
from agentsvc_nb.documents import json_reading
from agentsvc_nb.documents.schemas import SchemaValidator
from agentsvc_nb.model_names import DIRECT_CALL
from agentsvc_nb.service.logs import fields
from agentsvc_nb.service.ports import STORE_LOST
from agentsvc_nb.service.runner.jobs import JobRunner
from agentsvc_nb.service.runner.run_context import TOO_LONG, LiveRunContext, RemoteTools
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.service.runner.supervisor import TaskSupervisor
from agentsvc_nb.service.runs import attempts, observing, runs
from agentsvc_nb.service.runs.run_records import RunEnding, RunRecord
from agentsvc_nb.service.telemetry import tracing
from agentsvc_nb.tools.port import Tool, WorkFailure
from agentsvc_nb.wire.limits import OUTPUT_BYTES
from agentsvc_nb.wire.runs import ACTIVE

log = logging.getLogger(__name__)


class RunRunner:
    """Executes the runs whose ids `wake` receives."""

    def __init__(
        self,
        storage: Storage,
        agents: Mapping[str, Agent],
        tools: Mapping[str, Tool],
        job_runner: JobRunner,
        schemas: SchemaValidator,
        remote_tools: Callable[[], RemoteTools] | None = None,
    ) -> None:
        self._storage = storage
        self._use_case = storage.use_case
        self._agents = {**agents, DIRECT_CALL: DirectCallAgent()}
        self._tools = tools
        self._jobs = job_runner
        self._schemas = schemas
        self._remote_tools = remote_tools
        self.supervisor = TaskSupervisor(self._use_case.signals)
        self._queue_jobs: dict[str, int] = {}
        """The ids of the queue jobs that dispatched the current runs, if processes share the database."""

    def wake(self, run_id: str, queue_job: int | None = None) -> None:
        """Start to execute the run.

        `queue_job` is the id of the run's entry in the database's queue, or None if no queue exists.
        """
        if queue_job is not None:
            self._queue_jobs[run_id] = queue_job
        self.supervisor.start(run_id, self._work)

    def interrupt(self, run_id: str) -> None:
        """Stop the run's agent and notify the run's watchers.

        Call this after the run's cancellation has been stored.
        """
        self._use_case.signals.notify(run_id)
        self.supervisor.interrupt(run_id)

    async def recover(self) -> list[str]:
        """End the runs that can't continue after a crash. Return the ids of the other active runs, which the caller
        must wake.

        The caller must hold the data folder's lock.
        """
        return [run.run_id for run in await attempts.recover(self._use_case)]

    async def _work(self, run_id: str) -> None:
        """Execute the run until it ends or another process takes it over.

        If the database was unavailable, resume the run at its last checkpoint.
        """
        try:
            while True:
                try:
                    return await self._attempt(run_id)
                except STORE_LOST as error:
                    log.warning(
                        "the database was unavailable, so run %s continues from its last checkpoint: %s", run_id, error
                    )
        finally:
            self._queue_jobs.pop(run_id, None)

    async def _attempt(self, run_id: str) -> None:
        """Claim the run, run its agent, and end the run. Raises the errors in `STORE_LOST`."""
        store = self.supervisor.store
        run = await store(run_id, lambda: self._claim(run_id))
        if run is None:
            return
        tracing.set_current(observing.attempt_span(run))
        context: LiveRunContext | None = None
        try:
            found = await store(run_id, lambda: runs.get_inputs(self._use_case, run))
            if found is None:  # the service is stopping
                return
            remote = self._remote_tools() if self._remote_tools else None
            context = LiveRunContext(self._storage, run, *found, self._tools, self._jobs, self._schemas, remote)
            ending = await self._execute(run, context)
        except attempts.LostRun:
            self._use_case.metrics.fences_refused.add("run")
            log.warning("another process took over run %s; this process stops its work on it", run_id)
            return
        except STORE_LOST:
            raise
        except Exception:  # the run's saved state is damaged, or the run's last events could not be written
            log.exception("run %s failed", run_id)
            ending = _build_failure("The run failed unexpectedly. The service's log has the details.")
        finally:
            if context is not None:
                await context.close()
        if ending is None:
            return
        # Wait until the run's documents are read, so that search finds them as soon as the run has ended.
        await store(run_id, lambda: self._storage.readings.wait_until_read(run.chat, run_id))
        attempt = run.attempt if context is None else context.log.attempt
        try:
            await store(run_id, partial(attempts.finish, self._use_case, run_id, attempt, ending))
        except (ValueError, OverflowError):
            log.exception("the answer of run %s could not be stored", run_id)
            ending = _build_failure("The answer could not be stored.")
            await store(run_id, partial(attempts.finish, self._use_case, run_id, attempt, ending))
        if ending.status == "failed":
            log.info("run failed", extra=fields(run=run_id, attempt=attempt, code=ending.last_error))

    async def _claim(self, run_id: str) -> RunRecord | None:
        """Claim a queued run, or take over an active run whose worker has crashed.

        Also take over a run that is being cancelled, because a worker must end it. Return None if the run has ended, or
        if the queue has dispatched the run again meanwhile.
        """
        if claimed := await attempts.claim(self._use_case, run_id):
            return claimed
        found = await runs.find(self._use_case, run_id)
        if found is None or found.status not in ACTIVE:
            return None
        if self._use_case.process is not None and found.queue_job != self._queue_jobs.get(run_id):
            return None
        return await attempts.resume(self._use_case, run_id, found.attempt)

    async def _execute(self, run: RunRecord, context: LiveRunContext) -> RunEnding | None:
        """Run the agent and return how the run ended.

        Return None if another process, or the service after its next start, resumes the run.
        """
        answer: str | None = None
        fault: tuple[str, str] | None
        try:
            answer, fault = await self.supervisor.run_interruptible(run.run_id, self._run_agent(run, context))
        except asyncio.CancelledError:
            if self.supervisor.stopping:
                left = await self.supervisor.store(
                    run.run_id, lambda: attempts.release(self._use_case, run.run_id, context.log.attempt)
                )
                if left is not False:
                    return None
            await context.log.flush()
            return context.build_ending("cancelled", output=context.output_text)
        except (attempts.LostRun, *STORE_LOST):
            raise
        except StepsExceeded:
            fault = runs.STEPS_EXCEEDED, "The run needed more than 1,500 model steps."
        except WorkFailure as failure:
            fault = failure.code, failure.message
        except Exception:
            log.exception("run %s failed", run.run_id)
            fault = "agent_error", "The agent failed unexpectedly. The service's log has the details."
        await context.log.flush()
        if fault:
            code, message = fault
            output = answer or context.output_text
            return context.build_ending("failed", output=output, last_error=code, last_error_message=message)
        assert answer is not None
        if len(answer) > runs.LONG_CHARS:
            structured = await asyncio.to_thread(json_reading.parse_object, answer)
        else:
            structured = json_reading.parse_object(answer)
        return context.build_ending("completed", output=answer, structured_output=structured)

    async def _run_agent(self, run: RunRecord, context: LiveRunContext) -> tuple[str, tuple[str, str] | None]:
        """Run the agent. Return its final text, and the code and message of its failure, or None without a failure."""
        # From here on, a cancellation of the run cancels this task. A cancellation before this point found no task to
        # cancel.
        if await runs.get_status(self._use_case, run.run_id) != "running":
            raise asyncio.CancelledError
        if run.output_config is not None and run.model == "offline":
            raise WorkFailure(
                "model_required",
                "Structured output needs a language model.",
            )
        answer = await self._agents[run.model].run(context)
        if answer is None:
            answer = context.output_text or ""
        data = answer.encode("utf-8", "replace")
        if len(data) > OUTPUT_BYTES:
            return data[:OUTPUT_BYTES].decode("utf-8", "ignore"), ("output_too_long", TOO_LONG)
        misfit = await context.misfit(answer)
        return answer, ("output_schema_mismatch", misfit) if misfit else None


def _build_failure(message: str) -> RunEnding:
    return RunEnding("failed", last_error="agent_error", last_error_message=message)
