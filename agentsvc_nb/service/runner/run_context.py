"""The service's `agents.port.RunContext`: what an agent does with it becomes events, files, tool calls and jobs."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from agentsvc_nb.agents.port import ClientTool, EarlierTurn, MadeCall, ProjectRules, StepsExceeded
from agentsvc_nb.documents.schemas import SchemaValidator
from agentsvc_nb.service.accounts import money
from agentsvc_nb.service.accounts.money import cost_microcents
from agentsvc_nb.service.accounts.usage_records import MICROCENTS_MAX, Spent
from agentsvc_nb.service.chats import projects
from agentsvc_nb.service.files import files
from agentsvc_nb.service.files.file_records import Author
from agentsvc_nb.service.runner.event_log import EventLog
from agentsvc_nb.service.runner.jobs import JobRunner
from agentsvc_nb.service.runner.spans import ModelCalls
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.service.runner.tool_calls import ToolCalls
from agentsvc_nb.service.runner.workspace import ChatWorkspace
from agentsvc_nb.service.runs import attempts, runs, tool_calls
from agentsvc_nb.service.runs.call_records import CallRecord
from agentsvc_nb.service.runs.run_records import Ending, RunRecord
from agentsvc_nb.setting_values import DIRECT_CALL
from agentsvc_nb.tools.port import LIMIT_REACHED, RESERVED_NAMES, Outcome, RemoteTools, SentCall, Tool, WorkFailure
from agentsvc_nb.tools.workspace_port import WorkspaceEntry
from agentsvc_nb.wire.limits import OUTPUT_BYTES, STEPS_MAX
from agentsvc_nb.wire.runs import CENT, AnswerBasis, NewClientTool

TOO_LONG: Final = (
    f"The answer has more than {OUTPUT_BYTES:,} bytes; ask for a file instead, or for less. Its beginning is kept."
)

UNFINISHED_TOLD: Final = 3
"""Of so many of the latest turns that did not complete their calls are told."""
CALLS_TOLD: Final = 20

STEPS_ENDED: Final = "The run may take {steps:,} model steps, and needed more. Resume it to take as many again."


def _made(call: CallRecord) -> MadeCall:
    outcome = call.outcome or Outcome()
    texts = [str(block.get("text") or block) for block in outcome.content]
    texts += [json.dumps(outcome.data, ensure_ascii=False)] if outcome.data is not None else []
    return MadeCall(call.tool, json.dumps(call.input, ensure_ascii=False), "\n".join(texts))


class LiveRunContext:
    """`agents.port.RunContext` for one attempt at one run."""

    state: dict[str, Any] | None
    _basis: AnswerBasis | None
    _steps: int
    _before: int
    """Steps of the run that it was resumed from."""
    _spent: Spent
    _held: int
    """Micro-cents that the run holds for tokens, the spent ones included."""
    _charged: int
    """Micro-cents that the per-use charges of its calls may have come to."""
    _room: int
    """Bytes left of the `OUTPUT_BYTES` that the answer may have."""
    _connected: RemoteTools | None = None
    """The servers of tools that were asked for theirs."""
    _called: int
    """Number of tool calls in this step; part of the key of a call that has none from the agent."""

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
        self._storage = storage
        self._use_case = storage.use_case
        self._run = run
        self._tools = tools
        self._client_tools = {
            tool.name: ClientTool(tool.name, tool.description, tool.input_schema, tool.effect) for tool in client_tools
        }
        self._jobs = job_runner
        self._schemas = schemas
        self._remote = remote
        self._seen: dict[str, str] | None = None
        self._held = run.hold_microcents
        self._model_calls = ModelCalls(self._use_case, run)
        self._restore(saved)

    @property
    def said(self) -> str:
        return self._said.getvalue()

    async def misfit(self, text: str) -> str | None:
        config = self.output_config
        return await self._schemas.misfit(text, config) if config is not None else None

    async def attachments(self) -> Sequence[WorkspaceEntry]:
        return await files.find(self._use_case, self._run.chat, self._run.attachments)

    async def project(self) -> ProjectRules | None:
        found = await projects.of_chat(self._use_case, self._run.account, self._run.chat)
        if found is None:
            return None
        return ProjectRules(found.name, found.instructions, {skill.name: skill.description for skill in found.skills})

    async def earlier(self, limit: int) -> Sequence[EarlierTurn]:
        found = await runs.earlier(self._use_case, self._run, limit)
        unfinished = [run.run_id for run, _ in found if run.status != "completed"][:UNFINISHED_TOLD]
        calls = {run_id: await tool_calls.ended(self._use_case, run_id, CALLS_TOLD) for run_id in unfinished}
        return [
            EarlierTurn(
                message,
                run.output or "",
                run.status,
                runs.basis_of(run),
                run.run_id,
                run.attachments,
                ": ".join(filter(None, (run.last_error, run.last_error_message))),
                [_made(call) for call in calls.get(run.run_id, ())],
            )
            for run, message in found
        ]

    async def step(self) -> None:
        limit = self._run.max_steps
        if limit is not None and self._steps >= limit:
            raise WorkFailure(LIMIT_REACHED, STEPS_ENDED.format(steps=limit))
        await self._check_cost()
        if self._steps >= STEPS_MAX:
            raise StepsExceeded
        self._steps += 1
        self._called = 0
        await self.log.append_soon("step.started", {"step": self._steps}, self._used)
        self._model_calls.begin(self.log.attempt, self._steps)

    async def say(self, text: str) -> None:
        """Add to the answer. Raises `WorkFailure("output_too_long")` when it exceeds `OUTPUT_BYTES`, after writing what
        fits."""
        data = text.encode("utf-8", "replace")
        if too_long := len(data) > self._room:
            text = data[: self._room].decode("utf-8", "ignore")
        self._room -= len(data)
        self._said.write(text)
        await self.log.speak("text.delta", text)
        if too_long:
            raise WorkFailure("output_too_long", TOO_LONG)

    async def think(self, text: str) -> None:
        await self.log.speak("thinking.delta", text)

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        await self._calls.progress(done, total, message)

    async def warn(self, code: str, message: str) -> None:
        await self.log.append("warning", {"code": code, "message": message})

    def rests_on(self, basis: AnswerBasis) -> None:
        self._basis = basis

    async def write(self, path: str, data: bytes, *, output: tuple[str, str] | None = None) -> None:
        author = Author("output", self._run.run_id, *(output or (None, None)))
        record = await self.workspace.write(path, data, author)
        await self._calls.written(record)

    async def call(self, tool: str, given: dict[str, Any], key: str | None = None) -> Outcome:
        self._called += 1
        # A takeover repeats the step: the same call in the same place finds the recorded one, another call does not.
        asked = json.dumps([tool, given], sort_keys=True).encode()
        place = f"{self._before + self._steps}.{key or self._called}.{hashlib.sha256(asked).hexdigest()[:16]}"
        return await self._calls.call(place, tool, given)

    def tools(self) -> Sequence[Tool]:
        return list(self._tools.values())

    async def connect_tools(self) -> None:
        remote, self._remote = self._remote, None
        if remote is None:
            return
        self._connected = remote
        found = await remote.open({*self._tools, *self._client_tools, *RESERVED_NAMES}, self._seen, self.warn)
        self._tools = {**self._tools, **found}
        self._seen = remote.seen if self._seen is None else self._seen

    async def close(self) -> None:
        """End the connections to servers of tools."""
        if self._connected is not None:
            await self._connected.close()

    def client_tools(self) -> Sequence[ClientTool]:
        return list(self._client_tools.values())

    @property
    def _calls(self) -> ToolCalls:
        # Made for each use: one that is kept would hold this context, and a message and an answer of megabytes with it,
        # until the garbage collector comes by.
        asked_by = self._model_calls.parent(self.log.attempt)
        return ToolCalls(
            self._storage,
            self._run,
            "" if self.model == DIRECT_CALL else self.message,  # a model wrote that: its addresses are not approved
            self._tools,
            self._client_tools,
            self._jobs,
            self._schemas,
            self.log,
            self.hold_charges,
            self.room,
            asked_by,
        )

    async def hold(self, input_tokens: int, output_tokens: int, microcents: int | None = None) -> None:
        worst = self._cost(input_tokens, output_tokens, microcents)
        await self._check_cost(worst)
        needed = self._spent.cost_microcents + worst
        # A call that is covered by what is held already costs no write.
        if worst and needed > self._held:
            await attempts.hold(self._use_case, self._run, self.log.attempt, needed - worst, tokens=worst)
            self._held = needed

    async def hold_charges(self, microcents: int, of_job: int = 0) -> None:
        """Hold what the per-use charges of the next call may come to; its job holds those `of_job` itself."""
        await self._check_cost(microcents + of_job)
        self._charged += microcents + of_job
        spent = self._spent.cost_microcents
        await attempts.hold(self._use_case, self._run, self.log.attempt, spent, charges=microcents)
        self._held = spent

    async def room(self) -> int | None:
        limit = self._run.max_microcents
        return None if limit is None else max(limit - await self._cost_so_far(), 0)

    async def _check_cost(self, next_call: int = 0) -> None:
        """Raise `WorkFailure("limit_reached")` unless the run can pay `next_call` micro-cents more."""
        limit = self._run.max_microcents
        if limit is not None:
            money.check_run(limit, await self._cost_so_far(), next_call)

    async def _cost_so_far(self) -> int:
        in_jobs = await runs.spent_in_jobs(self._use_case, self._run.run_id)
        return self._spent.cost_microcents + self._charged + in_jobs.cost_microcents

    @property
    def _used(self) -> attempts.Used:
        return attempts.Used(self._steps, self._spent)

    def _cost(self, input_tokens: int, output_tokens: int, microcents: int | None) -> int:
        if microcents is None:
            microcents = cost_microcents(self._run.model, input_tokens, output_tokens)
        return min(microcents, MICROCENTS_MAX)

    async def sending(self, call: SentCall) -> bool:
        return await attempts.sending(self._use_case, self._run.run_id, call)

    def use(self, input_tokens: int, output_tokens: int, microcents: int | None = None) -> None:
        cost = self._cost(input_tokens, output_tokens, microcents)
        self._spent.use(input_tokens, output_tokens, cost)
        self._model_calls.used(input_tokens, output_tokens, cost)

    def use_uncounted(self) -> None:
        self._spent.uncounted = True

    async def checkpoint(self, state: dict[str, Any]) -> None:
        self.state = state
        self._model_calls.end()
        await self.log.flush()
        saved = {"state": state, "said": self.said, "counted": self.counted(), "called": self._called}
        saved |= {"before": self._before, "servers": self._seen}
        # What the calls so far did not use of their worst case is free again; no more than that is held unasked.
        at_start = self._use_case.settings.run_hold_cents * CENT
        self._held = max(self._spent.cost_microcents, min(self._held, at_start))
        await attempts.checkpoint(self._use_case, self._run.run_id, self.log.attempt, saved, self._held, self._used)

    async def rewind(self) -> None:
        self._model_calls.rewound()
        await self.log.flush()
        run_id = self._run.run_id
        record = await attempts.resume(self._use_case, run_id, self.log.attempt)
        if record is None:
            raise attempts.LostRun(run_id)
        self.log.attempt = record.attempt
        spent, charged = self._spent, self._charged
        self._restore(await runs.saved(self._use_case, run_id))
        self._spent, self._charged = spent, charged

    def counted(self) -> dict[str, Any]:
        """Steps, tokens and cost so far, as stored in a checkpoint."""
        return {"steps": self._steps, "charged": self._charged, **asdict(self._spent)}

    def ending(self, status: str, **fields: Any) -> Ending:
        """An `Ending` with the steps and usage so far, and of a completed run what its answer rests on."""
        self._model_calls.end(fields.get("last_error"))
        basis = self._basis.model_dump(mode="json") if self._basis and status == "completed" else None
        return Ending(status, **fields, basis=basis, steps=self._steps, spent=self._spent)

    def _restore(self, checkpoint: dict[str, Any]) -> None:
        """Continue from a checkpoint; from the beginning with an empty one."""
        counted = dict(checkpoint.get("counted", {}))
        self.state = checkpoint.get("state")
        self._basis = None
        seen = checkpoint.get("servers")
        self._seen = self._seen if seen is None else seen
        said = checkpoint.get("said", "")
        self._said = io.StringIO()  # a list of its pieces would take 60 bytes each
        self._said.write(said)
        self._room = OUTPUT_BYTES - len(said.encode("utf-8", "replace"))
        self._steps = counted.pop("steps", 0)
        self._before = checkpoint.get("before", 0)
        self._charged = counted.pop("charged", 0)
        self._spent = Spent(**counted)
        self._called = checkpoint.get("called", 0)
