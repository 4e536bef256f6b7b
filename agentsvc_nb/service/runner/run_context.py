"""Implement `agents.port.RunContext`, through which an agent writes its answer, files and events, and calls tools."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final, Protocol

from agentsvc_nb.agents.port import ClientToolDefinition, EarlierTurn, MadeCall, ProjectRules, StepsExceeded
from agentsvc_nb.documents.schemas import SchemaValidator
from agentsvc_nb.model_names import DIRECT_CALL
from agentsvc_nb.service.accounts.usage_records import ModelUsage
from agentsvc_nb.service.chats import projects
from agentsvc_nb.service.files import files
from agentsvc_nb.service.files.file_records import FileOrigin
from agentsvc_nb.service.runner.budget import RunBudget
from agentsvc_nb.service.runner.event_log import EventLog
from agentsvc_nb.service.runner.jobs import JobRunner
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.service.runner.tool_calls import ToolCalls
from agentsvc_nb.service.runner.tool_context import AttemptResources
from agentsvc_nb.service.runner.workspace import ChatWorkspace
from agentsvc_nb.service.runs import attempts, observing, runs, tool_calls
from agentsvc_nb.service.runs.call_records import CallRecord
from agentsvc_nb.service.runs.run_records import RunEnding, RunRecord
from agentsvc_nb.service.telemetry.tracing import NO_SPAN
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.tools.port import LIMIT_REACHED, RESERVED_NAMES, Outcome, OutgoingCall, Tool, WorkFailure
from agentsvc_nb.tools.workspace_port import WorkspaceEntry
from agentsvc_nb.wire.limits import OUTPUT_BYTES, STEPS_MAX
from agentsvc_nb.wire.runs import CENT, AnswerBasis, NewClientTool

TOO_LONG: Final = (
    f"The answer has more than {OUTPUT_BYTES:,} bytes. Only its beginning is stored. Ask for a shorter "
    "answer or a file."
)

CALLS_MAX: Final = 20
"""The maximum number of an earlier turn's tool calls to show to the agent. If there are more, it gets the last ones."""

STEPS_USED_UP: Final = "The run has used all of its {steps:,} model steps. Resume it for as many steps again."


def _to_made_call(call: CallRecord) -> MadeCall:
    outcome = call.outcome or Outcome()
    texts = [str(block.get("text") or block) for block in outcome.content]
    texts += [json.dumps(outcome.data, ensure_ascii=False)] if outcome.data is not None else []
    result = "\n".join(texts) if outcome.error is None else ": ".join(outcome.error)
    given = json.dumps(call.input, ensure_ascii=False)
    return MadeCall(call.tool, given, result, call.call_id, failed=outcome.error is not None)


class RemoteTools(Protocol):
    """Connects one attempt at a run to the tools of MCP servers.

    `seen` contains a hash of each tool's description by the tool's name, so that later changes are noticed.
    """

    seen: dict[str, str]

    async def open(
        self, taken: Container[str], seen: Mapping[str, str] | None
    ) -> tuple[dict[str, Tool], list[tuple[str, str]]]:
        """Connect to the servers. Return the tools by name, and warnings, each with a code and a message.

        Args:
            taken: tool names that are already in use.
            seen: hashes of the tool descriptions when the run started, or None if the run is just starting. Tools whose
                description has changed since are left out.
        """
        ...

    async def close(self) -> None: ...


