"""The tools of one turn: the catalog's, those of servers and the caller's. The first request has a core, and the model
loads the others by a search. Each call goes through the run."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic_ai import ModelMessage, ToolFailed
from pydantic_ai import RunContext as ModelContext
from pydantic_ai.capabilities import ToolSearch
from pydantic_ai.messages import ToolReturn, ToolSearchReturnPart
from pydantic_ai.tools import AgentNativeTool, ToolDefinition
from pydantic_ai.toolsets.abstract import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from agentsvc_nb.agents.language.conversation import looked_at
from agentsvc_nb.agents.language.lengths import Budget, Lengths
from agentsvc_nb.agents.language.repeating import Repetition
from agentsvc_nb.agents.language.served import Served
from agentsvc_nb.agents.language.tool_definitions import GROUP, definition, tool_count
from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.tools.port import PLAN, Outcome, repeatable

_OBJECT: Final = SchemaValidator(core_schema.dict_schema(keys_schema=core_schema.str_schema()))
MISTAKES_MAX: Final = 5
"""How often in a row a model may call a tool with arguments that are no JSON object."""


class TurnTools(AbstractToolset[None]):
    """The tools of one turn that the model is offered; their results are shortened. If it `sees`, it is shown the
    pictures that it looks at or draws. A failed call goes back as an error in the provider's form."""

    def __init__(self, turn: RunContext, offered: Sequence[ToolDefinition], budget: Budget, sees: bool) -> None:
        self._turn = turn
        self._sees = sees
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
            # What is true where the caller is may have changed, and the same edit may be wanted twice.
            anew=any(name == asked.name for asked in self._turn.client_tools()) or self._is_edit(name),
        )
        said = self._budget.lengths.shortened(before + told(outcome), self._budget.result)
        if outcome.error is not None:
            raise ToolFailed(said)
        if not self._sees or not any(tool.shows for tool in self._turn.tools() if tool.name == name):
            return said
        shown = [str(block["path"]) for block in outcome.content if block["type"] == "image"]
        pictures = await looked_at(self._turn, shown)
        return ToolReturn(said, content=pictures) if pictures else said

    def _is_edit(self, name: str) -> bool:
        """Return True if the tool changes only files of the chat, and each call changes them again."""
        return any(tool.name == name and not tool.effect and not repeatable(tool) for tool in self._turn.tools())


TOOLS_SHARE: Final = 0.6
"""Part of the context that the descriptions of tools in the first request may take."""
SMALL_CONTEXT: Final = 16_384
"""Up to here a model shows no plan: keeping one takes too much of its context."""


async def offered(turn: RunContext, served: Served, lengths: Lengths) -> list[ToolDefinition]:
    """Return the tools of a turn. Deferred are, until the model loads them by `tool_search`, those of a group, and the
    longest ones where a small context has no room for them; never those of the caller."""
    if not served.tools:
        return []
    project = await turn.project()
    core = {"", *(["project"] if project else []), *(["skills"] if project and project.skills else [])}
    own = [tool for tool in turn.tools() if tool.available() and (served.sees or not tool.needs_sight)]
    own = [tool for tool in own if tool.group not in ("project", "skills") or tool.group in core]
    own = [tool for tool in own if tool.name != PLAN or served.context > SMALL_CONTEXT]
    found = [definition(tool.name, tool.description, tool.Input.model_json_schema(), tool.group) for tool in own]
    callers = [definition(tool.name, tool.description, tool.input_schema) for tool in turn.client_tools()]
    sizes = {one.name: lengths.of(tool_count(one)) for one in found + callers}
    room = served.context * TOOLS_SHARE - sum(sizes[one.name] for one in callers)
    sent = set()
    for one in sorted(found, key=lambda each: sizes[each.name]):
        if _group(one) in core and sizes[one.name] <= room:
            room -= sizes[one.name]
            sent.add(one.name)
    return [*(replace(one, defer_loading=one.name not in sent) for one in found), *callers]


def loaded(tools: Sequence[ToolDefinition], messages: Sequence[ModelMessage]) -> list[ToolDefinition]:
    """Return the tools that a request with these messages describes: all but those that no search has found."""
    parts = [part for message in messages for part in message.parts if isinstance(part, ToolSearchReturnPart)]
    found = {match["name"] for part in parts for match in part.discovered_tools}
    return [tool for tool in tools if not tool.defer_loading or tool.name in found]


NAMES_TOLD: Final = 12
"""Tools of a group that are named."""
_GROUPS: Final = "\n\nFurther tools, by group. Load those that you need with search_tools before you call one: "


def groups(tools: Sequence[ToolDefinition]) -> str:
    """Return the sentence that names the tools that the model may load; empty if there are none."""
    names: dict[str, list[str]] = {}
    for tool in tools:
        if tool.defer_loading:
            names.setdefault(_group(tool) or "more", []).append(tool.name)
    told = "; ".join(f"{group} ({_listed(each)})" for group, each in names.items())
    return f"{_GROUPS}{told}." if told else ""


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_TOLD} more" if len(names) > NAMES_TOLD else ""
    return ", ".join(names[:NAMES_TOLD]) + more


def _group(tool: ToolDefinition) -> str:
    return str((tool.metadata or {})[GROUP])


class LocalToolSearch(ToolSearch[None]):
    """Searches here with every provider: what a provider's own search loads is not in the record of what was sent."""

    def get_native_tools(self) -> Sequence[AgentNativeTool[None]]:
        return []


def tool_search() -> LocalToolSearch:
    """Return the search by which a model loads deferred tools."""
    return LocalToolSearch(
        search,
        tool_description="Loads further tools. You can call them from your next step on.",
        parameter_description="Names of groups or tools, or words for what they do.",
    )


_WORD: Final = re.compile(r"[^\W_]+")
_TELLING: Final = 4
"""Letters that a word of a description must have to count."""


def search(ctx: ModelContext[None], queries: Sequence[str], tools: Sequence[ToolDefinition]) -> list[str]:
    """Return the names of the tools that have words of the queries, those with most of them first."""
    words = _words(" ".join(queries))
    scores = {tool.name: len(words & _words_of(tool)) for tool in tools}
    return sorted((name for name, score in scores.items() if score), key=lambda name: -scores[name])


def _words_of(tool: ToolDefinition) -> set[str]:
    telling = {word for word in _words(tool.description or "") if len(word) >= _TELLING}
    return telling | _words(f"{_group(tool)} {tool.name}")


def _words(text: str) -> set[str]:
    """The words of a text, in singular and plural alike."""
    return {word.removesuffix("s") for word in _WORD.findall(text.casefold())}


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
