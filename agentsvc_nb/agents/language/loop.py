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
from itertools import takewhile
from typing import Any, Final

from pydantic_ai import Agent, AgentRun, ModelMessage, ModelRequest, ModelRequestNode, ModelResponse, exceptions
from pydantic_ai import RunContext as ModelContext
from pydantic_ai.capabilities import ProcessHistory, ToolSearch
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
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage, UsageLimits
from pydantic_graph import End

from agentsvc_nb.agents.language import briefing, closing, conversation, history, served, structured, turn_tools
from agentsvc_nb.agents.language.lengths import (
    ADDED_MOST,
    ANSWER_PART,
    NOTHING,
    Budget,
    Count,
    Lengths,
    added,
    count,
    count_message,
    count_schema,
)
from agentsvc_nb.agents.language.patience import Away, Patience, TooLong
from agentsvc_nb.agents.language.reasons import failure, reason, why_malformed
from agentsvc_nb.agents.language.sending import Outbox, part_of
from agentsvc_nb.agents.language.served import Served, affordable, dearest, response_cost, settings_of
from agentsvc_nb.agents.language.tool_definitions import tool_count
from agentsvc_nb.agents.port import RunContext, StepsExceeded, without_client_tools, without_skills
from agentsvc_nb.documents.schemas import misfit
from agentsvc_nb.tools.port import LIMIT_REACHED, Meter, SentPart, WorkFailure
from agentsvc_nb.wire.limits import STEPS_MAX
from agentsvc_nb.wire.runs import Effort

Tell = Callable[[object], Awaitable[None]]
Run = AgentRun[None, Any]


class MeteredCalls:
    """Calls a model, each time within what the meter's limit of money still pays.

    The input is counted first, by the most that any tokenizer makes of it. The rest of the limit buys the answer, and
    the provider is told to write no more. `budget_of` the messages of a request, as the tools that they load go along.
    `reserves`: money for a closing answer stays free.
    """

    def __init__(
        self,
        meter: Meter,
        served: Served,
        budget_of: Callable[[Sequence[ModelMessage]], Budget],
        outbox: Outbox,
        effort: Effort | None = None,
        *,
        reserves: bool,
    ) -> None:
        self._meter = meter
        self._served = served
        self._budget_of = budget_of
        self._outbox = outbox
        self._effort = effort
        self._reserves = reserves
        self._answer = 0
        """The most tokens that the next answer may have."""
        self.messages: list[ModelMessage] = []
        """Those of the last request that was held, or refused."""
        self._known = 0
        """The tokens of the last request and its answer, as the provider reported them; 0 before the first."""
        self._beside: Count = NOTHING
        """What went along with the messages of that request."""

    def settings(self, ctx: ModelContext[None]) -> ModelSettings:
        """Return the settings of the next call (`AgentModelSettings`)."""
        return settings_of(self._served, self._answer, self._effort)

    async def make(self, run: Run, node: ModelRequestNode[None, Any], tell: Tell) -> tuple[Any, ModelResponse]:
        """Make the call that was held, and pass each event of its stream to `tell`. Returns the node that follows, and
        the response.

        Raises `WorkFailure` for an answer that is not whole (`served.check`, `served.is_lost`), and `limit_reached` for
        one that the limit of money cut.
        """
        meter, messages = self._meter, [*run.all_messages(), node.request]
        budget = self._budget_of(messages)
        asked = budget.lengths.of(added([*map(count_message, messages), budget.beside]))
        await self._outbox.sending(meter, messages, asked)
        try:
            response = await _streamed(run, node, meter, tell, self._served, budget)
        except ModelAPIError as error:
            if _is_too_long(error):
                told = f"The request was too long for the model: {reason(error)}"
                raise TooLong(told, asked + budget.answer) from error
            raise
        if not isinstance(response.usage, RequestUsage) or response.usage.unmeasured_requests:
            meter.use_uncounted()
        else:
            _count(meter, response, self._served)
            # The messages as they were sent, which may have been shortened before.
            *sent, last = run.all_messages()
            sent += [last] if isinstance(last, ModelRequest) else []
            counted = added([*map(count_message, sent), budget.beside])
            if budget.lengths.learn(counted, response.usage.input_tokens):
                self._known = response.usage.input_tokens + response.usage.output_tokens
                self._beside = budget.beside
        # After it was counted: an answer that is refused costs as much.
        served.check(response)
        if response.finish_reason == "length" and self._answer < budget.answer:
            raise WorkFailure(LIMIT_REACHED, CUT_BY_LIMIT.format(tokens=self._answer))
        return await run.next(node), response

    async def make_unheard(self, run: Run, node: ModelRequestNode[None, Any]) -> Any:
        """Call the model where only the complete answer is needed. Returns the node that follows."""

        async def ignore(event: object) -> None: ...

        await self.hold(run, node)
        return (await self.make(run, node, ignore))[0]

    async def hold(self, run: Run, node: ModelRequestNode[None, Any]) -> None:
        """Hold the worst case of a call, and set its longest answer. Raises `WorkFailure("limit_reached")`."""
        self.messages = [*run.all_messages(), node.request]
        budget = self._budget_of(self.messages)
        asked, answer, kept = self._most(self.messages, budget), budget.answer, 0
        if (room := await self._meter.room()) is not None:
            if self._reserves:
                kept = closing.reserve(self._served, room)
            least = min(closing.ANSWER_LEAST if self._reserves else closing.CLOSING_LEAST, answer)
            answer = max(affordable(self._served, asked, answer, room - kept), least)
        self._answer = answer
        await self._meter.hold(asked, answer, dearest(self._served, asked, answer) + kept)

    def _most(self, messages: Sequence[ModelMessage], budget: Budget) -> int:
        """Return the most tokens that a request with these messages can have. It grows from what was reported."""
        lengths = budget.lengths
        most = lengths.most(added([*map(count_message, messages), budget.beside])) + ADDED_MOST
        if self._known:
            fresh = takewhile(lambda message: not isinstance(message, ModelResponse), reversed(messages))
            loaded = tuple(now - then for now, then in zip(budget.beside, self._beside, strict=True))
            most = min(most, self._known + lengths.most(added([*map(count_message, fresh), loaded])))
        return min(most, budget.context)


