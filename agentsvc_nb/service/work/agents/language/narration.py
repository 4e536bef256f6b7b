"""A model's call as it goes on: its text and thinking become events, its tokens are counted."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from pydantic_ai import AgentRun, ModelRequestNode, ModelResponse
from pydantic_ai.messages import (
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
)
from pydantic_ai.usage import RequestUsage

from agentsvc_nb.service.ports import Turn
from agentsvc_nb.service.rules.prices import CENT
from agentsvc_nb.service.work.agents.language.lengths import tokens


class Narration:
    """Tells one call of the model to the turn; `aloud` is whether its text is the answer as it comes."""

    def __init__(self, turn: Turn, *, aloud: bool) -> None:
        self._turn = turn
        self._aloud = aloud
        self._spoke = False

    async def follow(self, run: AgentRun[None, Any], node: ModelRequestNode[None, Any]) -> Any:
        """Make the call; the node that follows."""
        async with node.stream(run.ctx) as stream:
            try:
                async for event in stream:
                    await self._tell(event)
            except asyncio.CancelledError:
                asked = sum(tokens(str(message.parts)) for message in run.all_messages())
                self._count_cut(stream.response, asked)
                raise
        following = await run.next(node)
        if not isinstance(stream.response.usage, RequestUsage) or stream.response.usage.unmeasured_requests:
            self._turn.use_uncounted()
        else:
            self._count(stream.response)
        if stream.response.finish_reason == "length":
            await self._turn.warn("answer_cut", "The answer was cut: the model may not give a longer one at once.")
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
            text = "\n\n" + text  # what was said in an earlier step stands by itself
        self._spoke = True
        await self._turn.say(text)

    def _count(self, response: ModelResponse) -> None:
        usage = response.usage
        self._turn.use(usage.input_tokens, usage.output_tokens, _microcents(response))

    def _count_cut(self, response: ModelResponse, asked: int) -> None:
        """A call that was cancelled has cost, too, and nobody says what: the lengths are taken."""
        made = sum(tokens(str(getattr(part, "content", ""))) for part in response.parts)
        usage = RequestUsage(input_tokens=response.usage.input_tokens or asked, output_tokens=made)
        self._count(replace(response, usage=usage))


def _microcents(response: ModelResponse) -> int:
    """What a call cost by the published prices; 0 for a model that has none, as one's own."""
    try:
        return int(response.cost().total_price * 100 * CENT)
    except (LookupError, ValueError, AssertionError):
        return 0
