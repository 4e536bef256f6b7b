"""Offer the tools of one turn to the model: those of the service's catalog, of MCP servers and of the run's caller.

Most tools are deferred: the requests do not describe them until the model has found and loaded them with a search tool.
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

from agentsvc_nb.agents.language.conversation import load_pictures
from agentsvc_nb.agents.language.served_models import ServedModel
from agentsvc_nb.agents.language.tokens import Budget, TokenCounter, estimate_tool
from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.tools.port import PLAN, Outcome, Tool, WorkFailure, repeatable

_OBJECT: Final = SchemaValidator(core_schema.dict_schema(keys_schema=core_schema.str_schema()))
_MISTAKES_MAX: Final = 5
"""How many consecutive calls of a tool may have arguments that are not a JSON object."""
_PICTURES_MAX: Final = 4
"""The maximum number of pictures to send to the model with one tool result."""
_WARNED_AT: Final = 3
_ENDED_AT: Final = 6
_REPEATED: Final = (
    f"You made this call {{count}} times with the same input, while nothing changed. Its result is below: use it, or "
    f"do something else. The {_ENDED_AT}th call ends the run.\n\n"
)
_TOOLS_SHARE: Final = 0.6
"""The share of the context length that descriptions of tools may take in the first request."""
_SMALL_CONTEXT: Final = 16_384
"""Models with a context length up to this get no plan tool, because a plan would take too much of the context."""
_NAMES_MAX: Final = 12
"""The maximum number of tools of each group that the system prompt names."""
_GROUPS: Final = "\n\nFurther tools by group. Load them with search_tools before you call them: "
_NOT_TOLD: Final = frozenset({"title", "pattern", "minLength", "maxLength", "minItems", "maxItems", "minimum"})
_GROUP: Final = "group"
"""The key of the tool's group in the metadata of a tool definition."""


class TurnTools(AbstractToolset[None]):
    """Executes the model's tool calls in a turn. Results are shortened, and contain pictures if the model accepts
    pictures. A failed call becomes an error result in the provider's format.
    """

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
        outcome, warning = await self._calls.call(name, tool_args, str(ctx.tool_call_id))
        text = self._budget.tokens.shorten(warning + outcome_as_text(outcome), self._budget.result)
        if outcome.error is not None:
            raise ToolFailed(text)
        if not self._sees or not any(each.shows for each in self._turn.tools() if each.name == name):
            return text
        paths = [str(block["path"]) for block in outcome.content if block["type"] == "image"]
        shown = await load_pictures(self._turn, paths[:_PICTURES_MAX])
        return ToolReturn(text, content=shown) if shown else text


@dataclass
class _RepeatedCall:
    """A tool call with a certain input: how often the model has made it, and its result if it succeeded."""

    count: int = 0
    outcome: Outcome | None = None
    running: asyncio.Lock = field(default_factory=asyncio.Lock)


class RepeatedCalls:
    """Makes tool calls, and reuses the earlier result if a call is repeated with the same input (docs/models.md). After
    a call that may change something, no earlier result is reused.
    """

    def __init__(self, turn: RunContext) -> None:
        self._turn = turn
        self._calls: dict[str, _RepeatedCall] = {}

    async def call(self, name: str, given: dict[str, Any], call_id: str) -> tuple[Outcome, str]:
        """Return the outcome of a call, and a warning for the model if the call is repeated too often, else "".

        Raises `WorkFailure("call_repeated")` at the sixth call with the same input while nothing changed.
        """
        tool = next((each for each in self._turn.tools() if each.name == name), None)
        key = json.dumps([name, given], sort_keys=True)
        call = self._calls.setdefault(key, _RepeatedCall())
        if tool is None or not tool.reads(given):
            self._calls = {key: call}
        call.count += 1
        message = f"The model called {name} {call.count} times with the same input"
        if call.count >= _ENDED_AT:
            raise WorkFailure("call_repeated", f"{message}, while nothing changed.")
        async with call.running:
            if call.outcome is None or _must_repeat(tool):
                outcome = await self._turn.call(name, given, key=call_id)
                call.outcome = None if outcome.error else outcome
            else:
                outcome = call.outcome
        if call.count < _WARNED_AT:
            return outcome, ""
        await self._turn.warn("call_repeated", f"{message}.")
        return outcome, _REPEATED.format(count=call.count)