CUT_BY_LIMIT: Final = (
    "The answer was cut: what was left of the run's limit paid for {tokens:,} tokens. Resume the run with a higher "
    "`max_cents` to have it whole."
)


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
    meter.use(usage.input_tokens, usage.output_tokens, response_cost(model, response))


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

    def __init__(self, turn: RunContext, calls: MeteredCalls, *, aloud: bool) -> None:
        self._turn = turn
        self._calls = calls
        self._aloud = aloud
        self._spoke = False

    async def follow(self, run: AgentRun[None, Any], node: ModelRequestNode[None, Any]) -> Any:
        """Make a call, which is a step. Returns the node that follows. Warns `answer_cut` when the model hit its length
        limit."""
        self._spoke = False
        # Held first: a call that can't be paid begins no step.
        await self._calls.hold(run, node)
        await self._turn.step()
        following, response = await self._calls.make(run, node, self._tell)
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


async def answer(turn: RunContext, served: Served, patience: Patience, lengths: Lengths) -> str:
    """Do the turn from its last checkpoint. Returns its final text. Raises what `translated` raises, `Away` for what
    may pass, `TooLong`; `patience` begins anew with each answer of the model.
    """
    async with translated(turn.output_config is not None, served.keyless):
        if served.tools:
            await turn.connect_tools()
        else:
            await without_client_tools(turn)
            await without_skills(turn)
            await briefing.reads_only(turn)
        budget = Budget(lengths, served.context, largest_answer(served))
        skills = await briefing.skills(turn, served, budget)
        tools = await turn_tools.offered(turn, served, lengths)
        offered = {tool.name for tool in turn_tools.loaded(tools, [])}
        said = await briefing.instructions(turn, served, budget, offered) + turn_tools.groups(tools) + skills
        alone = [count(said), count_schema(turn.output_config or {})]

        def budget_of(messages: Sequence[ModelMessage]) -> Budget:
            return replace(budget, beside=added([*alone, *map(tool_count, turn_tools.loaded(tools, messages))]))

        budget = budget_of([])
        before = await history.told(turn, budget, partial(_summed_up, turn, served, budget))
        prompt, messages = await _beginning(turn, served, budget, lengths.messages(before))
        outbox = Outbox(served, _beside(said, skills, tools), turn)
        aloud = turn.output_config is None
        form = str if turn.output_config is None else structured.form(turn.output_config, served, tools=served.tools)
        # Some models that think can't be made to call the tool that takes the answer.
        effort = None if isinstance(form, ToolOutput) else turn.effort
        calls = MeteredCalls(turn, served, budget_of, outbox, effort, reserves=aloud)
        agent = _agent(turn, served, said, tools, budget_of, len(before), form, calls)
        async with agent.iter(
            prompt, message_history=[*before, *messages], usage_limits=UsageLimits(request_limit=STEPS_MAX)
        ) as run:
            try:
                await _drive(run, turn, Narration(turn, calls, aloud=aloud), len(before), patience)
            except WorkFailure as ended:
                if aloud and ended.code == LIMIT_REACHED:
                    # The refused request holds the latest results, which the run's own messages may not have yet.
                    messages = max(calls.messages, run.all_messages(), key=len)
                    await _close(turn, served, budget, messages[len(before) :])
                raise
        assert run.result is not None
        return await _final(turn, run.result.output)


