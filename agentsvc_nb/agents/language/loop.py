"""One turn with a language model: a step is a call of the model, and the most that it may cost is held before it; tools
between steps, a checkpoint after each."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic_ai import Agent, AgentRun, ModelMessage, ModelRequest, ModelRequestNode, ModelResponse, exceptions
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import (
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolReturnPart,
)
from pydantic_ai.output import ToolOutput
from pydantic_ai.usage import RequestUsage, UsageLimits
from pydantic_graph import End

from agentsvc_nb.agents.language import conversation, served, structured
from agentsvc_nb.agents.language.conversation import TurnTools, length, tokens
from agentsvc_nb.agents.language.patience import Away, Patience
from agentsvc_nb.agents.language.reasons import reason, why_malformed
from agentsvc_nb.agents.language.served import Served, microcents, priced, settings_of
from agentsvc_nb.agents.port import RunContext, StepsExceeded, without_client_tools
from agentsvc_nb.formats.schemas.output import misfit
from agentsvc_nb.tools.port import Meter, WorkFailure
from agentsvc_nb.wire.limits import STEPS_MAX

Tell = Callable[[object], Awaitable[None]]


async def call(
    run: AgentRun[None, Any],
    node: ModelRequestNode[None, Any],
    meter: Meter,
    tell: Tell,
    model: Served,
    beside: int,
) -> tuple[Any, ModelResponse]:
    """Call the model and pass each event of its stream to `tell`. Returns the node that follows, and the response.
    `beside`: tokens of the request that are not in its messages.

    Raises `WorkFailure` for an answer that is not whole (`served.check`, `served.is_lost`), and for a call that a limit
    of money has no room for.
    """
    await _hold(meter, model, [*run.all_messages(), node.request], beside)
    response = await _streamed(run, node, meter, tell, model)
    if not isinstance(response.usage, RequestUsage) or response.usage.unmeasured_requests:
        meter.use_uncounted()
    else:
        _count(meter, response, model)
    # After it was counted: an answer that is refused costs as much.
    served.check(response)
    return await run.next(node), response


async def _streamed(
    run: AgentRun[None, Any], node: ModelRequestNode[None, Any], meter: Meter, tell: Tell, model: Served
) -> ModelResponse:
    """The response of a streamed call. A call that breaks off is counted if it was answered in part or cancelled.

    Raises `Away` for a stream that is empty or ended without a finish reason.
    """
    with served.readable():
        async with node.stream(run.ctx) as stream:
            try:
                async for event in stream:
                    await tell(event)
                if served.is_lost(stream.response):
                    raise Away(served.LOST)
            except (asyncio.CancelledError, WorkFailure, ModelAPIError) as cut:
                if stream.response.parts or isinstance(cut, asyncio.CancelledError):
                    asked = sum(tokens(str(message.parts)) for message in run.all_messages())
                    _count_cut(meter, stream.response, asked, model)
                raise
        return stream.response


def _count(meter: Meter, response: ModelResponse, model: Served) -> None:
    usage = response.usage
    meter.use(usage.input_tokens, usage.output_tokens, microcents(response, model.price))


def _count_cut(meter: Meter, response: ModelResponse, asked: int, model: Served) -> None:
    """Count a call that was cut off: it costs too, but reports no tokens, so they are estimated from the text's length.
    `asked` is the estimate for the prompt."""
    made = sum(tokens(str(getattr(part, "content", ""))) for part in response.parts)
    usage = RequestUsage(input_tokens=response.usage.input_tokens or asked, output_tokens=made)
    _count(meter, replace(response, usage=usage), model)


class Narration:
    """Streams each call of the model to the turn; `aloud`: its text is the answer, and is said as it arrives."""

    def __init__(self, turn: RunContext, model: Served, beside: int, *, aloud: bool) -> None:
        self._turn = turn
        self._model = model
        self._beside = beside
        self._aloud = aloud
        self._spoke = False

    async def follow(self, run: AgentRun[None, Any], node: ModelRequestNode[None, Any]) -> Any:
        """Make a call. Returns the node that follows. Warns `answer_cut` when the model hit its length limit."""
        self._spoke = False
        following, response = await call(run, node, self._turn, self._tell, self._model, self._beside)
        if response.finish_reason == "length":
            await self._turn.warn("answer_cut", "The answer was cut: the model may not give a longer one at once.")
        if served.is_malformed(response):
            await self._turn.warn(
                "malformed_call", "The model's call of a tool could not be made: it was not readable."
            )
        return following

    async def _tell(self, event: object) -> None:
        match event:
            case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                await self._say(text)
            case PartStartEvent(part=ThinkingPart(content=text)):
                await self._turn.think(text)
            case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(text))):
                await self._turn.think(text)

    async def _say(self, text: str) -> None:
        if not (self._aloud and text):
            return
        if not self._spoke and self._turn.said and not self._turn.said.endswith("\n"):
            text = "\n\n" + text  # a paragraph of its own, after the text of an earlier step
        self._spoke = True
        await self._turn.say(text)


_AWAY: Final = (
    exceptions.ModelConnectionError,
    exceptions.ModelUnavailableError,
    exceptions.ModelServerError,
    exceptions.ModelRateLimitError,
    exceptions.ModelRequestTimeout,
)
CUT: Final = "The answer was cut before it could be used: the model may not give a longer one at once. Ask for less."
_NO_CREDIT: Final = "insufficient_quota"
"""OpenAI's code of a 429 that does not pass by itself."""
_NO_KEY: Final = " It was asked without a key: set AGENTSVC_MODEL_KEY, and there `agentsvc restart`."