class LiveRunContext:
    """Implements `agents.port.RunContext` for one attempt at a run."""

    state: dict[str, Any] | None
    _basis: AnswerBasis | None
    _steps: int
    _earlier_steps: int
    """If this run continues another run, the number of steps in that other run."""
    _bytes_left: int
    """The number of bytes that the answer may still have, out of `OUTPUT_BYTES`."""
    _connected: RemoteTools | None = None
    """The connected MCP servers. None before `connect_tools`."""
    _calls_in_step: int
    """The number of tool calls in this step so far. It is part of a call's key if the agent provides no key."""

    def __init__(
        self,
        storage: Storage,
        run: RunRecord,
        message: str,
        saved: dict[str, Any],
        client_tools: Sequence[NewClientTool],
        tools: Mapping[str, Tool],
        job_runner: JobRunner,
        schemas: SchemaValidator,
        remote: RemoteTools | None = None,
    ) -> None:
        self.message = message
        self.output_config = run.output_config
        self.model = run.model
        self.effort = run.effort
        self.workspace = ChatWorkspace(storage, run.chat)
        self.log = EventLog(storage, run)
        self._use_case = storage.use_case
        self._run = run
        self.budget = RunBudget(self._use_case, run, self.log)
        self._resources = AttemptResources(self._use_case, run.run_id)
        self._calls = ToolCalls(
            storage,
            run,
            # a model wrote this message, so addresses in it are not approved
            "" if run.model == DIRECT_CALL else message,
            dict(tools),
            {
                tool.name: ClientToolDefinition(tool.name, tool.description, tool.input_schema, tool.effect)
                for tool in client_tools
            },
            job_runner,
            schemas,
            self.log,
            self.budget,
            self._resources,
        )
        self._schemas = schemas
        self._remote = remote
        self._seen: dict[str, str] | None = None
        self._model_calls = ModelCallSpans(self._use_case, run)
        self._restore(saved)

    @property
    def said(self) -> str:
        return self._said.getvalue()

    @property
    def output_text(self) -> str | None:
        """The text so far, as the run's output. None if no text exists."""
        return self.said.removesuffix("\n") or None

    async def misfit(self, text: str) -> str | None:
        config = self.output_config
        return await self._schemas.check_answer(text, config) if config is not None else None

    async def attachments(self) -> Sequence[WorkspaceEntry]:
        return await files.find(self._use_case, self._run.chat, self._run.attachments)

    async def project(self) -> ProjectRules | None:
        found = await projects.get_by_chat(self._use_case, self._run.account, self._run.chat)
        if found is None:
            return None
        return ProjectRules(found.name, found.instructions, {skill.name: skill.description for skill in found.skills})

    async def earlier(self, limit: int) -> Sequence[EarlierTurn]:
        found = await runs.list_earlier(self._use_case, self._run, limit)
        run_ids = [run.run_id for run, _ in found]
        calls = await tool_calls.list_ended(self._use_case, run_ids, CALLS_MAX)
        changes = await files.list_changes(self._use_case, run_ids)
        paths = sorted({path for run, _ in found for path in run.attachments})
        replaced = await files.get_replacement_times(self._use_case, self._run.chat, paths)
        return [
            EarlierTurn(
                message,
                run.output or "",
                run.status,
                run.basis_kind,
                run.run_id,
                [path for path in run.attachments if replaced.get(path, -1) < run.created_at],
                ": ".join(filter(None, (run.last_error, run.last_error_message))),
                [_to_made_call(call) for call in calls[run.run_id]],
                {change.path: change.version for change in changes[run.run_id]},
                undone=run.undone_at is not None,
            )
            for run, message in found
        ]

    async def calls(self) -> Sequence[MadeCall]:
        found = await tool_calls.list_ended(self._use_case, [self._run.run_id], CALLS_MAX)
        return [_to_made_call(call) for call in found[self._run.run_id]]

    async def step(self) -> None:
        limit = self._run.max_steps
        if limit is not None and self._steps >= limit:
            raise WorkFailure(LIMIT_REACHED, STEPS_USED_UP.format(steps=limit))
        await self.budget.check()
        if self._steps >= STEPS_MAX:
            raise StepsExceeded
        self._steps += 1
        self._calls_in_step = 0
        await self.log.append_soon("step.started", {"step": self._steps}, self._usage)
        self._model_calls.begin(self.log.attempt, self._steps)

    async def say(self, text: str) -> None:
        """Append text to the answer.

        If the answer becomes too long, append only what fits, and raise `WorkFailure("output_too_long")`.
        """
        data = text.encode("utf-8", "replace")
        if too_long := len(data) > self._bytes_left:
            text = data[: self._bytes_left].decode("utf-8", "ignore")
        self._bytes_left -= len(data)
        self._said.write(text)
        await self.log.append_text("text.delta", text)
        if too_long:
            raise WorkFailure("output_too_long", TOO_LONG)

    async def think(self, text: str) -> None:
        await self.log.append_text("thinking.delta", text)

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        await self.log.progress(done, total, message)

    async def warn(self, code: str, message: str) -> None:
        await self.log.append("warning", {"code": code, "message": message})

    def rests_on(self, basis: AnswerBasis) -> None:
        self._basis = basis

    async def write(self, path: str, data: bytes, *, output: tuple[str, str] | None = None) -> None:
        author = FileOrigin("output", self._run.run_id, *(output or (None, None)))
        record = await self.workspace.write(path, data, author)
        await self.log.append_file_written(record)

    async def call(self, tool: str, given: dict[str, Any], key: str | None = None) -> Outcome:
        self._calls_in_step += 1
        # A takeover repeats the step. The key contains the call's input, so that only the same call finds a recorded
        # call.
        asked = json.dumps([tool, given], sort_keys=True).encode()
        place = (
            f"{self._earlier_steps + self._steps}.{key or self._calls_in_step}.{hashlib.sha256(asked).hexdigest()[:16]}"
        )
        return await self._calls.call(place, tool, given, self._model_calls.parent(self.log.attempt))

    def tools(self) -> Sequence[Tool]:
        return list(self._calls.tools.values())

    async def connect_tools(self) -> None:
        remote, self._remote = self._remote, None
        if remote is None:
            return
        self._connected = remote
        taken = {*self._calls.tools, *self._calls.client_tools, *RESERVED_NAMES}
        tools, warnings = await remote.open(taken, self._seen)
        for code, message in warnings:
            await self.warn(code, message)
        self._calls.tools.update(tools)
        self._seen = remote.seen if self._seen is None else self._seen

    async def close(self) -> None:
        """Close the connections to MCP servers, and the resources that tools keep open."""
        await self._resources.close()
        if self._connected is not None:
            await self._connected.close()

    def client_tools(self) -> Sequence[ClientToolDefinition]:
        return list(self._calls.client_tools.values())

    async def hold(self, input_tokens: int, output_tokens: int, microcents: int | None = None) -> None:
        await self.budget.hold_tokens(input_tokens, output_tokens, microcents)

    async def room(self) -> int | None:
        return await self.budget.room()

    @property
    def _usage(self) -> attempts.AgentUsage:
        return attempts.AgentUsage(self._steps, self.budget.spent)

    async def sending(self, call: OutgoingCall) -> bool:
        return await attempts.record_sending(self._use_case, self._run.run_id, call)

    def use(self, input_tokens: int, output_tokens: int, microcents: int | None = None) -> None:
        cost = self.budget.use(input_tokens, output_tokens, microcents)
        self._model_calls.record_usage(input_tokens, output_tokens, cost)

    def use_uncounted(self) -> None:
        self.budget.spent.uncounted = True

    async def checkpoint(self, state: dict[str, Any]) -> None:
        self.state = state
        self._model_calls.end()
        await self.log.flush()
        saved = {"state": state, "said": self.said, "counted": self.count_usage(), "called": self._calls_in_step}
        saved |= {"before": self._earlier_steps, "servers": self._seen, "plan": self.log.plan}
        held = self.budget.release_unused()
        await attempts.checkpoint(self._use_case, self._run.run_id, self.log.attempt, saved, held, self._usage)

    async def rewind(self) -> None:
        self._model_calls.end_rewound()
        await self.log.flush()
        run_id = self._run.run_id
        record = await attempts.resume(self._use_case, run_id, self.log.attempt)
        if record is None:
            raise attempts.LostRun(run_id)
        self.log.attempt = record.attempt
        spent, charged = self.budget.spent, self.budget.charged
        self._restore(await runs.get_state(self._use_case, run_id))
        self.budget.spent, self.budget.charged = spent, charged

    def count_usage(self) -> dict[str, Any]:
        """Return the steps, charges and usage so far, to store in a checkpoint."""
        return {"steps": self._steps, "charged": self.budget.charged, **asdict(self.budget.spent)}

    def build_ending(self, status: str, **fields: Any) -> RunEnding:
        """Build the run's `RunEnding` with the steps and usage so far.

        If the run completed, add the basis of the answer (`wire.runs.Basis`).
        """
        self._model_calls.end(fields.get("last_error"))
        basis = self._basis.model_dump(mode="json") if self._basis and status == "completed" else None
        return RunEnding(status, **fields, basis=basis, steps=self._steps, spent=self.budget.spent)

    def _restore(self, checkpoint: dict[str, Any]) -> None:
        """Restore the run's state from a checkpoint. An empty checkpoint restores the initial state."""
        counted = dict(checkpoint.get("counted", {}))
        self.state = checkpoint.get("state")
        self._basis = None
        seen = checkpoint.get("servers")
        self._seen = self._seen if seen is None else seen
        said = checkpoint.get("said", "")
        self._said = io.StringIO()  # a list of pieces would need 60 bytes per piece
        self._said.write(said)
        self._bytes_left = OUTPUT_BYTES - len(said.encode("utf-8", "replace"))
        self._steps = counted.pop("steps", 0)
        self._earlier_steps = checkpoint.get("before", 0)
        self.budget.charged = counted.pop("charged", 0)
        self.budget.spent = ModelUsage(**counted)
        self._calls_in_step = checkpoint.get("called", 0)
        self.log.plan = checkpoint.get("plan", [])