async def _close(turn: RunContext, served: Served, budget: Budget, messages: Sequence[ModelMessage]) -> None:
    """Say a closing answer, made of the run's own `messages`, with the money that was kept for it. Say nothing if the
    run has done nothing yet, may take no further step, or can't pay for it."""
    if not any(isinstance(message, ModelResponse) for message in messages):
        return
    room, question = await turn.room(), conversation.text_of(messages[0])
    prompt = closing.material(question, turn.said, messages, budget.lengths, served, room)
    if not prompt:
        return
    instructions = f"{briefing.WHO} {closing.CLOSING}"
    answer = min(budget.answer, closing.CLOSING_ANSWER_MOST)
    alone = Budget(budget.lengths, budget.context, answer, count(instructions))
    outbox = Outbox(served, [part_of("instructions", instructions)], turn)
    calls = MeteredCalls(turn, served, lambda _: alone, outbox, reserves=False)
    agent: Agent[None, str] = Agent(served.model, instructions=instructions, model_settings=calls.settings)
    with contextlib.suppress(WorkFailure, StepsExceeded):
        async with translated(False, served.keyless), agent.iter(prompt) as run:
            await _only_answer(run, Narration(turn, calls, aloud=True).follow)


async def _summed_up(turn: RunContext, served: Served, budget: Budget, asked: str, text: str, most: int) -> str:
    """A text summed up (`history.Compact`)."""
    await turn.progress(0, None, "Summing up what was said in the chat")
    alone = replace(budget, beside=count(asked))
    outbox = Outbox(served, [part_of("instructions", asked)], turn)
    calls = MeteredCalls(turn, served, lambda _: alone, outbox, reserves=True)
    agent: Agent[None, str] = Agent(served.model, instructions=asked, model_settings=calls.settings)
    async with translated(False, served.keyless), agent.iter(budget.lengths.shortened(text, alone.messages)) as run:
        found: str = await _only_answer(run, calls.make_unheard)
    if not found.strip():
        raise WorkFailure("model_failed", "The model gave no summary.")
    return found


async def complete(
    served: Served, prompt: str, schema: dict[str, Any], meter: Meter, lengths: Lengths
) -> dict[str, Any]:
    """Answer a question of a tool with an object that fits the schema; `meter` counts the tokens. Raises what
    `translated` raises."""
    form = structured.form(schema, served, tools=False)
    budget = Budget(lengths, served.context, largest_answer(served), count_schema(schema))
    calls = MeteredCalls(meter, served, lambda _: budget, Outbox(served, []), reserves=False)
    agent: Agent[None, Any] = Agent(served.model, output_type=form, retries=RETRIES_MAX, model_settings=calls.settings)
    structured.check_each(agent, lambda text: asyncio.to_thread(misfit, text, schema))  # ours: a thread suffices
    async with translated(True, served.keyless), agent.iter(lengths.shortened(prompt, budget.messages)) as run:
        found: dict[str, Any] = await _only_answer(run, calls.make_unheard)
    return found