@contextlib.asynccontextmanager
async def translated(structured: bool, keyless: bool) -> AsyncIterator[None]:
    """Raises `WorkFailure` and `StepsExceeded` in place of the agent library's errors. `structured`: the answer must
    fit a schema; `keyless`: the model is called without a key."""
    try:
        yield
    except exceptions.UsageLimitExceeded:
        raise StepsExceeded from None
    except exceptions.OutputTokenLimitExceeded as error:
        code = "output_schema_mismatch" if structured else "model_failed"
        raise WorkFailure(code, CUT) from error
    except exceptions.UnexpectedModelBehavior as error:
        code = "output_schema_mismatch" if structured else "model_failed"
        raise WorkFailure(code, f"The model's answer could not be used: {reason(error)}") from error
    except _AWAY as error:
        said = f"The model did not answer: {reason(error)}"
        if _NO_CREDIT in said:
            raise WorkFailure("model_unavailable", said) from error
        raise Away(said, error.retry_after) from error
    except exceptions.ModelAPIError as error:
        if type(error) is exceptions.ModelAPIError and error.in_stream:
            # Of no kind that the library knows, from a server that had begun to answer: Ollama sends such ones.
            raise Away(f"The model did not answer to the end: {reason(error)}") from error
        lacking = _NO_KEY if keyless and getattr(error, "status_code", 0) in (401, 403) else ""
        said = f"The model's server refused the call: {reason(error)}{lacking}"
        raise WorkFailure("model_refused", said) from error


RETRIES_MAX: Final = 3
"""How often a model may try again to fit the schema, or to call a tool correctly."""
PROMPT_SHARE: Final = 0.7
"""Part of the context for the messages; the rest is for the tools' descriptions and the answer."""
EARLIER_SHARE: Final = 0.3
"""Part of the context for the chat's earlier turns."""

Run = AgentRun[None, Any]


async def answer(turn: RunContext, served: Served, patience: Patience) -> str:
    """Do the turn from its last checkpoint. Returns its final text. Raises what `translated` raises, `Away` for what
    may pass; `patience` begins anew with each answer of the model."""
    earlier = await turn.earlier(conversation.EARLIER_TURNS_MAX)
    before = conversation.remembered(earlier, int(served.context * EARLIER_SHARE))
    async with translated(turn.output_config is not None, served.keyless):
        if served.tools:
            await turn.connect_tools()
        prompt, messages = await _beginning(turn, served)
        instructions = await conversation.instructions(turn, served)
        beside = tokens(instructions) + tokens(json.dumps(turn.output_config))
        if served.tools:
            beside += _described(turn)
        else:
            await without_client_tools(turn)
        async with _agent(turn, served, instructions).iter(
            prompt, message_history=[*before, *messages], usage_limits=UsageLimits(request_limit=STEPS_MAX)
        ) as run:
            narration = Narration(turn, served, beside, aloud=turn.output_config is None)
            await _drive(run, turn, narration, len(before), patience)
        assert run.result is not None
        return await _final(turn, run.result.output)


