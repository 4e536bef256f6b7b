"""How a tool is described to a model: its schema without what costs tokens and tells little; in a small context in
short."""

from __future__ import annotations

from typing import Any, Final

from pydantic_ai.tools import ToolDefinition

from agentsvc_nb.agents.language.lengths import Count, count_schema

GROUP: Final = "group"
"""The key of a definition's metadata with the group of its tool."""
TOOL_CHARS: Final = 220
"""Of a tool's description in short."""
FIELD_CHARS: Final = 100
"""Of a field's description in short."""
_BOUNDS: Final = (
    *("default", "examples", "format", "pattern", "additionalProperties", "minimum", "maximum"),
    *("minLength", "maxLength", "minItems", "maxItems", "maxProperties"),
)
"""Left out in short: whoever breaks them is told so by the service."""


def definition(
    name: str,
    description: str,
    schema: dict[str, Any],
    group: str = "",
    *,
    short: bool = False,
) -> ToolDefinition:
    """Return a tool as it is described to a model. The service checks each input by the whole schema."""
    if short:
        description = in_short(description, TOOL_CHARS)
    return ToolDefinition(
        name=name,
        description=description,
        parameters_json_schema=_brief(schema, short),
        metadata={GROUP: group},
    )


def tool_count(definition: ToolDefinition) -> Count:
    """What a tool's description has of each kind."""
    said = {"name": definition.name, "description": definition.description}
    return count_schema({**said, "parameters": definition.parameters_json_schema})


def in_short(text: str, most: int) -> str:
    """The sentences of a text that fit into so many characters, at least the first.

    >>> in_short("Draws a picture. It is a PNG.", 20)
    'Draws a picture.'
    """
    if len(text) <= most:
        return text
    first = text.find(". ")
    last = text.rfind(". ", 0, most)
    return text if first < 0 else text[: max(first, last) + 1]


def _brief(schema: Any, short: bool) -> Any:
    """The schema without titles, which repeat the names, and without saying that what may be left out may also be null;
    in short also without bounds."""
    if isinstance(schema, list):
        return [_brief(each, short) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: each for key, each in schema.items() if key != "title" and (key, each) != ("pattern", r"\S")}
    match kept:
        case {"anyOf": [{**one}, {"type": "null"}], "default": None}:
            kept = {**one, **{key: each for key, each in kept.items() if key not in ("anyOf", "default")}}
            return _brief(kept, short)
    if short:
        kept = {key: each for key, each in kept.items() if key not in _BOUNDS}
        if isinstance(said := kept.get("description"), str):
            kept["description"] = in_short(said, FIELD_CHARS)
    named = ("properties", "$defs")
    return {key: _named(each, short) if key in named else _brief(each, short) for key, each in kept.items()}


def _named(schemas: Any, short: bool) -> Any:
    """Schemas by the names of properties, which are no keywords; in short without those that have one value only."""
    if not isinstance(schemas, dict):
        return schemas
    kept = {name: each for name, each in schemas.items() if not (short and _is_settled(each))}
    return {name: _brief(each, short) for name, each in kept.items()}


def _is_settled(schema: Any) -> bool:
    return isinstance(schema, dict) and {"const", "default"} <= schema.keys()
