"""One turn with a language model: a step is a call of the model; tools between steps, a checkpoint after each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, Final

from pydantic_ai import Agent, AgentRun, ModelMessage
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.usage import UsageLimits
from pydantic_graph import End

from agentsvc_nb.service.ports.agents import Turn
from agentsvc_nb.service.ports.tools import Meter
from agentsvc_nb.service.work.agents.language import conversation, counting, failures, structured
from agentsvc_nb.service.work.agents.language.narration import Narration
from agentsvc_nb.service.work.agents.language.served import Served
from agentsvc_nb.service.work.agents.language.toolset import TurnTools
from agentsvc_nb.wire.limits import STEPS_MAX

RETRIES_MAX: Final = 3
"""So often a model may try to meet the schema again, or to call a tool as it must be called."""
PROMPT_SHARE: Final = 0.7
"""Of the context: the rest is for tools, their descriptions and the answer."""
EARLIER_SHARE: Final = 0.3

Run = AgentRun[None, Any]


async def answer(turn: Turn, served: Served) -> str:
    """Do the turn; its final text. Raises what `failures.translated` does."""
    before = conversation.remembered(turn.earlier(conversation.EARLIER_TURNS_MAX), int(served.context * EARLIER_SHARE))
    async with failures.translated(turn.output_config is not None, served.keyless):
        prompt, messages = await _beginning(turn, served)
        async with _agent(turn, served, await conversation.instructions(turn, served)).iter(
            prompt, message_history=[*before, *messages], usage_limits=UsageLimits(request_limit=STEPS_MAX)
        ) as run:
            await _drive(run, turn, len(before))
        assert run.result is not None
        return await _final(turn, run.result.output)


async def complete(served: Served, prompt: str, schema: dict[str, Any], meter: Meter) -> dict[str, Any]:
    """One question of a tool: an object that fits the schema; `meter` counts what it took. Raises what
    `failures.translated` does."""
    form = structured.form(schema, served, tools=False)
    agent: Agent[None, Any] = Agent(served.model, output_type=form, retries=RETRIES_MAX, model_settings=served.settings)
    structured.check_each(agent, schema)
    async with failures.translated(True, served.keyless), agent.iter(prompt) as run:
        node = run.next_node
        while not isinstance(node, End):
            if Agent.is_model_request_node(node):
                node, _ = await counting.call(run, node, meter, _unheard)
            else:
                node = await run.next(node)
    assert run.result is not None
    found: dict[str, Any] = run.result.output
    return found


async def _unheard(event: object) -> None:
    """A tool has use for the whole answer only."""


async def _beginning(turn: Turn, served: Served) -> tuple[Any, Sequence[ModelMessage]]:
    """What to ask, or the messages with which the turn goes on after a crash."""
    if turn.state is None or "messages" not in turn.state:
        return await conversation.question(turn, served), []
    return None, await conversation.restored(turn, served, turn.state["messages"])


def _agent(turn: Turn, served: Served, instructions: str) -> Agent[None, Any]:
    limit = int(served.context * PROMPT_SHARE)

    def fitted(messages: list[ModelMessage]) -> list[ModelMessage]:
        return conversation.fitted(messages, limit)

    config = turn.output_config
    agent: Agent[None, Any] = Agent(
        served.model,
        output_type=str if config is None else structured.form(config, served, tools=served.tools),
        instructions=instructions,
        toolsets=[TurnTools(turn, served.context // 4)] if served.tools else [],
        retries=RETRIES_MAX,
        model_settings=served.settings,
        capabilities=[ProcessHistory(fitted)],
    )
    if config is not None:
        structured.check_each(agent, config)
    return agent


async def _drive(run: Run, turn: Turn, before: int) -> None:
    """Node by node: before each call of the model a step is counted, after it the turn is safe."""
    node = run.next_node
    while not isinstance(node, End):
        if Agent.is_model_request_node(node):
            await turn.step()
            following = await Narration(turn, aloud=turn.output_config is None).follow(run, node)
            await turn.checkpoint({"messages": conversation.saved(run.all_messages()[before:])})
            node = following
        else:
            node = await run.next(node)
        await asyncio.sleep(0)  # a turn with a quick model still lets others work


async def _final(turn: Turn, output: Any) -> str:
    if turn.output_config is None:
        return str(output)
    text = json.dumps(output, ensure_ascii=False)
    await turn.say(text)
    return text
