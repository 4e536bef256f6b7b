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

from agentsvc_nb.agents.language.conversation import looked_at
from agentsvc_nb.agents.language.lengths import Budget, Count, Lengths, count_schema
from agentsvc_nb.agents.language.repeating import Repetition
from agentsvc_nb.agents.language.served import Served
from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.tools.port import Outcome

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


async def offered(turn: RunContext, served: Served, lengths: Lengths, warned: set[str]) -> list[ToolDefinition]:
    """The tools that the model is offered. Where their descriptions take too much of its context the longest ones are
    left out, which the run says, unless it was `warned` of that."""
    if not served.tools:
        return []
    own = [tool for tool in turn.tools() if tool.available() and (served.sees or not tool.shows)]
    found = [_defined(tool.name, tool.description, tool.Input.model_json_schema()) for tool in own]
    # Calls of the caller's tools wait together.
    found += [
        _defined(tool.name, tool.description, tool.input_schema, sequential=False) for tool in turn.client_tools()
    ]
    room = lengths.context(served.context) * TOOLS_SHARE
    fit = set()
    for definition in sorted(found, key=lambda each: lengths.of(tool_count(each))):
        room -= lengths.of(tool_count(definition))
        if room >= 0:
            fit.add(definition.name)
    if left := [definition.name for definition in found if definition.name not in fit]:
        why = f"The model's context is small, so it is not offered {', '.join(left)}: set AGENTSVC_MODEL_CONTEXT."
        if why not in warned:
            warned.add(why)
            await turn.warn("tools_left_out", why)
    return [definition for definition in found if definition.name in fit]


def tool_count(definition: ToolDefinition) -> Count:
    """What a tool's description has of each kind."""
    said = {"name": definition.name, "description": definition.description}
    return count_schema({**said, "parameters": definition.parameters_json_schema})


def _defined(name: str, description: str, schema: dict[str, Any], *, sequential: bool = True) -> ToolDefinition:
    return ToolDefinition(
        name=name, description=description, parameters_json_schema=_brief(schema), sequential=sequential
    )


def _brief(schema: Any, names: bool = False) -> Any:
    """The schema without what costs tokens and tells little: titles, which repeat the names, and that what may be left
    out may also be null. `names`: its keys are those of properties. The service checks each input by the whole one."""
    if isinstance(schema, list):
        return [_brief(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if names:
        return {key: _brief(each) for key, each in schema.items()}
    kept = {key: each for key, each in schema.items() if key != "title" and (key, each) != ("pattern", r"\S")}
    match kept:
        case {"anyOf": [{**one}, {"type": "null"}], "default": None}:
            kept = {**one, **{key: each for key, each in kept.items() if key not in ("anyOf", "default")}}
            return _brief(kept)
    return {key: _brief(each, key in ("properties", "$defs")) for key, each in kept.items()}


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
