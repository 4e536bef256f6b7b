"""Offer the tools of one turn: from the catalog, from MCP servers and from the caller. The model finds most tools by
searching.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pydantic_ai import RunContext as ModelContext
from pydantic_ai import ToolFailed
from pydantic_ai.capabilities import ToolSearch
from pydantic_ai.messages import ToolReturn
from pydantic_ai.tools import AgentNativeTool, ToolDefinition
from pydantic_ai.toolsets.abstract import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from agentsvc_nb.agents.language.conversation import pictures
from agentsvc_nb.agents.language.served_models import ServedModel
from agentsvc_nb.agents.language.tokens import Budget, TokenCounter, size_of_tool
from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.tools.port import PLAN, Outcome, Tool, WorkFailure, repeatable

_OBJECT: Final = SchemaValidator(core_schema.dict_schema(keys_schema=core_schema.str_schema()))
_MISTAKES_MAX: Final = 5
"""How often in a row a model may call a tool with arguments that are not a JSON object."""
_PICTURES_MAX: Final = 4
"""The maximum number of pictures that the model gets from one result."""
_WARNED_AT: Final = 3
_ENDED_AT: Final = 6
_REPEATED: Final = (
    f"You made this call {{count}} times with the same input, while nothing changed. Its result is below: use it, or "
    f"do something else. The {_ENDED_AT}th call ends the run.\n\n"
)
_TOOLS_SHARE: Final = 0.6
"""The share of the context length for tool descriptions in the first request."""
_SMALL_CONTEXT: Final = 16_384
"""With a context length up to this, a model gets no plan tool, because the plan would use too much of the context."""
_NAMES_MAX: Final = 12
"""The maximum number of tools in a group that the prompt names."""
_GROUPS: Final = "\n\nFurther tools by group. Load them with search_tools before you call them: "
_NOT_TOLD: Final = frozenset({"title", "pattern", "minLength", "maxLength", "minItems", "maxItems", "minimum"})
_GROUP: Final = "group"
"""The key in a tool definition's metadata under which the tool's group is stored."""


class TurnTools(AbstractToolset[None]):
    """The tools that the turn offers to the model. They return shortened results, and pictures if the model can see. A
    failed call returns an error in the provider's form."""

    def __init__(self, turn: RunContext, definitions: Sequence[ToolDefinition], budget: Budget, sees: bool) -> None:
        self._turn = turn
        self._definitions = definitions
        self._budget = budget
        self._sees = sees
        self._calls = RepeatedCalls(turn)

    @property
    def id(self) -> str | None:
        return "turn"

    async def get_tools(self, ctx: ModelContext[None]) -> dict[str, ToolsetTool[None]]:
        return {
            each.name: ToolsetTool(toolset=self, tool_def=each, max_retries=_MISTAKES_MAX, args_validator=_OBJECT)
            for each in self._definitions
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: ModelContext[None], tool: ToolsetTool[None]
    ) -> str | ToolReturn[str]:
        outcome, warning = await self._calls.make(name, tool_args, str(ctx.tool_call_id))
        text = self._budget.tokens.shorten(warning + outcome_as_text(outcome), self._budget.result)
        if outcome.error is not None:
            raise ToolFailed(text)
        if not self._sees or not any(each.shows for each in self._turn.tools() if each.name == name):
            return text
        paths = [str(block["path"]) for block in outcome.content if block["type"] == "image"]
        shown = await pictures(self._turn, paths[:_PICTURES_MAX])
        return ToolReturn(text, content=shown) if shown else text


@dataclass
class _Call:
    """How often the model made a call, and the call's answer if it succeeded."""

    count: int = 0
    outcome: Outcome | None = None
    running: asyncio.Lock = field(default_factory=asyncio.Lock)


class RepeatedCalls:
    """Answers repeated calls with the same input from earlier results (docs/models.md). A call that may have changed
    something invalidates all earlier results.
    """

    def __init__(self, turn: RunContext) -> None:
        self._turn = turn
        self._calls: dict[str, _Call] = {}

    async def make(self, name: str, given: dict[str, Any], call_id: str) -> tuple[Outcome, str]:
        """Return a call's outcome, and a warning for the model. Raise `WorkFailure("call_repeated")`."""
        tool = next((each for each in self._turn.tools() if each.name == name), None)
        key = json.dumps([name, given], sort_keys=True)
        call = self._calls.setdefault(key, _Call())
        if tool is None or not tool.reads(given):
            self._calls = {key: call}
        call.count += 1
        message = f"The model called {name} {call.count} times with the same input"
        if call.count >= _ENDED_AT:
            raise WorkFailure("call_repeated", f"{message}, while nothing changed.")
        async with call.running:
            if call.outcome is None or _is_always_made(tool):
                outcome = await self._turn.call(name, given, key=call_id)
                call.outcome = None if outcome.error else outcome
            else:
                outcome = call.outcome
        if call.count < _WARNED_AT:
            return outcome, ""
        await self._turn.warn("call_repeated", f"{message}.")
        return outcome, _REPEATED.format(count=call.count)


def _is_always_made(tool: Tool | None) -> bool:
    """Return True if a repeated call must be made again. This applies to the caller's tools, whose data may have
    changed, and to edits of files.
    """
    return tool is None or tool.keeps_state or (not tool.effect and not repeatable(tool))