class ModelCallSpans:
    """Records a tracing span for each model call of a run.

    A span lasts from the start of a step to the next checkpoint.
    """

    def __init__(self, context: UseCaseContext, run: RunRecord) -> None:
        self._context = context
        self._run = run
        self._span = NO_SPAN
        self._parent: str | None = None
        self._usage = [0, 0, 0]

    def parent(self, attempt: int) -> str | None:
        """Return the parent span for new tool calls: the span of the last model call.

        Before the first model call, return the span of the attempt.
        """
        return self._parent or observing.attempt_span(self._run, attempt)

    def begin(self, attempt: int, step: int) -> None:
        self.end()
        found = {**observing.attributes(self._run), "gen_ai.operation.name": "chat", "agentsvc.step": step}
        name = f"chat {found['gen_ai.request.model']}"
        self._span = self._context.tracing.begin(name, "client", observing.attempt_span(self._run, attempt), found)
        self._parent = self._span.traceparent
        self._usage = [0, 0, 0]

    def record_usage(self, input_tokens: int, output_tokens: int, microcents: int) -> None:
        metrics = self._context.metrics
        metrics.count_model_call(self._run.model, input_tokens, output_tokens, microcents / CENT)
        self._usage = [a + b for a, b in zip(self._usage, (input_tokens, output_tokens, microcents), strict=True)]

    def end(self, error: str | None = None) -> None:
        """End the span of the current model call, if there is one."""
        span, self._span = self._span, NO_SPAN
        if span is not NO_SPAN:
            span.set(observing.usage_attributes(*self._usage))
            span.end(error)

    def end_rewound(self) -> None:
        """End the current span, because another attempt continues from the last checkpoint."""
        self.end("rewound")
        self._parent = None
