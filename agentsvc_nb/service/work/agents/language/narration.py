"""A model's call as it goes on: its text and thinking become events."""

from __future__ import annotations

from typing import Any

from pydantic_ai import AgentRun, ModelRequestNode
from pydantic_ai.messages import (
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
)

from agentsvc_nb.service.ports.agents import Turn
from agentsvc_nb.service.work.agents.language import counting


class Narration:
    """Tells one call of the model to the turn; `aloud` is whether its text is the answer as it comes."""

    def __init__(self, turn: Turn, *, aloud: bool) -> None:
        self._turn = turn
        self._aloud = aloud
        self._spoke = False

    async def follow(self, run: AgentRun[None, Any], node: ModelRequestNode[None, Any]) -> Any:
        """Make the call; the node that follows."""
        following, response = await counting.call(run, node, self._turn, self._tell)
        if response.finish_reason == "length":
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