async def complete(served: Served, prompt: str, schema: dict[str, Any], meter: Meter) -> dict[str, Any]:
    """Answer a question of a tool with an object that fits the schema; `meter` counts the tokens. Raises what
    `translated` raises."""
    form = structured.form(schema, served, tools=False)
    settings = settings_of(served)
    agent: Agent[None, Any] = Agent(served.model, output_type=form, retries=RETRIES_MAX, model_settings=settings)
    structured.check_each(agent, lambda text: asyncio.to_thread(misfit, text, schema))  # ours: a thread suffices
    beside = tokens(json.dumps(schema))
    async with translated(True, served.keyless), agent.iter(prompt) as run:
        node = run.next_node
        while not isinstance(node, End):
            if Agent.is_model_request_node(node):
                node, _ = await call(run, node, meter, _unheard, served, beside)
            else:
                node = await run.next(node)
    assert run.result is not None
    found: dict[str, Any] = run.result.output
    return found


async def _unheard(event: object) -> None:
    """Ignores an event: a tool needs only the complete answer."""


async def _beginning(turn: RunContext, served: Served) -> tuple[Any, Sequence[ModelMessage]]:
    """The prompt and no messages; for a turn resumed from a checkpoint, no prompt and the messages saved there."""
    if turn.state is None or "messages" not in turn.state:
        return await conversation.question(turn, served), []
    return None, await conversation.restored(turn, served, turn.state["messages"])


def _agent(turn: RunContext, served: Served, instructions: str) -> Agent[None, Any]:
    limit = int(served.context * PROMPT_SHARE)

    def fitted(messages: list[ModelMessage]) -> list[ModelMessage]:
        return conversation.fitted(messages, limit)

    config = turn.output_config
    form = str if config is None else structured.form(config, served, tools=served.tools)
    settings = settings_of(served)
    # Some models that think can't be made to call the tool that takes the answer.
    if turn.effort is not None and not isinstance(form, ToolOutput):
        settings["thinking"] = turn.effort
    agent: Agent[None, Any] = Agent(
        served.model,
        output_type=form,
        instructions=instructions,
        toolsets=[TurnTools(turn, served.context // 4, sees=served.sees)] if served.tools else [],
        retries=RETRIES_MAX,
        model_settings=settings,
        capabilities=[ProcessHistory(fitted)],
    )
    if config is not None:
        structured.check_each(agent, turn.misfit)
    return agent


async def _drive(run: Run, turn: RunContext, narration: Narration, before: int, patience: Patience) -> None:
    """Run the agent's graph node by node: a step is counted before each model call, a checkpoint saved after it."""
    node = run.next_node
    while not isinstance(node, End):
        if Agent.is_model_request_node(node):
            await _tell_malformed(turn, node.request)
            await turn.step()
            following = await narration.follow(run, node)
            patience.answered()
            await turn.checkpoint({"messages": conversation.saved(run.all_messages()[before:])})
            node = following
        else:
            node = await run.next(node)
        await asyncio.sleep(0)  # lets other runs work, even if the model answers without waiting


async def _tell_malformed(turn: RunContext, request: ModelRequest) -> None:
    """Warn of calls that the library refused: of a tool that there is not, or with no JSON object."""
    for part in request.parts:
        if isinstance(part, ToolReturnPart) and part.retry is not None and part.retry.cause != "model_retry":
            await turn.warn(
                "malformed_call", f"The model's call of {part.tool_name} could not be made: {why_malformed(part)}"
            )


async def _final(turn: RunContext, output: Any) -> str:
    if turn.output_config is None:
        return str(output)
    text = json.dumps(output, ensure_ascii=False)
    await turn.say(text)
    return text


_ANSWER_TOKENS: Final = 32_000
"""The largest answer of a hosted model that does not say how long its answers may get."""


async def _hold(meter: Meter, served: Served, messages: Iterable[ModelMessage], beside: int) -> None:
    """Hold the worst case of a call: its request, of the messages and `beside` tokens beside them, and the model's
    largest answer. Raises `WorkFailure("limit_reached")`."""
    asked, answer = min(sum(map(length, messages)) + beside, served.context), _largest_answer(served)
    await meter.hold(asked, answer, priced(served, asked, answer))


def _largest_answer(served: Served) -> int:
    """The tokens of the longest answer that the model gives."""
    if served.settings and "max_tokens" in served.settings:
        return served.settings["max_tokens"]
    known: object = served.model.profile.get("anthropic_max_output_tokens")
    return known if isinstance(known, int) else min(served.context, _ANSWER_TOKENS)


def _described(turn: RunContext) -> int:
    """An estimate of the tokens of the tools' descriptions."""
    found = [(tool.description, tool.Input.model_json_schema()) for tool in turn.tools()]
    found += [(tool.description, tool.input_schema) for tool in turn.client_tools()]
    return sum(tokens(description) + tokens(json.dumps(schema)) for description, schema in found)