def _must_repeat(tool: Tool | None) -> bool:
    """Return True if a call with the same input must run again.

    This applies to client tools, whose data may have changed, to tools that keep state, and to tools that edit files.
    """
    return tool is None or tool.keeps_state or (not tool.effect and not repeatable(tool))


async def select_tools(turn: RunContext, served: ServedModel, tokens: TokenCounter) -> list[ToolDefinition]:
    """Return the tools to offer in a turn. Defer the tools that belong to a group, and, if the context is small, also
    those with the longest descriptions. The caller's tools are never deferred.
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
    found = [tool_definition(tool.name, tool.description, tool.Input.model_json_schema(), tool.group) for tool in own]
    callers = [tool_definition(tool.name, tool.description, tool.input_schema) for tool in turn.client_tools()]
    lengths = {each.name: tokens.usual(estimate_tool(each)) for each in found + callers}
    room = served.context * _TOOLS_SHARE - sum(lengths[each.name] for each in callers)
    core = set()
    for each in sorted(found, key=lambda one: lengths[one.name]):
        if _group(each) in ("", *of_project) and lengths[each.name] <= room:
            room -= lengths[each.name]
            core.add(each.name)
    return [*(replace(each, defer_loading=each.name not in core) for each in found), *callers]


def tool_definition(name: str, description: str, schema: dict[str, Any], group: str = "") -> ToolDefinition:
    """Return a tool's description for the model, with a shortened schema. Calls must fit the tool's full schema."""
    return ToolDefinition(
        name=name, description=description, parameters_json_schema=_shorten_schema(schema), metadata={_GROUP: group}
    )


def _shorten_schema(schema: Any) -> Any:
    """Return the schema without titles, most limits, empty defaults, and the null of optional values."""
    if isinstance(schema, list):
        return [_shorten_schema(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: each for key, each in schema.items() if key not in _NOT_TOLD}
    match kept:
        case {"anyOf": [{**one}, {"type": "null"}], "default": None}:
            return _shorten_schema(
                {**one, **{key: each for key, each in kept.items() if key not in ("anyOf", "default")}}
            )
    if not kept.get("default", True):
        del kept["default"]  # an empty default tells the model nothing
    return {
        key: _shorten_properties(each) if key in ("properties", "$defs") else _shorten_schema(each)
        for key, each in kept.items()
    }


def _shorten_properties(schemas: Any) -> Any:
    """Shorten the schema of each property. The names stay, even if a property has the name of a schema keyword."""
    return {name: _shorten_schema(each) for name, each in schemas.items()} if isinstance(schemas, dict) else schemas


def describe_groups(tools: Sequence[ToolDefinition]) -> str:
    """Return a sentence for the system prompt that lists the deferred tools by group, or "" if there are none."""
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
    """Searches tools in this process instead of at the provider.

    If the provider searched, this process would not know which tools it sends to the model, so the record of sent data
    would lack them.
    """

    def get_native_tools(self) -> Sequence[AgentNativeTool[None]]:
        return []


def tool_search() -> LocalToolSearch:
    """Return the search tool with which the model finds and loads deferred tools."""
    return LocalToolSearch(
        _search,
        tool_description="Loads further tools for your next steps.",
        parameter_description="Groups, tools, or words for what they do.",
    )


def _search(ctx: ModelContext[None], queries: Sequence[str], tools: Sequence[ToolDefinition]) -> list[str]:
    """Return the names of tools that match the queries' words, best first. Short words match only names."""
    words = _words(" ".join(queries))
    scores = {}
    for tool in tools:
        described = {word for word in _words(tool.description or "") if len(word) >= 4}
        scores[tool.name] = len(words & (described | _words(f"{_group(tool)} {tool.name}")))
    return sorted((name for name, score in scores.items() if score), key=lambda name: -scores[name])


def _words(text: str) -> set[str]:
    """Return the words of a text without a final `s`, so that the plural matches the singular."""
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
