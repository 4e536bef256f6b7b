"""The catalog's tools as the model gets them: each call goes through the turn, which keeps it and tells of it."""

from __future__ import annotations

import json
from typing import Any, Final

from pydantic_ai import RunContext as ModelContext
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets.abstract import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from agentsvc_nb.agents.language.conversation import shortened
from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.tools.port import Outcome, Tool

_OBJECT: Final = SchemaValidator(core_schema.dict_schema(keys_schema=core_schema.str_schema()))
MISTAKES_MAX: Final = 5
"""So often in a row a model may call a tool with what is no JSON object."""


class TurnTools(AbstractToolset[None]):
    """The tools of one turn; a result longer than `tokens` is shortened."""

    def __init__(self, turn: RunContext, tokens: int) -> None:
        self._turn = turn
        self._tokens = tokens

    @property
    def id(self) -> str | None:
        return "turn"

    async def get_tools(self, ctx: ModelContext[None]) -> dict[str, ToolsetTool[None]]:
        return {tool.name: self._offered(tool) for tool in self._turn.tools() if tool.available()}

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: ModelContext[None], tool: ToolsetTool[None]
    ) -> str:
        return shortened(told(await self._turn.call(name, tool_args, key=ctx.tool_call_id)), self._tokens)

    def _offered(self, tool: Tool) -> ToolsetTool[None]:
        definition = ToolDefinition(
            name=tool.name,
            description=tool.description,
            parameters_json_schema=tool.Input.model_json_schema(),
            sequential=True,
        )
        return ToolsetTool(toolset=self, tool_def=definition, max_retries=MISTAKES_MAX, args_validator=_OBJECT)


def told(outcome: Outcome) -> str:
    """A tool's outcome in the model's words.

    >>> told(Outcome(error=("not_configured", "Set AGENTSVC_SMTP_URL.")))
    'not_configured: Set AGENTSVC_SMTP_URL.'
    """
    if outcome.error is not None:
        return f"{outcome.error[0]}: {outcome.error[1]}"
    blocks = [_block(block) for block in outcome.content]
    if outcome.data is not None:
        blocks.append(json.dumps(outcome.data, ensure_ascii=False))
    return "\n".join(blocks) or "done"


def _block(block: dict[str, Any]) -> str:
    match block.get("type"):
        case "text":
            return str(block["text"])
        case "image":
            return f"picture: {block['path']}"
        case _:
            return json.dumps(block.get("json"), ensure_ascii=False)
