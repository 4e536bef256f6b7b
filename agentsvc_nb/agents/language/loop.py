"""One turn with a language model: a step is a call of the model, and the most that it may cost is held before it; tools
between steps, a checkpoint after each."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
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
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage, UsageLimits
from pydantic_graph import End

from agentsvc_nb.agents.language import briefing, conversation, history, served, structured, turn_tools
from agentsvc_nb.agents.language.lengths import (
    ANSWER_PART,
    Budget,
    Lengths,
    added,
    count,
    count_message,
    count_schema,
)
from agentsvc_nb.agents.language.patience import Away, Patience, TooLong
from agentsvc_nb.agents.language.reasons import failure, reason, why_malformed
from agentsvc_nb.agents.language.sending import Outbox, part_of
from agentsvc_nb.agents.language.served import Served, microcents, priced, settings_of
from agentsvc_nb.agents.language.tool_definitions import tool_count
from agentsvc_nb.agents.port import RunContext, StepsExceeded, without_client_tools, without_skills
from agentsvc_nb.formats.schemas.output import misfit
from agentsvc_nb.tools.port import Meter, SentPart, WorkFailure
from agentsvc_nb.wire.limits import STEPS_MAX

Tell = Callable[[object], Awaitable[None]]
Run = AgentRun[None, Any]


async def call(
    run: AgentRun[None, Any],
    node: ModelRequestNode[None, Any],
    meter: Meter,
    tell: Tell,
    model: Served,
    budget: Budget,
    outbox: Outbox,
) -> tuple[Any, ModelResponse]:
    """Call the model and pass each event of its stream to `tell`. Returns the node that follows, and the response.

    Raises `WorkFailure` for an answer that is not whole (`served.check`, `served.is_lost`), and for a call that a limit
    of money has no room for.
    """
    messages = [*run.all_messages(), node.request]
    asked = budget.lengths.of(added([*map(count_message, messages), budget.beside]))
    await _hold(meter, model, budget, asked)
    await outbox.sending(meter, messages, asked)
    try:
        response = await _streamed(run, node, meter, tell, model, budget)
    except ModelAPIError as error:
        if _is_too_long(error):
            raise TooLong(f"The request was too long for the model: {reason(error)}", asked + budget.answer) from error
        raise
    if not isinstance(response.usage, RequestUsage) or response.usage.unmeasured_requests:
        meter.use_uncounted()
    else:
        _count(meter, response, model)
        # The messages as they were sent, which may have been shortened before.
        *sent, last = run.all_messages()
        sent += [last] if isinstance(last, ModelRequest) else []
        budget.lengths.learn(added([*map(count_message, sent), budget.beside]), response.usage.input_tokens)
    # After it was counted: an answer that is refused costs as much.
    served.check(response)
    return await run.next(node), response


async def _streamed(
    run: Run, node: ModelRequestNode[None, Any], meter: Meter, tell: Tell, model: Served, budget: Budget
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
                    _count_cut(meter, stream.response, run.all_messages(), model, budget)
                raise
        return stream.response


def _count(meter: Meter, response: ModelResponse, model: Served) -> None:
    usage = response.usage
    meter.use(usage.input_tokens, usage.output_tokens, microcents(response, model.price))


def _count_cut(
    meter: Meter, response: ModelResponse, messages: Iterable[ModelMessage], model: Served, budget: Budget
) -> None:
    """Count a call that was cut off: it costs too, but reports no tokens, so they are estimated from the texts."""
    asked = budget.lengths.of(added([*map(count_message, messages), budget.beside]))
    made = budget.lengths.messages([response])
    usage = RequestUsage(input_tokens=response.usage.input_tokens or asked, output_tokens=made)
    _count(meter, replace(response, usage=usage), model)


class Narration:
    """Streams each call of the model to the turn; `aloud`: its text is the answer, and is said as it arrives."""

    def __init__(self, turn: RunContext, model: Served, budget: Budget, outbox: Outbox, *, aloud: bool) -> None:
        self._turn = turn
        self._outbox = outbox
        self._model = model
        self._budget = budget
        self._aloud = aloud
        self._spoke = False

    async def follow(self, run: AgentRun[None, Any], node: ModelRequestNode[None, Any]) -> Any:
        """Make a call. Returns the node that follows. Warns `answer_cut` when the model hit its length limit."""
        self._spoke = False
        following, response = await call(run, node, self._turn, self._tell, self._model, self._budget, self._outbox)
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


CUT: Final = "The answer was cut before it could be used: the model may not give a longer one at once. Ask for less."


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
    except ModelAPIError as error:
        raise failure(error, keyless) from error


_TOO_LONG: Final = re.compile(
    r"context[ _](size|length|window|limit)|too many tokens|(prompt|input) is too long|input token count", re.IGNORECASE
)
"""How servers word it whose wording the agent library does not know."""


def _is_too_long(error: ModelAPIError) -> bool:
    status = getattr(error, "status_code", 0)
    if isinstance(error, exceptions.ModelContextWindowExceededError):
        return status != 413  # of its bytes, which the limit of tokens does not tell
    return status in (400, 422) and bool(_TOO_LONG.search(reason(error)))


RETRIES_MAX: Final = 3
"""How often a model may try again to fit the schema, or to call a tool correctly."""


async def answer(turn: RunContext, served: Served, patience: Patience, lengths: Lengths, warned: set[str]) -> str:
    """Do the turn from its last checkpoint. Returns its final text. Raises what `translated` raises, `Away` for what
    may pass, `TooLong`; `patience` begins anew with each answer of the model. What it was `warned` of is not repeated.
    """
    async with translated(turn.output_config is not None, served.keyless):
        if served.tools:
            await turn.connect_tools()
        else:
            await without_client_tools(turn)
            await without_skills(turn)
        budget = Budget(lengths, served.context, largest_answer(served))
        skills = await briefing.skills(turn, served, budget)
        said = await briefing.instructions(turn, served, budget) + skills
        tools = await turn_tools.offered(turn, served, lengths, warned)
        beside = [count(said), count_schema(turn.output_config or {}), *map(tool_count, tools)]
        budget = replace(budget, beside=added(beside))
        before = await history.told(turn, budget, partial(_summed_up, turn, served, budget))
        prompt, messages = await _beginning(turn, served, budget, lengths.messages(before))
        async with _agent(turn, served, said, tools, budget, len(before)).iter(
            prompt, message_history=[*before, *messages], usage_limits=UsageLimits(request_limit=STEPS_MAX)
        ) as run:
            outbox = Outbox(served, _beside(said, skills, tools), turn)
            narration = Narration(turn, served, budget, outbox, aloud=turn.output_config is None)
            await _drive(run, turn, narration, len(before), patience)
        assert run.result is not None
        return await _final(turn, run.result.output)


async def _summed_up(turn: RunContext, served: Served, budget: Budget, asked: str, text: str, most: int) -> str:
    """A text summed up (`history.Compact`)."""
    await turn.progress(0, None, "Summing up what was said in the chat")
    agent: Agent[None, str] = Agent(served.model, instructions=asked, model_settings=settings_of(served, budget.answer))
    alone = replace(budget, beside=count(asked))
    async with translated(False, served.keyless):
        outbox = Outbox(served, [part_of("instructions", asked)], turn)
        found: str = await _only_answer(agent, text, turn, served, alone, outbox)
    if not found.strip():
        raise WorkFailure("model_failed", "The model gave no summary.")
    return found


async def complete(
    served: Served, prompt: str, schema: dict[str, Any], meter: Meter, lengths: Lengths
) -> dict[str, Any]:
    """Answer a question of a tool with an object that fits the schema; `meter` counts the tokens. Raises what
    `translated` raises."""
    form = structured.form(schema, served, tools=False)
    answer = largest_answer(served)
    settings = settings_of(served, answer)
    agent: Agent[None, Any] = Agent(served.model, output_type=form, retries=RETRIES_MAX, model_settings=settings)
    structured.check_each(agent, lambda text: asyncio.to_thread(misfit, text, schema))  # ours: a thread suffices
    budget = Budget(lengths, served.context, answer, count_schema(schema))
    async with translated(True, served.keyless):
        found: dict[str, Any] = await _only_answer(agent, prompt, meter, served, budget, Outbox(served, []))
    return found


async def _only_answer(
    agent: Agent[None, Any], prompt: str, meter: Meter, served: Served, budget: Budget, outbox: Outbox
) -> Any:
    """What the agent answers, with nothing heard of it meanwhile."""
    async with agent.iter(budget.lengths.shortened(prompt, budget.messages)) as run:
        node = run.next_node
        while not isinstance(node, End):
            if Agent.is_model_request_node(node):
                node, _ = await call(run, node, meter, _unheard, served, budget, outbox)
            else:
                node = await run.next(node)
    assert run.result is not None
    return run.result.output


def _beside(said: str, skills: str, tools: Sequence[ToolDefinition]) -> list[SentPart]:
    named = [part_of("skills", skills.strip())] if skills else []
    tool_names = ", ".join(tool.name for tool in tools)
    return [part_of("instructions", said.removesuffix(skills)), *named, part_of("tools", tool_names)]


async def _unheard(event: object) -> None:
    """Ignores an event: a tool needs only the complete answer."""


async def _beginning(
    turn: RunContext, served: Served, budget: Budget, before: int
) -> tuple[Any, Sequence[ModelMessage]]:
    """The prompt and no messages; for a turn resumed from a checkpoint, no prompt and the messages saved there."""
    if turn.state is None or "messages" not in turn.state:
        return await conversation.question(turn, served, budget, before), []
    return None, await conversation.restored(turn, served, turn.state["messages"])


def _agent(
    turn: RunContext, served: Served, instructions: str, tools: Sequence[ToolDefinition], budget: Budget, before: int
) -> Agent[None, Any]:
    def fitted(messages: list[ModelMessage]) -> list[ModelMessage]:
        return conversation.fitted(messages, budget, before)

    config = turn.output_config
    form = str if config is None else structured.form(config, served, tools=served.tools)
    settings = settings_of(served, budget.answer)
    # Some models that think can't be made to call the tool that takes the answer.
    if turn.effort is not None and not isinstance(form, ToolOutput):
        settings["thinking"] = turn.effort
    agent: Agent[None, Any] = Agent(
        served.model,
        output_type=form,
        instructions=instructions,
        toolsets=[turn_tools.TurnTools(turn, tools, budget)] if tools else [],
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


async def _hold(meter: Meter, served: Served, budget: Budget, asked: int) -> None:
    """Hold the worst case of a call: its request of some `asked` tokens, and the model's largest answer. Raises
    `WorkFailure("limit_reached")`."""
    asked = min(asked, budget.context)
    await meter.hold(asked, budget.answer, priced(served, asked, budget.answer))


def largest_answer(served: Served) -> int:
    """The tokens kept free for an answer: the longest one that the model gives, but a part of its context at most."""
    known: object = (served.settings or {}).get("max_tokens") or served.model.profile.get("anthropic_max_output_tokens")
    longest = known if isinstance(known, int) else _ANSWER_TOKENS
    return min(longest, served.context // ANSWER_PART)
