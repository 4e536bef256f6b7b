"""The tools that a model is offered in one turn: the catalog's, those of servers and the caller's. Each call goes
through the run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from pydantic_ai import RunContext as ModelContext
from pydantic_ai.messages import ToolReturn
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets.abstract import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from agentsvc_nb.agents.language.briefing import is_table
from agentsvc_nb.agents.language.conversation import looked_at
from agentsvc_nb.agents.language.lengths import Budget, Lengths
from agentsvc_nb.agents.language.repeating import Repetition
from agentsvc_nb.agents.language.served import Served
from agentsvc_nb.agents.language.tool_definitions import definition, tool_count
from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.tools.port import Outcome, is_remote, works_on

_OBJECT: Final = SchemaValidator(core_schema.dict_schema(keys_schema=core_schema.str_schema()))
MISTAKES_MAX: Final = 5
"""How often in a row a model may call a tool with arguments that are no JSON object."""


class TurnTools(AbstractToolset[None]):
    """The tools of one turn that the model is offered; their results are shortened. It is shown the pictures that it
    looks at."""

    def __init__(self, turn: RunContext, offered: Sequence[ToolDefinition], budget: Budget) -> None:
        self._turn = turn
        self._offered = offered
        self._budget = budget
        self._repetition = Repetition(turn)

    @property
    def id(self) -> str | None:
        return "turn"

    async def get_tools(self, ctx: ModelContext[None]) -> dict[str, ToolsetTool[None]]:
        return {
            definition.name: ToolsetTool(
                toolset=self, tool_def=definition, max_retries=MISTAKES_MAX, args_validator=_OBJECT
            )
            for definition in self._offered
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: ModelContext[None], tool: ToolsetTool[None]
    ) -> str | ToolReturn[str]:
        outcome, before = await self._repetition.outcome(
            name,
            tool_args,
            lambda: self._turn.call(name, tool_args, key=ctx.tool_call_id),
            # What is true where the caller is may have changed.
            anew=any(name == asked.name for asked in self._turn.client_tools()),
        )
        said = self._budget.lengths.shortened(before + told(outcome), self._budget.result)
        if outcome.error is not None or not any(tool.shows for tool in self._turn.tools() if tool.name == name):
            return said
        shown = [str(block["path"]) for block in outcome.content if block["type"] == "image"]
        pictures = [await looked_at(self._turn, path) for path in shown]
        return ToolReturn(said, content=[part for parts in pictures for part in parts])


TOOLS_SHARE: Final = 0.6
"""Part of the context that the descriptions of tools may take."""
SMALL_CONTEXT: Final = 16_384
"""Up to here tools are described in short, and only those are offered that the chat has something for. In larger
contexts they stay the same, so that providers can cache them."""


async def offered(turn: RunContext, served: Served, lengths: Lengths, warned: set[str]) -> list[ToolDefinition]:
    """The tools that the model is offered. Where their descriptions take too much of its context some are left out,
    which the run says, unless it was `warned` of that: those of servers go first, then those that work on nothing of
    the chat, of each kind the longest."""
    if not served.tools:
        return []
    context = served.context
    small = context <= SMALL_CONTEXT
    there = await _there(turn, small)
    own = [tool for tool in turn.tools() if tool.available() and (served.sees or not tool.shows)]
    own = [tool for tool in own if works_on(tool) in there]
    found = [definition(tool.name, tool.description, tool.Input.model_json_schema(), short=small) for tool in own]
    # Calls of the caller's tools wait together.
    found += [
        definition(tool.name, tool.description, tool.input_schema, short=small, sequential=False)
        for tool in turn.client_tools()
    ]
    ranks = {tool.name: 1 if works_on(tool) else 3 if is_remote(tool) else 2 for tool in own}
    room = context * TOOLS_SHARE
    fit = set()
    for one in sorted(found, key=lambda each: (ranks.get(each.name, 0), lengths.of(tool_count(each)))):
        room -= lengths.of(tool_count(one))
        if room >= 0:
            fit.add(one.name)
    if left := [one.name for one in found if one.name not in fit]:
        why = f"The model's context is small, so it is not offered {', '.join(left)}: set AGENTSVC_MODEL_CONTEXT."
        if why not in warned:
            warned.add(why)
            await turn.warn("tools_left_out", why)
    return [one for one in found if one.name in fit]


async def _there(turn: RunContext, small: bool) -> set[str]:
    """What the chat has of what tools work on (`tools.port.ToolDeclaration.works_on`). With a context that is not small
    only skills are looked for."""
    project = await turn.project()
    there = {"", "files", *(["skills"] if project and project.skills else [])}
    if not small:
        return there | {"tables", "pictures"}
    for entry in await turn.workspace.list():
        if is_table(entry) or entry.output_type == "table":
            there.add("tables")
        elif entry.media_type.startswith("image/") or entry.media_type == "application/pdf":
            there.add("pictures")
    return there


def told(outcome: Outcome) -> str:
    """A tool's outcome as text for the model.

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