async def _only_answer(run: Run, call: Callable[[Run, ModelRequestNode[None, Any]], Awaitable[Any]]) -> Any:
    """Return what an agent without tools answers; `call` makes each call of the model and returns the next node."""
    node = run.next_node
    while not isinstance(node, End):
        node = await (call(run, node) if Agent.is_model_request_node(node) else run.next(node))
    assert run.result is not None
    return run.result.output


def _beside(said: str, skills: str, tools: Sequence[ToolDefinition]) -> list[SentPart]:
    named = [part_of("skills", skills.strip())] if skills else []
    names = [tool.name for tool in turn_tools.loaded(tools, [])]
    names += [ToolSearch.function_tool_name] if len(names) < len(tools) else []
    return [part_of("instructions", said.removesuffix(skills)), *named, part_of("tools", ", ".join(names))]


async def _beginning(
    turn: RunContext, served: Served, budget: Budget, before: int
) -> tuple[Any, Sequence[ModelMessage]]:
    """The prompt and no messages; for a turn resumed from a checkpoint, no prompt and the messages saved there."""
    if turn.state is None or "messages" not in turn.state:
        return await conversation.question(turn, served, budget, before), []
    return None, await conversation.restored(turn, served, turn.state["messages"])


RESULTS_CLEARED: Final = (
    "Results of tools that later ones replace (of the same call, or of a file that was written since) are no longer "
    "sent to the model."
)


def _agent(
    turn: RunContext,
    served: Served,
    instructions: str,
    tools: Sequence[ToolDefinition],
    budget_of: Callable[[Sequence[ModelMessage]], Budget],
    before: int,
    form: Any,
    calls: MeteredCalls,
) -> Agent[None, Any]:
    async def fitted(messages: list[ModelMessage]) -> list[ModelMessage]:
        budget = budget_of(messages)
        if conversation.clear_superseded(messages, budget, before):
            await turn.warn("results_cleared", RESULTS_CLEARED)
        return conversation.fitted(messages, budget, before)

    agent: Agent[None, Any] = Agent(
        served.model,
        output_type=form,
        instructions=instructions,
        toolsets=[turn_tools.TurnTools(turn, tools, budget_of([]), served.sees)] if tools else [],
        retries=RETRIES_MAX,
        model_settings=calls.settings,
        capabilities=[ProcessHistory(fitted), turn_tools.tool_search()],
    )
    if turn.output_config is not None:
        structured.check_each(agent, turn.misfit)
    return agent


async def _drive(run: Run, turn: RunContext, narration: Narration, before: int, patience: Patience) -> None:
    """Run the agent's graph node by node: a step is counted before each model call, a checkpoint saved after it."""
    node = run.next_node
    while not isinstance(node, End):
        if Agent.is_model_request_node(node):
            await _tell_malformed(turn, node.request)
            following = await narration.follow(run, node)
            patience.answered()
            await turn.checkpoint({"messages": conversation.saved(run.all_messages()[before:])})
            node = following
        else:
            node = await run.next(node)
        await asyncio.sleep(0)  # lets other runs work, even if the model answers without waiting


_UNTOLD: Final = ("model_retry", "unavailable_tool")
"""Why calls go back to the model without a warning: an answer that does not fit, a tool that is not loaded yet."""


async def _tell_malformed(turn: RunContext, request: ModelRequest) -> None:
    """Warn of calls that the library refused: of a tool that there is not, or with no JSON object."""
    for part in request.parts:
        if isinstance(part, ToolReturnPart) and part.retry is not None and part.retry.cause not in _UNTOLD:
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
"""The largest answer of a hosted model that thinks, and does not say how long its answers may get."""
_ANSWER_TOKENS_OLDER: Final = 8_000
"""The same of older models, most of which refuse a call that asks for more."""


def largest_answer(served: Served) -> int:
    """The tokens kept free for an answer: the longest one that the model gives, but a part of its context at most."""
    profile = served.model.profile
    known: object = (served.settings or {}).get("max_tokens") or profile.get("anthropic_max_output_tokens")
    thinks = profile.get("supports_thinking") and "anthropic_max_output_tokens" not in profile
    longest = known if isinstance(known, int) else _ANSWER_TOKENS if thinks else _ANSWER_TOKENS_OLDER
    return min(longest, served.context // ANSWER_PART)
