"""How a tool is described to a model: its schema without what costs tokens and tells little."""

from __future__ import annotations

from typing import Any, Final

from pydantic_ai.tools import ToolDefinition

from agentsvc_nb.agents.language.lengths import Count, count_schema

GROUP: Final = "group"
"""The key of a definition's metadata with the group of its tool."""


def definition(name: str, description: str, schema: dict[str, Any], group: str = "") -> ToolDefinition:
    """Return a tool as it is described to a model. The service checks each input by the whole schema."""
    return ToolDefinition(
        name=name, description=description, parameters_json_schema=_brief(schema), metadata={GROUP: group}
    )


def tool_count(definition: ToolDefinition) -> Count:
    """What a tool's description has of each kind."""
    said = {"name": definition.name, "description": definition.description}
    return count_schema({**said, "parameters": definition.parameters_json_schema})


def _brief(schema: Any) -> Any:
    """The schema without titles, which repeat the names, and without saying that what may be left out may also be
    null."""
    if isinstance(schema, list):
        return [_brief(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: each for key, each in schema.items() if key != "title" and (key, each) != ("pattern", r"\S")}
    match kept:
        case {"anyOf": [{**one}, {"type": "null"}], "default": None}:
            return _brief({**one, **{key: each for key, each in kept.items() if key not in ("anyOf", "default")}})
    return {key: _named(each) if key in ("properties", "$defs") else _brief(each) for key, each in kept.items()}


def _named(schemas: Any) -> Any:
    """Schemas by the names of properties, which are no keywords."""
    return {name: _brief(each) for name, each in schemas.items()} if isinstance(schemas, dict) else schemas
