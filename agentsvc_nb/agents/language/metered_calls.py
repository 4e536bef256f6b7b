"""Meter calls of language models: reserve each call's cost, record sent data (docs/privacy.md), and count tokens."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from pydantic_ai import AgentRun, BinaryContent, ModelMessage, ModelRequestNode, ModelResponse
from pydantic_ai import RunContext as ModelContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelAPIError, UnexpectedModelBehavior
from pydantic_ai.messages import TextPart, ToolCallPart, ToolSearchReturnPart, UserPromptPart
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.result import AgentStream
from pydantic_ai.settings import merge_model_settings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from agentsvc_nb.agents.language import briefing
from agentsvc_nb.agents.language.errors import LOST, check_response, error_reason, is_lost, is_too_long
from agentsvc_nb.agents.language.retry import ContextExceeded, ModelUnavailable
from agentsvc_nb.agents.language.served_models import ServedModel
from agentsvc_nb.agents.language.tokens import (
    ADDED_MOST,
    Budget,
    TokenEstimate,
    estimate_messages,
    estimate_overhead,
)
from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.tools.port import LIMIT_REACHED, Meter, OutgoingCall, OutgoingPart, WorkFailure
from agentsvc_nb.wire.runs import Effort

_RECORDED_CHARS: Final = 500
"""The maximum number of characters to record of each part of a request."""
_ANSWER_LEAST: Final = 1_000
"""The minimum number of output tokens of a normal call. With less money, the model gives a closing answer instead."""
_CLOSING_LEAST: Final = 300
"""The minimum number of output tokens of a closing answer."""
CLOSING_INPUT: Final = 6_000
CLOSING_ANSWER: Final = 1_500
"""If `MeteredCalls.reserves` is set, a call leaves money for a closing answer with `CLOSING_INPUT` input tokens and
this number of output tokens, but at most a quarter of the money that the run has left.
"""
_CUT_BY_LIMIT: Final = (
    "The answer was cut off after {tokens:,} tokens, because the run reached its limit. Resume the run with a"
    " higher `max_cents` to get the whole answer."
)
_LEAVES_MACHINE: Final = (
    "Messages, texts of attached files, columns and first rows of tables, and tool results are sent to"
    " {provider} ({model}). This notice appears once. To see what a run sent, use %agentsvc sent RUN or the run's page."
)


@dataclass(eq=False)
class MeteredCalls(AbstractCapability[None]):
    """Meters the calls of one agent, so that they stay within the cost limit of `meter`.

    The cost of a request's input is computed with the highest possible token count. The request limits the length of
    the answer to what the rest of the money pays for.

    Attributes:
        turn: the run to warn when data first leaves the machine.
        reserves: True to reserve money for a closing answer.
        prepare: a function that may change the messages in place before each request.
        begin: a function to call before each request, once its cost is reserved.
    """

    meter: Meter
    served: ServedModel
    budget: Budget
    _: KW_ONLY
    turn: RunContext | None = None
    effort: Effort | None = None
    reserves: bool = False
    prepare: Callable[[list[ModelMessage], Budget], Awaitable[None]] | None = None
    begin: Callable[[], Awaitable[None]] | None = None
    messages: list[ModelMessage] = field(init=False, default_factory=list)
    """The messages of the latest request, even if there was not enough money to send it."""
    _longest_answer: int = field(init=False, default=0)
    _recorded: int = field(init=False, default=0)

    async def before_model_request(
        self, ctx: ModelContext[None], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        parameters = request_context.model_request_parameters
        self.messages = list(request_context.messages)
        self.budget = replace(self.budget, overhead=_estimate_overhead(parameters))
        if self.prepare is not None:
            await self.prepare(self.messages, self.budget)
            request_context.messages = list(self.messages)
            ctx.messages[:] = self.messages
        await self._reserve_cost()
        if self.begin is not None:
            await self.begin()
        await self._record(parameters)
        settings = self.served.settings_of_call(self._longest_answer, self.effort)
        request_context.model_settings = merge_model_settings(request_context.model_settings, settings)
        return request_context

    async def after_model_request(
        self, ctx: ModelContext[None], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        return replace(response, parts=[_join_surrogates(part) for part in response.parts])

    @contextlib.asynccontextmanager
    async def stream(
        self, run: AgentRun[None, Any], node: ModelRequestNode[None, Any]
    ) -> AsyncIterator[AgentStream[None, Any]]:
        """Return a context manager that calls the model and counts the call's tokens. The caller must read the stream's
        events.

        Raises `WorkFailure` for an incomplete answer. The failure's code is `limit_reached` if the run's money did not
        suffice for a longer answer.
        """
        try:
            async with node.stream(run.ctx) as stream:
                try:
                    yield stream
                    if is_lost(stream.response):
                        raise ModelUnavailable(LOST)
                except (asyncio.CancelledError, WorkFailure, ModelAPIError) as cut:
                    if stream.response.parts or isinstance(cut, asyncio.CancelledError):
                        self._count_interrupted(stream.response)
                    raise
        except UnexpectedModelBehavior as error:
            raise ModelUnavailable(f"The model's server sent no answer: {error.message}") from error
        except ModelAPIError as error:
            if is_too_long(error):
                message = f"The request was too long for the model: {error_reason(error)}"
                raise ContextExceeded(message, self._usual_tokens() + self.budget.answer) from error
            raise
        usage = stream.response.usage
        if not isinstance(usage, RequestUsage) or usage.unmeasured_requests:
            self.meter.use_uncounted()
        else:
            self._count(stream.response)
            self.budget.tokens.learn(estimate_messages(self.messages) + self.budget.overhead, usage.input_tokens)
        # Count the tokens before this check, because an unusable answer costs just as much.
        check_response(stream.response)
        if stream.response.finish_reason == "length" and self._longest_answer < self.budget.answer:
            raise WorkFailure(LIMIT_REACHED, _CUT_BY_LIMIT.format(tokens=self._longest_answer))

    async def _reserve_cost(self) -> None:
        """Reserve the maximum cost of a call, and limit the length of its answer.

        Raises `WorkFailure("limit_reached")` if the money does not suffice.
        """
        served, asked, answer, kept = self.served, self._most_tokens(), self.budget.answer, 0
        if (room := await self.meter.room()) is not None:
            if self.reserves:
                kept = min(served.most_cost(CLOSING_INPUT, CLOSING_ANSWER), room // 4)
            least = min(_ANSWER_LEAST if self.reserves else _CLOSING_LEAST, answer)
            answer = max(served.affordable_answer(asked, answer, room - kept), least)
        self._longest_answer = answer
        await self.meter.hold(asked, answer, served.most_cost(asked, answer) + kept)

    def _usual_tokens(self) -> int:
        return self.budget.tokens.usual(estimate_messages(self.messages) + self.budget.overhead)

    def _most_tokens(self) -> int:
        """Return the maximum number of tokens of the request.

        If the provider reported plausible counts for the previous request and its answer, use these counts, and
        estimate only the messages that were added since. Otherwise, estimate the whole request.
        """
        budget, messages = self.budget, self.messages
        most = budget.tokens.most(estimate_messages(messages) + budget.overhead) + ADDED_MOST
        answers = [(place, each.usage) for place, each in enumerate(messages) if isinstance(each, ModelResponse)]
        if answers:
            place, reported = answers[-1]
            before, after = messages[:place], messages[place + 1 :]
            has_new_tools = any(isinstance(part, ToolSearchReturnPart) for message in after for part in message.parts)
            is_known = budget.tokens.is_plausible(estimate_messages(before) + budget.overhead, reported.input_tokens)
            if is_known and not has_new_tools:
                known = reported.input_tokens + reported.output_tokens
                most = min(most, known + budget.tokens.most(estimate_messages(after)))
        return min(most, budget.context)

    def _count(self, response: ModelResponse) -> None:
        usage = response.usage
        self.meter.use(usage.input_tokens, usage.output_tokens, self.served.cost(response))

    def _count_interrupted(self, response: ModelResponse) -> None:
        """Count the tokens of an interrupted call. It costs money, so estimate the tokens that were not reported."""
        asked = response.usage.input_tokens or self._usual_tokens()
        usage = RequestUsage(input_tokens=asked, output_tokens=self.budget.tokens.messages([response]))
        self._count(replace(response, usage=usage))

    async def _record(self, parameters: ModelRequestParameters) -> None:
        """Record the parts of this request that no earlier request has sent."""
        parts = [part for message in self.messages[self._recorded :] for part in _sent_parts(message)]
        if not self._recorded:
            parts = [*_sent_overhead(parameters), *parts]
        self._recorded = len(self.messages)
        model = self.served.model
        address = urlsplit(model.base_url or "")
        # The address may contain a password, and its query a key.
        provider = urlunsplit((address.scheme, address.netloc.rpartition("@")[2], address.path, "", ""))
        call = OutgoingCall(provider or model.system, self.served.hosted, model.model_name, self._usual_tokens(), parts)
        if await self.meter.sending(call) and self.turn is not None:
            message = _LEAVES_MACHINE.format(provider=call.provider, model=call.model)
            await self.turn.warn("leaves_machine", message)


def _estimate_overhead(parameters: ModelRequestParameters) -> TokenEstimate:
    instructions = [part.content for part in parameters.instruction_parts or ()]
    shape = parameters.output_object
    tools = [*_described_tools(parameters), *parameters.output_tools]
    return estimate_overhead(instructions, tools, shape.json_schema if shape else None)


def _described_tools(parameters: ModelRequestParameters) -> list[ToolDefinition]:
    """Return the tools that the request describes: all except deferred tools that the model has not loaded."""
    loaded = parameters.revealed_tool_names
    return [tool for tool in parameters.function_tools if not tool.defer_loading or tool.name in loaded]


def _sent_overhead(parameters: ModelRequestParameters) -> Iterator[OutgoingPart]:
    for part in parameters.instruction_parts or ():
        said, head, skills = part.content.partition(briefing.SKILLS)
        yield _sent_part("instructions", said)
        if skills:
            yield _sent_part("skills", head + skills)
    if tools := _described_tools(parameters):
        yield _sent_part("tools", ", ".join(tool.name for tool in tools))


def _sent_parts(message: ModelMessage) -> Iterator[OutgoingPart]:
    for each in message.parts:
        match each:
            case UserPromptPart(content=content):
                items = [content] if isinstance(content, str) else content
                yield from (_sent_part("message", item) for item in items if isinstance(item, str))
                pictures = [item for item in items if isinstance(item, BinaryContent)]
                yield from (OutgoingPart("picture", item.media_type, len(item.data)) for item in pictures)
            case TextPart(content=text):
                yield _sent_part("answer", text)
            case ToolCallPart(tool_name=name):
                yield _sent_part("call", f"{name} {each.args_as_json_str()}")
            case ToolSearchReturnPart() if each.discovered_tools:
                yield _sent_part("tools", ", ".join(match["name"] for match in each.discovered_tools))
            case _ if found := getattr(each, "content", None):
                yield _sent_part("result", str(found))


def _sent_part(what: str, text: str) -> OutgoingPart:
    return OutgoingPart(what, text[:_RECORDED_CHARS], len(text))


def join_surrogates(text: str) -> str:
    """Join surrogate pairs into characters. Replace a lone surrogate, which can't be stored or sent.

    >>> join_surrogates(chr(0xD83C) + chr(0xDF75)) == chr(0x1F375)
    True
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _join_surrogates(part: Any) -> Any:
    texts = {name: getattr(part, name, None) for name in ("content", "args")}
    return replace(part, **{name: join_surrogates(text) for name, text in texts.items() if isinstance(text, str)})
