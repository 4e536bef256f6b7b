"""The spans of an attempt's model calls and tool calls, and what both add to the metrics."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel

from agentsvc_nb.service import payloads
from agentsvc_nb.service.runs import observing
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.service.telemetry import tracing
from agentsvc_nb.service.telemetry.tracing import NO_SPAN, Span
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.tools.port import Outcome
from agentsvc_nb.wire.runs import CENT

_NAME_CHARS: Final = 100


class ModelCalls:
    """The model calls of a run, one after the other. Each is a span from its step until its checkpoint."""

    def __init__(self, context: UseCaseContext, run: RunRecord) -> None:
        self._context = context
        self._run = run
        self._span = NO_SPAN
        self._parent: str | None = None
        self._used = [0, 0, 0]

    def parent(self, attempt: int) -> str | None:
        """The span that asked for the tool calls that are made now: the last model call, else the attempt."""
        return self._parent or observing.attempt_span(self._run, attempt)

    def begin(self, attempt: int, step: int) -> None:
        self.end()
        found = {**observing.of_run(self._run), "gen_ai.operation.name": "chat", "agentsvc.step": step}
        name = f"chat {found['gen_ai.request.model']}"
        self._span = self._context.tracing.begin(name, "client", observing.attempt_span(self._run, attempt), found)
        self._parent = self._span.traceparent
        self._used = [0, 0, 0]

    def used(self, input_tokens: int, output_tokens: int, microcents: int) -> None:
        metrics = self._context.metrics
        metrics.model_used(self._run.model, input_tokens, output_tokens, microcents / CENT)
        self._used = [a + b for a, b in zip(self._used, (input_tokens, output_tokens, microcents), strict=True)]

    def end(self, error: str | None = None) -> None:
        """End the call that is under way, if any."""
        span, self._span = self._span, NO_SPAN
        if span is not NO_SPAN:
            span.set(observing.usage(*self._used))
            span.end(error)

    def rewound(self) -> None:
        """Another attempt goes on from here."""
        self.end("rewound")
        self._parent = None


def tool_call(context: UseCaseContext, run: RunRecord, parent: str | None, call_id: str, tool: str, given: Any) -> Span:
    """Begin the span of a call that the agent of a run made."""
    if not context.tracing.on:
        return NO_SPAN
    return _tool_call(context, {**observing.of_run(run), "gen_ai.tool.call.id": call_id}, parent, tool, given)


def tool_call_of_request(context: UseCaseContext, tool: str, chat: str, given: BaseModel) -> Span:
    """Begin the span of a tool that a caller invoked, or submitted as a job."""
    if not context.tracing.on:
        return NO_SPAN
    return _tool_call(context, {"gen_ai.conversation.id": chat}, tracing.current(), tool, given.model_dump(mode="json"))


def _tool_call(context: UseCaseContext, found: dict[str, str | int], parent: str | None, tool: str, given: Any) -> Span:
    name = tool[:_NAME_CHARS]  # a model may have made it up
    found |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.type": "function"}
    if context.tracing.content:
        found["gen_ai.tool.call.arguments"] = observing.shown(payloads.encode(given))
    return context.tracing.begin(f"execute_tool {name}", "internal", parent, found)


def tool_returned(context: UseCaseContext, span: Span, outcome: Outcome) -> None:
    """Note what a tool returned, before its span ends."""
    if context.tracing.content:
        span.set({"gen_ai.tool.call.result": observing.shown(payloads.encode(outcome.content))})
    if outcome.error is not None:
        span.end(outcome.error[0])
