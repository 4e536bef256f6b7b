"""Build the small JSON Schemas in the list of tools, which MCP clients send to their model with each request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

Schema = dict[str, Any]
_NULL: Final = {"type": "null"}
_LEFT_OUT: Final = frozenset({"$defs", "$ref", "title", "examples", "discriminator", "pattern"})
"""The schema keys to omit. The service checks `pattern` anyway, and the description tells a model more."""


def input_schema(schema: Mapping[str, Any]) -> Schema:
    """Return a small JSON Schema for a tool's arguments.

    It contains no references and allows no additional arguments. It does not mention null, because the service ignores
    an argument that is null (docs/api/conventions.md "Values").

    >>> class Place(BaseModel):
    ...     town: str | None = None
    >>> input_schema(Place.model_json_schema())
    {'properties': {'town': {'type': 'string'}}, 'type': 'object', 'additionalProperties': False}
    """
    found = _inline(schema, schema.get("$defs", {}))
    return {name: value for name, value in found.items() if name != "description"}


def output_schema(model: type[BaseModel], depth: int) -> Schema:
    """Return a JSON Schema with only the types of `model`'s fields, `depth` levels deep. No field is required."""
    schema = model.model_json_schema(mode="serialization")
    return _outline(_inline(schema, schema.get("$defs", {})), depth)


def unknown_argument(given: object, schema: Mapping[str, Any], place: str = "") -> str | None:
    """Return an error message for the first argument that `schema` (from `input_schema`) does not declare, or None.

    >>> unknown_argument({"to": "Ulm"}, {"properties": {"town": {}}, "additionalProperties": False})
    'There is no argument `to`. The tool accepts `town`.'
    """
    if isinstance(given, list):
        found = (unknown_argument(item, schema.get("items", {}), f"{place}{at}.") for at, item in enumerate(given))
        return next(filter(None, found), None)
    known = schema.get("properties", {})
    for name, value in given.items() if isinstance(given, dict) else ():
        if name in known:
            if fault := unknown_argument(value, known[name], f"{place}{name}."):
                return fault
        elif schema.get("additionalProperties") is False:
            here = ", ".join(f"`{one}`" for one in known)
            return f"There is no argument `{place[:200]}{name[:200]}`. The tool accepts {here}."
    return None


def _inline(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    """Replace references with their definitions, which are never recursive.

    Remove nulls, and keys that the client's model does not need (`_LEFT_OUT`). Forbid properties that the schema does
    not declare, unless the schema says whether they are allowed.
    """
    if "$ref" in schema:
        schema = {**definitions[schema["$ref"].rpartition("/")[2]], **schema}
    found: Schema = {name: value for name, value in schema.items() if name not in _LEFT_OUT}
    if found.get("default", ...) is None:
        del found["default"]
    if "enum" in found:
        found["enum"] = [value for value in found["enum"] if value is not None]
    for name in ("anyOf", "oneOf"):
        if name in found:
            options = [_inline(one, definitions) for one in found.pop(name) if one != _NULL]
            found = {**options[0], **found} if len(options) == 1 else {**found, name: options}
    for name in ("items", "additionalProperties"):
        if isinstance(found.get(name), dict):
            found[name] = _inline(found[name], definitions)
    if "properties" in found:
        found["properties"] = {name: _inline(one, definitions) for name, one in found["properties"].items()}
        found.setdefault("additionalProperties", False)
    return found


def _outline(schema: Mapping[str, Any], depth: int) -> Schema:
    found: Schema = {"type": schema["type"]} if "type" in schema else {}
    if depth and "properties" in schema:
        found["properties"] = {name: _outline(one, depth - 1) for name, one in schema["properties"].items()}
    if depth and "items" in schema:
        found["items"] = _outline(schema["items"], depth)
    return found
