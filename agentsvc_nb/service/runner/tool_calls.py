"""Make the tool calls of one attempt at a run.

Each call is recorded. If another attempt takes over the run, it does not repeat a finished call, or a call that may
already have had an effect (docs/decisions/07).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from agentsvc_nb.agents.port import ClientToolDefinition
from agentsvc_nb.documents.schemas import SchemaValidator
from agentsvc_nb.service import payloads
from agentsvc_nb.service.accounts.money import price_of
from agentsvc_nb.service.files import files
from agentsvc_nb.service.jobs import jobs
from agentsvc_nb.service.jobs.job_records import JobRecord
from agentsvc_nb.service.ports import STORE_LOST
from agentsvc_nb.service.runner.budget import RunBudget
from agentsvc_nb.service.runner.call_order import CallOrder, QueuedCall
from agentsvc_nb.service.runner.event_log import EventLog
from agentsvc_nb.service.runner.jobs import UNKNOWN, JobRunner
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.service.runner.tool_context import (
    AttemptResources,
    LiveToolContext,
    build_error,
    note_changed_input,
    note_outcome,
    run_tool,
    tool_span,
)
from agentsvc_nb.service.runs import client_calls, observing, standing, tool_calls
from agentsvc_nb.service.runs.call_records import CallRecord, State
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.service.telemetry.tracing import Span
from agentsvc_nb.service.times import rfc3339
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.tools import port
from agentsvc_nb.tools.port import LIMIT_REACHED, Outcome, Tool, WorkFailure, repeatable
from agentsvc_nb.tools.support import stopping
from agentsvc_nb.tools.support.fetching import find_addresses, matches_hosts
from agentsvc_nb.tools.workspace.plan import SHOWN, PlanInput
from agentsvc_nb.wire.limits import EVENT_PAYLOAD_BYTES, INPUT_MAX_BYTES
from agentsvc_nb.wire.runs import Lasts
from agentsvc_nb.wire.tools import JOB_TERMINAL

JOB_POLL_SECONDS = 15.0
_TOO_LARGE: Final = f"A tool's input must not exceed {INPUT_MAX_BYTES:,} bytes. Pass the rest in a file."
_INTERRUPTED: Final = "The call was interrupted."
_TOO_LARGE_TO_APPROVE: Final = (
    "This call needs approval, and a person can approve only an input of less than "
    f"{EVENT_PAYLOAD_BYTES:,} bytes. Shorten the input, and pass the rest in a file."
)

_TOO_LARGE_FOR_CLIENT: Final = f"The input of a client tool must not exceed {EVENT_PAYLOAD_BYTES:,} bytes."
_NOT_ANSWERED: Final = "Nobody answered this call in time. The program that started the run may have ended."


@dataclass(frozen=True)
class ToolCalls:
    """Makes the tool calls of a run, and records each call with its outcome."""

    storage: Storage
    run: RunRecord
    message: str
    tools: dict[str, Tool]
    """The tools by name. Connected MCP servers add their tools."""
    client_tools: Mapping[str, ClientToolDefinition]
    """The client tools by name. The program that started the run, its caller, executes them."""
    jobs: JobRunner
    schemas: SchemaValidator
    log: EventLog
    budget: RunBudget
    resources: AttemptResources
    _order: CallOrder = field(default_factory=CallOrder, init=False)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    @property
    def use_case(self) -> UseCaseContext:
        return self.storage.use_case

    async def call(self, key: str, name: str, given: dict[str, Any], asked_by: str | None) -> Outcome:
        """Make a tool call, or return the outcome that is already recorded under `key`.

        `asked_by` is the span of the model call that requested the tool call.
        """
        if name == port.PLAN and name in self.tools:
            return await self._show_plan(given)
        with self._order.add() as queued:
            async with self._opening:  # writes the events of parallel calls in the order of the calls
                call = await tool_calls.open_call(self.use_case, self.run, self.log.attempt, key, name, given)
                asked = {"client": True} if name in self.client_tools else {}
                # If a person changed the input before a takeover, `call.input` is the changed input.
                asked |= {"changed": True} if call.asked_input is not None else {}
                await self.log.append(
                    "tool.call", {"call_id": call.call_id, "tool": name, "input": call.input, **asked}
                )
            attributes = {**observing.attributes(self.run), "gen_ai.tool.call.id": call.call_id}
            with tool_span(self.use_case, name, call.input, asked_by, attributes) as span:
                note_changed_input(self.use_case, span, call)
                recorded = call.outcome and tool_calls.add_changes(call, call.outcome)
                outcome = recorded or await self._check_and_make(call, queued, span)
                note_outcome(self.use_case, span, outcome)
        content, is_error = outcome.content, outcome.error is not None
        result = {"call_id": call.call_id, "tool": name, "is_error": is_error, "content": content}
        await self.log.append("tool.result", result)
        return outcome

    async def _show_plan(self, given: dict[str, Any]) -> Outcome:
        """Show the agent's plan. Do not record this call: after a takeover, the plan comes from the checkpoint."""
        try:
            plan = port.validate(PlanInput, given)
        except ValidationError as error:
            return build_error("invalid_tool_input", port.describe_invalid_field(error)[1])
        await self.log.show_plan([step.model_dump() for step in plan.steps])
        return Outcome.from_text(SHOWN)

    async def _check_and_make(self, call: CallRecord, queued: QueuedCall, span: Span) -> Outcome:
        """Check the call's tool and input, wait for approval if required, and make the call."""
        if client_tool := self.client_tools.get(call.tool):
            queued.leave()
            return await self._check_and_request(call, client_tool, span)
        tool = self.tools.get(call.tool)
        if tool is None:
            return build_error("tool_not_found", f"There is no tool {call.tool!r}.")
        given = _read_input(tool, call)
        if isinstance(given, Outcome):
            return given
        # An earlier verdict still counts, even if the changed input or new settings would not require approval.
        if call.state in ("approved", "refused") or await self._needs_approval(tool, given):
            if not payloads.fits(_describe(call)):
                return build_error("invalid_tool_input", _TOO_LARGE_TO_APPROVE)
            queued.leave()
            task = LiveToolContext(self.storage, self.run.account, self.run.chat, call.key, run_id=self.run.run_id)
            try:
                diff = await tool.preview(given, task) if call.state in ("called", "waiting") else ""
            except WorkFailure as failure:
                return build_error(failure.code, failure.message)
            call = await self._wait_for_verdict(call, span, standing.durations(tool), diff)
            if call.state == "refused":
                return _build_refusal(call)
            # A person may have changed the input. Check it again, because approval must not bypass a check.
            given = _read_input(tool, call)
            if isinstance(given, Outcome):
                return tool_calls.add_changes(call, given)
        await queued.wait_turn(reads=tool.reads(call.input))
        perform = self._submit_and_follow if tool.asynchronous else self._run_directly
        return tool_calls.add_changes(call, await perform(call, tool, given))

    async def _check_and_request(self, call: CallRecord, tool: ClientToolDefinition, span: Span) -> Outcome:
        """Check a client tool's input, and wait for approval if required.

        Then request that the run's caller executes the call.
        """
        if fault := await self._find_misfit(call, tool):
            return build_error("invalid_tool_input", fault)
        if call.state in ("approved", "refused") or (self.use_case.settings.approve_effects and tool.effect):
            call = await self._wait_for_verdict(call, span, standing.FOR_RUN)
            if call.state == "refused":
                return _build_refusal(call)
            if fault := await self._find_misfit(call, tool):  # a person may have changed the input
                return tool_calls.add_changes(call, build_error("invalid_tool_input", fault))
        return tool_calls.add_changes(call, await self._request_answer(call))

    async def _find_misfit(self, call: CallRecord, tool: ClientToolDefinition) -> str | None:
        """Return why the input of a client tool's call is invalid, or None."""
        if not payloads.fits({**_describe(call), "expires_at": rfc3339(0)}):
            return _TOO_LARGE_FOR_CLIENT
        return await self.schemas.check_answer(json.dumps(call.input, ensure_ascii=False), tool.input_schema)

    async def _request_answer(self, call: CallRecord) -> Outcome:
        """Request that the run's caller executes the call, and return the caller's answer.

        If no answer comes in time, return the error `client_gone`.
        """
        with self.use_case.signals.watch(self.run.run_id) as watch:
            call = await client_calls.ask(self.use_case, self.run, self.log.attempt, call)
            assert call.expires_at is not None
            await self.log.append("client_call.waiting", {**_describe(call), "expires_at": rfc3339(call.expires_at)})
            while call.outcome is None:
                left = ((call.expires_at or 0) - self.use_case.now) / 1000
                await watch.wait(max(0.0, min(left, JOB_POLL_SECONDS)))
                call = await client_calls.refresh(self.use_case, call, build_error("client_gone", _NOT_ANSWERED))
        await tool_calls.end_wait(self.use_case, call, self.log.attempt)
        return call.outcome

    async def _needs_approval(self, tool: Tool, given: BaseModel) -> bool:
        """Return whether a person must approve the call (docs/privacy.md).

        Calls of some tools always need approval. With the setting `approve_effects`, calls with an effect need
        approval, too. So do calls that fetch an address, because an address can carry data to its host. But a fetch
        needs no approval if the host is an approved host, or if the run's message contains exactly this address.
        """
        settings = self.use_case.settings
        if tool.always_waits:
            return True
        if not settings.approve_effects or tool.effect:
            return settings.approve_effects
        fetched = [url for url in tool.fetches(given) if not matches_hosts(url, settings.approved_hosts)]
        # Use a thread, because the message may contain megabytes.
        return bool(fetched) and not (await asyncio.to_thread(find_addresses, self.message)).issuperset(fetched)

    async def _wait_for_verdict(
        self, call: CallRecord, span: Span, durations: Sequence[Lasts], diff: str = ""
    ) -> CallRecord:
        """Wait until a person approves or refuses the call. Return the call with the verdict.

        A standing approval, which a person gave earlier for further calls, approves the call at once. After a takeover,
        the new attempt waits again, or finds the verdict.

        Args:
            durations: how long a standing approval of this tool may last; empty if none is allowed.
            diff: what the call would change in a file.
        """
        if call.state in ("called", "waiting") and durations:
            await self.log.flush()
            call = await tool_calls.approve_in_advance(self.use_case, self.run, self.log.attempt, call) or call
        if call.state in ("called", "waiting"):
            call = await tool_calls.wait(self.use_case, self.run, self.log.attempt, call)
            with self.use_case.signals.watch(self.run.run_id) as watch:
                further: dict[str, Any] = {"standing": list(durations)} if durations else {}
                further |= {"diff": diff} if diff else {}
                await self.log.append("approval.requested", {**_describe(call), **further})
                while call.state == "waiting":
                    await watch.wait(JOB_POLL_SECONDS)
                    call = await tool_calls.get(self.use_case, call)
        # If the verdict came while no attempt was waiting, no event shows it yet, so append the event now.
        if call.state in ("approved", "refused") and call.waits_in is not None:
            await self.log.flush()
            await tool_calls.append_verdict(self.use_case, call, self.log.attempt)
        note_changed_input(self.use_case, span, call)
        return call

    async def _run_directly(self, call: CallRecord, tool: Tool, given: BaseModel) -> Outcome:
        """Run a synchronous tool. Fail if an earlier attempt began this call and the tool is not repeatable."""
        if call.state == "begun" and not repeatable(tool):
            return build_error("outcome_unknown", UNKNOWN)
        # Hold the money first, so that a call for which the run can't pay is not recorded as begun.
        if worst := price_of(tool.max_charges(given)):
            await self.budget.hold_charges(worst)
        if not repeatable(tool):
            # Record this before the call can have an effect. After a crash, a begun call may have had its effect, so it
            # is not repeated (docs/decisions/07).
            call = await self._move(call, "begun")
        run, key = self.run, f"{call.run_id}/{call.key}"
        task = LiveToolContext(
            self.storage, run.account, run.chat, key, run_id=run.run_id, log=self.log, resources=self.resources
        )
        try:
            outcome = await run_tool(tool, given, task)
        except WorkFailure as failure:
            outcome = build_error(failure.code, failure.message)
        except BaseException:
            # if the service is stopping, the run makes this call again later
            if task.charges and not self.jobs.supervisor.stopping:
                await self._store_outcome(call, build_error("outcome_unknown", _INTERRUPTED), task.charges)
            raise
        await self._store_outcome(call, outcome, task.charges)
        return outcome

    async def _store_outcome(self, call: CallRecord, outcome: Outcome, charges: Mapping[str, int]) -> None:
        """Store the call's outcome and charges.

        Retry until they are stored, even after a cancellation, because the call was made.
        """

        async def done() -> None:
            await tool_calls.move(self.use_case, self.run, self.log.attempt, call, "done", outcome, charges)

        await stopping.run_to_end(self.jobs.supervisor.store(self.run.run_id, done))

    async def _submit_and_follow(self, call: CallRecord, tool: Tool, given: BaseModel) -> Outcome:
        """Run an asynchronous tool as a job, and wait until the job ends.

        If an earlier attempt has submitted the job, wait for that job instead of submitting another one.
        """
        job = await self._earlier_job(call, tool) or await self._submit(call, tool, given)
        payload = {"job_id": job.job_id, "family": job.family, "tool": job.tool, "chat": job.chat}
        await self.log.append("job.submitted", payload)
        if self.use_case.process is None:  # with a shared database, the queue starts the job
            # An earlier attempt may have submitted the job. If the job already runs or has ended, `wake` does nothing
            # harmful.
            self.jobs.wake(job.job_id)
        try:
            job = await self._follow(job)
        except STORE_LOST:  # a new attempt at the run will follow the job
            raise
        except BaseException:
            # if the service is stopping, a new attempt at the run will follow the job later
            if not self.jobs.supervisor.stopping:
                await jobs.stop(self.use_case, job.job_id, self.run.run_id, self.log.attempt)
            raise
        for record in await files.find(self.use_case, job.chat, job.files):
            await self.log.append_file_written(record)
        error = (job.error["code"], job.error["message"]) if job.error else None
        # A cost limit ends the whole run, not only this call (docs/decisions/08).
        if error and error[0] == LIMIT_REACHED:
            raise WorkFailure(*error)
        if error is None and job.status == "cancelled":
            error = ("cancelled", "The job was cancelled.")
        outcome = Outcome(content=job.content, data=job.data, error=error, inline=job.kind != "files")
        await self._move(call, "done", outcome=outcome)
        return outcome

    async def _earlier_job(self, call: CallRecord, tool: Tool) -> JobRecord | None:
        """Return the job that was already submitted for this call. Return None if a job must be submitted.

        If this run continues a failed run, that run's job may have been cancelled or have reached the cost limit.
        The caller submits such a job again if the tool is repeatable.
        """
        if call.job_id is None:
            return None
        job = await self._find_job(call.job_id)
        if job.run_id == self.run.run_id or not repeatable(tool):
            return job
        job = await self._follow(job)
        stopped = job.status == "cancelled" or (job.error or {}).get("code") == LIMIT_REACHED
        return None if stopped else job

    async def _submit(self, call: CallRecord, tool: Tool, given: BaseModel) -> JobRecord:
        if worst := price_of(tool.max_charges(given)):
            # the job holds this amount, so the run holds only what it has spent
            await self.budget.hold_charges(0, worst)
        room = await self.budget.room()
        return await tool_calls.submit(self.use_case, self.run, self.log.attempt, call, tool, worst, room)

    async def _follow(self, job: JobRecord) -> JobRecord:
        """Wait until the job ends. Meanwhile, report the job's progress as progress of the run."""
        shown = job.progress
        with self.use_case.signals.watch(job.job_id) as watch:
            while True:
                found = await self._find_job(job.job_id)
                if found.progress != shown:
                    shown = found.progress
                    await self.log.progress(**shown)
                if found.status in JOB_TERMINAL:
                    return found
                await watch.wait(JOB_POLL_SECONDS)

    async def _find_job(self, job_id: str) -> JobRecord:
        found = await jobs.find(self.use_case, job_id)
        assert found is not None
        return found

    async def _move(self, call: CallRecord, state: State, outcome: Outcome | None = None) -> CallRecord:
        return await tool_calls.move(self.use_case, self.run, self.log.attempt, call, state, outcome)


def _read_input(tool: Tool, call: CallRecord) -> BaseModel | Outcome:
    """Validate the call's input with the tool's `Input` model. Return an error outcome for invalid input."""
    if payloads.size(call.input) > INPUT_MAX_BYTES:
        return build_error("invalid_tool_input", _TOO_LARGE)
    try:
        return port.validate(tool.Input, call.input)
    except ValidationError as error:
        return build_error("invalid_tool_input", port.describe_invalid_field(error)[1])


def _describe(call: CallRecord) -> dict[str, Any]:
    """Return the event fields that describe a call to the people who approve it or the callers that execute it."""
    return {"call_id": call.call_id, "tool": call.tool, "input": call.input}


def _build_refusal(call: CallRecord) -> Outcome:
    return build_error("not_approved", f"The user refused this call. {call.reason or ''}".strip())