async def offered(turn: RunContext, served: ServedModel, tokens: TokenCounter) -> list[ToolDefinition]:
    """Return the tools of a turn. Defer grouped tools until the model loads them. Also defer the tools with the longest
    descriptions if the context length is small, but never the caller's tools.
    """
    if not served.tools:
        return []
    project = await turn.project()
    of_project = {"project": project is not None, "skills": project is not None and bool(project.skills)}
    own = [
        tool
        for tool in turn.tools()
        if tool.available()
        and (served.sees or not tool.needs_sight)
        and of_project.get(tool.group, True)
        and (tool.name != PLAN or served.context > _SMALL_CONTEXT)
    ]
    found = [definition(tool.name, tool.description, tool.Input.model_json_schema(), tool.group) for tool in own]
    callers = [definition(tool.name, tool.description, tool.input_schema) for tool in turn.client_tools()]
    lengths = {each.name: tokens.usual(size_of_tool(each)) for each in found + callers}
    room = served.context * _TOOLS_SHARE - sum(lengths[each.name] for each in callers)
    core = set()
    for each in sorted(found, key=lambda one: lengths[one.name]):
        if _group(each) in ("", *of_project) and lengths[each.name] <= room:
            room -= lengths[each.name]
            core.add(each.name)
    return [*(replace(each, defer_loading=each.name not in core) for each in found), *callers]


def definition(name: str, description: str, schema: dict[str, Any], group: str = "") -> ToolDefinition:
    """Return a tool as the model sees it. The service checks inputs with the whole schema."""
    return ToolDefinition(
        name=name, description=description, parameters_json_schema=_brief(schema), metadata={_GROUP: group}
    )


def _brief(schema: Any) -> Any:
    """Remove titles (which repeat names), the null of optional values, and limits that a model hardly reaches."""
    if isinstance(schema, list):
        return [_brief(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: each for key, each in schema.items() if key not in _NOT_TOLD}
    match kept:
        case {"anyOf": [{**one}, {"type": "null"}], "default": None}:
            return _brief({**one, **{key: each for key, each in kept.items() if key not in ("anyOf", "default")}})
    if not kept.get("default", True):
        del kept["default"]  # an empty default adds nothing
    return {key: _named(each) if key in ("properties", "$defs") else _brief(each) for key, each in kept.items()}


def _named(schemas: Any) -> Any:
    """Shorten the schemas of properties. Names of properties are not schema keywords."""
    return {name: _brief(each) for name, each in schemas.items()} if isinstance(schemas, dict) else schemas


def groups(tools: Sequence[ToolDefinition]) -> str:
    """Return the sentence that names the tools that the model may load, or "" without any."""
    names: dict[str, list[str]] = {}
    for tool in tools:
        if tool.defer_loading:
            names.setdefault(_group(tool) or "more", []).append(tool.name)
    listed = []
    for group, each in names.items():
        more = f" and {len(each) - _NAMES_MAX} more" if len(each) > _NAMES_MAX else ""
        listed.append(f"{group} ({', '.join(each[:_NAMES_MAX])}{more})")
    return f"{_GROUPS}{'; '.join(listed)}." if listed else ""


def _group(tool: ToolDefinition) -> str:
    return str((tool.metadata or {})[_GROUP])


class LocalToolSearch(ToolSearch[None]):
    """Searches tools in this process for every provider, because the record of sent data would lack what a provider's
    own search loads.
    """

    def get_native_tools(self) -> Sequence[AgentNativeTool[None]]:
        return []


def tool_search() -> LocalToolSearch:
    """Return the search with which a model loads deferred tools."""
    return LocalToolSearch(
        _search,
        tool_description="Loads further tools for your next steps.",
        parameter_description="Groups, tools, or words for what they do.",
    )


def _search(ctx: ModelContext[None], queries: Sequence[str], tools: Sequence[ToolDefinition]) -> list[str]:
    """Return tools with words of the queries, best first. Words in descriptions match only if they have at least four
    letters.
    """
    words = _words(" ".join(queries))
    scores = {}
    for tool in tools:
        described = {word for word in _words(tool.description or "") if len(word) >= 4}
        scores[tool.name] = len(words & (described | _words(f"{_group(tool)} {tool.name}")))
    return sorted((name for name, score in scores.items() if score), key=lambda name: -scores[name])


def _words(text: str) -> set[str]:
    """Return the words of a text. Singular and plural give the same word."""
    return {word.removesuffix("s") for word in re.findall(r"[^\W_]+", text.casefold())}


def outcome_as_text(outcome: Outcome) -> str:
    """Return a tool's outcome as text for the model.

    >>> outcome_as_text(Outcome(error=("not_configured", "Set AGENTSVC_SMTP_URL.")))
    'not_configured: Set AGENTSVC_SMTP_URL.'
    """
    if outcome.error is not None:
        return f"{outcome.error[0]}: {outcome.error[1]}"
    lines = []
    for block in outcome.content:
        match block.get("type"):
            case "text":
                lines.append(str(block["text"]))
            case "image":
                lines.append(f"picture: {block['path']}")
            case _:
                lines.append(json.dumps(block.get("json"), ensure_ascii=False))
    if outcome.data is not None:
        lines.append(json.dumps(outcome.data, ensure_ascii=False))
    return "\n".join(lines) or "done"
