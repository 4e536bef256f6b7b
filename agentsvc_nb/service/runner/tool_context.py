"""Implement `tools.port.ToolContext`: files belong to the chat, media and landing pages to the account."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Final, TypeVar, cast, get_args

from pydantic import BaseModel

from agentsvc_nb import clock
from agentsvc_nb.service import payloads
from agentsvc_nb.service.accounts.usage_records import MICROCENTS_MAX, ModelUsage
from agentsvc_nb.service.chats import projects
from agentsvc_nb.service.chats.chat_records import ChatRecord
from agentsvc_nb.service.files.file_records import FileOrigin
from agentsvc_nb.service.jobs import jobs
from agentsvc_nb.service.jobs.job_records import JobRecord
from agentsvc_nb.service.media import media
from agentsvc_nb.service.media.media_records import MediaFacts
from agentsvc_nb.service.new_ids import new_id
from agentsvc_nb.service.runner.event_log import EventLog
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.service.runner.workspace import ChatWorkspace
from agentsvc_nb.service.runs import attempts, observing, tool_calls
from agentsvc_nb.service.runs.call_records import CallRecord
from agentsvc_nb.service.telemetry import tracing
from agentsvc_nb.service.telemetry.tracing import NO_SPAN, Span
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.tools.port import Outcome, OutgoingCall, Tool, WorkFailure
from agentsvc_nb.tools.workspace_port import SUMMARY, StoredMedia
from agentsvc_nb.wire.limits import CODE_CHARS, MESSAGE_CHARS, RESULT_BYTES
from agentsvc_nb.wire.resources import MediaKind
from agentsvc_nb.wire.runs import CENT

T = TypeVar("T")
log = logging.getLogger(__name__)
_SPAN_NAME_CHARS: Final = 100
_ARGUMENTS: Final = "gen_ai.tool.call.arguments"


class AttemptResources:
    """Contains the resources that tools keep open between their calls (`ToolContext.keep_open`).

    Each tool has at most one resource. The resources are closed when the attempt at the run ends.
    """

    def __init__(self, use_case: UseCaseContext, run_id: str) -> None:
        self._use_case = use_case
        self._run_id = run_id
        self._opening = asyncio.Lock()
        self._opened: dict[str, Any] = {}
        self._contexts = contextlib.AsyncExitStack()

    async def keep_open(self, tool: str, opened: Callable[[bool], AbstractAsyncContextManager[T]]) -> T:
        async with self._opening:
            if tool not in self._opened:
                called_before = await tool_calls.has_outcome(self._use_case, self._run_id, tool)
                self._opened[tool] = await self._contexts.enter_async_context(opened(called_before))
            return cast(T, self._opened[tool])

    async def close(self) -> None:
        await self._contexts.aclose()


class LiveToolContext:
    """Implements `tools.port.ToolContext` for one tool call.

    The call belongs to a run (with the run's `log`) or to a job, or is a direct call.

    Attributes:
        spent: the tool's language model usage so far.
        charges: the number of charged units by kind. The code that runs the tool stores them, even if the tool fails.
        charges_held: the micro-cents that the job holds for per-use charges.
        written: the paths of the files that the tool wrote.
    """

    def __init__(
        self,
        storage: Storage,
        account: str,
        chat: str,
        key: str,
        *,
        run_id: str | None = None,
        log: EventLog | None = None,
        resources: AttemptResources | None = None,
        job: JobRecord | None = None,
        model: str | None = None,
    ) -> None:
        settings = storage.use_case.settings
        self.key = key
        self.fetch_only = settings.approved_hosts if settings.approve_effects and run_id else None
        self.model = model or settings.offered[0]
        self.metrics = storage.use_case.metrics
        self.workspace = ChatWorkspace(storage, chat)
        self.spent = ModelUsage()
        self.charges: dict[str, int] = {}
        self.charges_held = 0
        self.written: list[str] = []
        self._storage = storage
        self._use_case = storage.use_case
        self._account = account
        self._run_id = run_id
        self._log = log
        self._resources = resources
        self._job = job

    async def keep_open(self, tool: str, opened: Callable[[bool], AbstractAsyncContextManager[T]]) -> T:
        assert self._resources is not None, "only a run's own calls hold something"
        return await self._resources.keep_open(tool, opened)

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        if self._log is not None:
            await self._log.progress(done, total, message)
        elif self._job is not None:
            value = {"done": done, "total": total, "message": message[:MESSAGE_CHARS]}
            await jobs.report(self._use_case, self._job, value)

    async def room(self) -> int | None:
        limit = None if self._job is None else self._job.max_microcents
        return None if limit is None else max(limit - self.spent.cost_microcents, 0)

    async def hold(self, input_tokens: int, output_tokens: int, microcents: int) -> None:
        if self._job is not None and microcents:
            worst = min(microcents, MICROCENTS_MAX)
            await jobs.hold(self._use_case, self._job, self.spent.cost_microcents, worst, self.charges_held)

    def use(self, input_tokens: int, output_tokens: int, microcents: int) -> None:
        self.spent.use(input_tokens, output_tokens, microcents)
        self.metrics.count_model_call(self.model, input_tokens, output_tokens, microcents / CENT)

    def charge(self, kind: str) -> None:
        self.charges[kind] = self.charges.get(kind, 0) + 1

    async def sending(self, call: OutgoingCall) -> bool:
        return await attempts.record_sending(self._use_case, self._run_id, call) if self._run_id else False

    def use_uncounted(self) -> None:
        self.spent.uncounted = True

    async def write(self, path: str, data: bytes, *, output: tuple[str, str] | None = None) -> None:
        if path == SUMMARY:
            said = f"{path} is the agent's own summary of the chat, so nothing was written. Write to another file."
            raise WorkFailure("file_protected", said)
        author = FileOrigin("output", self._run_id, *(output or (None, None)))
        record = await self.workspace.write(path, data, author)
        self.written.append(record.path)
        if self._log is not None:
            await self._log.append_file_written(record)

    async def instructions(self) -> str:
        project = await projects.get_by_chat(self._use_case, self._account, self.workspace.chat)
        if project is None:
            raise WorkFailure("project_required", "This chat does not belong to a project.")
        return project.instructions

    async def change_instructions(self, change: Callable[[str], str]) -> None:
        if not await projects.change_instructions(self._use_case, self._account, self.workspace.chat, change):
            raise WorkFailure("project_required", "This chat does not belong to a project.")

    async def keep_whole(self, what: str, document: Any) -> str:
        """Write a document to a file in `logs/`, because a result can't contain all of it. Return the file's path."""
        return await self.workspace.keep_whole(what, document, FileOrigin("output", self._run_id))

    async def keep_page(self, url: str) -> str:
        return (await media.save_page(self._use_case, self._account, url)).id

    async def keep_media(self, name: str, data: bytes, source: str, url: str) -> str | None:
        content = await self._storage.store(name, data)
        kind = content.media_type.partition("/")[0]
        if kind not in get_args(MediaKind):
            return None  # the garbage collection removes the stored blob
        facts = MediaFacts(cast(MediaKind, kind), source, url)
        return (await media.find_or_add(self._use_case, self._account, content, facts)).id

    async def media(self, media_id: str) -> StoredMedia | None:
        found = await media.find(self._use_case, self._account, media_id)
        if found is None:
            return None
        opened = partial(self._storage.blobs.file, found.sha256)
        return StoredMedia(found.id, found.kind, found.url, found.duration_s, found.transcript, opened)

    async def keep_transcript(self, media_id: str, transcript: Mapping[str, Any]) -> None:
        await media.save_transcript(self._use_case, self._account, media_id, transcript)


async def run_tool(tool: Tool, given: BaseModel, task: LiveToolContext) -> Outcome:
    """Run the tool, update the metrics, and return the outcome. `_shorten` shortens a large outcome."""
    began, code = clock.monotonic(), None
    try:
        outcome = await tool.run(given, task)
        code = None if outcome.error is None else outcome.error[0]
    except WorkFailure as failure:
        code = failure.code
        raise
    except Exception:  # not `BaseException`, because a cancelled tool has not failed
        code = "agent_error"
        raise
    finally:
        task.metrics.count_tool_call(tool.name, clock.monotonic() - began, code)
    if outcome.error is not None:
        code, message = outcome.error
        outcome = outcome.model_copy(update={"error": (code[:CODE_CHARS], message[:MESSAGE_CHARS])})
    size = await asyncio.to_thread(payloads.size, [outcome.content, outcome.data])
    return outcome if size <= RESULT_BYTES else await _shorten(outcome, task)


async def _shorten(outcome: Outcome, task: LiveToolContext) -> Outcome:
    """Write the whole outcome to a file, and return an outcome of at most `RESULT_BYTES`.

    Content may take half of the bytes. Data that do not fit into the other half are left out.
    """
    path = await task.keep_whole("result", {"content": outcome.content, "data": outcome.data})
    half = RESULT_BYTES // 2
    kept = await asyncio.to_thread(payloads.shorten, {"content": outcome.content}, half - 1_000)
    told = {"type": "text", "text": f"This result is shortened. The chat's file {path} contains all of it."}
    data = outcome.data if await asyncio.to_thread(payloads.size, outcome.data) <= half else None
    return outcome.model_copy(update={"content": [*kept["content"], told], "data": data})


def tool_span(
    context: UseCaseContext,
    tool: str,
    given: BaseModel | dict[str, Any],
    parent: str | None,
    attributes: Mapping[str, str | int],
) -> Span:
    """Begin a span for a tool call."""
    if not context.tracing.on:
        return NO_SPAN
    name = tool[:_SPAN_NAME_CHARS]  # a model may have invented the tool's name
    found = {**attributes, "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    found["gen_ai.tool.type"] = "function"
    if context.tracing.content:
        plain = given.model_dump(mode="json") if isinstance(given, BaseModel) else given
        found[_ARGUMENTS] = observing.truncate(payloads.encode(plain))
    return context.tracing.begin(f"execute_tool {name}", "internal", parent, found)


def note_changed_input(context: UseCaseContext, span: Span, call: CallRecord) -> None:
    """If a person changed the call's input, record that and the new input in the call's span."""
    if call.asked_input is not None:
        arguments = {_ARGUMENTS: observing.truncate(payloads.encode(call.input))} if context.tracing.content else {}
        span.set({"agentsvc.tool.input_changed": True, **arguments})


def note_outcome(context: UseCaseContext, span: Span, outcome: Outcome) -> None:
    """Record a tool's outcome in the span of its call. If the outcome is an error, end the span."""
    if context.tracing.content:
        span.set({"gen_ai.tool.call.result": observing.truncate(payloads.encode(outcome.content))})
    if outcome.error is not None:
        span.end(outcome.error[0])


async def execute(storage: Storage, tool: Tool, given: BaseModel, chat: ChatRecord, charges: dict[str, int]) -> Outcome:
    """Execute a direct call: run the tool in the chat's workspace, and return the tool's outcome.

    Count the tool's charges in `charges`, even if the tool is cancelled. If the tool fails, the outcome contains the
    error.
    """
    task = LiveToolContext(storage, chat.account, chat.id, new_id("call"))
    task.charges = charges
    context = storage.use_case
    with tool_span(context, tool.name, given, tracing.get_current(), {"gen_ai.conversation.id": chat.id}) as span:
        try:
            outcome = await run_tool(tool, given, task)
        except WorkFailure as failure:
            outcome = build_error(failure.code, failure.message)
        except Exception:
            log.exception("the tool %s failed", tool.name)
            outcome = build_error("agent_error", "The tool failed unexpectedly. The service's log has the details.")
        note_outcome(context, span, outcome)
    return outcome


def build_error(code: str, message: str) -> Outcome:
    """Return an outcome with this error."""
    return Outcome(content=[{"type": "text", "text": message}], error=(code, message))
