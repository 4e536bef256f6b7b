"""How a model is asked for an object that fits a schema: natively where it takes the schema, else through a tool."""

from __future__ import annotations

import copy
import json
from collections.abc import Awaitable, Callable
from typing import Any, Final

from pydantic_ai import Agent, ModelRetry, StructuredDict
from pydantic_ai import RunContext as ModelContext
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import NativeOutput, OutputObjectDefinition, OutputSpec, ToolOutput

from agentsvc_nb.agents.language.served import Served

NAME: Final = "answer"
_KEPT: Final = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref", "$defs"}
)
_SAID: Final = frozenset(
    {"title", "description", "default", "examples", "format", "pattern", "minLength", "maxLength", "minimum", "maximum"}
    | {"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems"}
)
"""Keywords that a provider's library may move into a description: `check_each` checks the answers anyway."""


def form(schema: dict[str, Any], served: Served, *, tools: bool) -> OutputSpec[Any]:
    """The output type that asks for a fitting object; `tools`: the agent also has tools.

    Most providers take any schema as it is. Claude takes schemas strictly: each object is closed, and keywords that its
    grammar lacks are left out or refused. A schema whose meaning would change becomes a tool's input, which may be any.
    """
    shape = StructuredDict(copy.deepcopy(schema), name=NAME)
    if tools and served.model.profile.get("google_supports_tool_combination") is False:
        return ToolOutput(shape, strict=False)  # an older Gemini: a schema or tools, not both
    for strict in (False, None) if is_strict(schema) else (False,):
        sent = _sent(schema, served, strict)
        if sent is not None and (not sent.strict or is_strict(schema)):
            return NativeOutput(shape, strict=strict)
    return ToolOutput(shape, strict=False)


Judge = Callable[[str], Awaitable[str | None]]
"""Why an answer does not fit its schema; None when it does."""


def check_each(agent: Agent[None, Any], misfit: Judge) -> None:
    """Have the agent check each answer with `misfit`, as the library does not check values: one that does not fit goes
    back to the model with the reason."""

    @agent.output_validator
    async def check(ctx: ModelContext[None], found: dict[str, Any]) -> dict[str, Any]:
        if why := await misfit(json.dumps(found, ensure_ascii=False)):
            raise ModelRetry(f"The answer does not fit the schema: {why}")
        return found


def is_strict(schema: object) -> bool:
    """Whether a strict grammar allows every answer that the schema allows, apart from properties it does not name.

    >>> is_strict({"type": "object", "properties": {"score": {"type": "integer", "maximum": 5}}})
    True
    >>> is_strict({"type": "object", "additionalProperties": {"type": "number"}})
    False
    """
    if not isinstance(schema, dict) or schema.keys() - _KEPT - _SAID:
        return False
    match schema:
        case {"$ref": str(reference)}:
            keeps = reference.startswith("#/$defs/")
        case {"enum": _} | {"const": _}:
            keeps = True
        case {"anyOf": _}:
            keeps = "type" not in schema
        case {"type": "object"}:
            keeps = _is_closed(schema)
        case {"type": "array"}:
            keeps = "items" in schema
        case _:
            keeps = isinstance(schema.get("type"), str)
    return keeps and all(is_strict(inner) for inner in _inner(schema))


def _is_closed(schema: dict[str, Any]) -> bool:
    named, needed = schema.get("properties", {}), set(schema.get("required", ()))
    return bool(named) and needed <= named.keys() and schema.get("additionalProperties", False) is False


def _inner(schema: dict[str, Any]) -> list[Any]:
    found = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", [])]
    return [*found, schema["items"]] if "items" in schema else found


def _sent(schema: dict[str, Any], served: Served, strict: bool | None) -> OutputObjectDefinition | None:
    """The schema as the library would send it; None when this model does not take it in that form."""
    wanted = OutputObjectDefinition(json_schema=copy.deepcopy(schema), name=NAME, strict=strict)
    parameters = ModelRequestParameters(output_mode="native", output_object=wanted)
    try:
        _, prepared = served.model.prepare_request(served.settings, parameters)
    except Exception:  # the libraries refuse with errors of many kinds; the caller tries another form
        return None
    return prepared.output_object
