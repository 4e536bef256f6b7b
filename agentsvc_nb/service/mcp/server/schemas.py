"""JSON Schemas for the MCP list. They must be small, because clients put the whole list into each request to their
model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

Schema = dict[str, Any]
_NULL: Final = {"type": "null"}
_LEFT_OUT: Final = frozenset({"$defs", "$ref", "title", "examples", "discriminator", "pattern"})
"""Schema keys to leave out. A pattern tells a model less than the description does, and the service checks the pattern
anyway.
"""


def of_input(schema: Mapping[str, Any]) -> Schema:
    """Return the schema of a tool's arguments: small, without references, and closed to other arguments.

    It does not mention null, because an argument that is null is treated as left out (docs/api/conventions.md
    "Values").

    >>> class Place(BaseModel):
    ...     town: str | None = None
    >>> of_input(Place.model_json_schema())
    {'type': 'object', 'properties': {'town': {'type': 'string'}}, 'additionalProperties': False}
    """
    found = _inline(schema, schema.get("$defs", {}))
    return {name: value for name, value in found.items() if name != "description"}


def of_output(model: type[BaseModel], depth: int) -> Schema:
    """Return the types of a dumped `model`, for `depth` levels of nested objects.

    No field is required, because a failed call has an `error` instead.
    """
    schema = model.model_json_schema(mode="serialization")
    return _outline(_inline(schema, schema.get("$defs", {})), depth)


def unknown_argument(given: object, schema: Mapping[str, Any], place: str = "") -> str | None:
    """Return a message about the first argument that the schema of `of_input` lacks, or None.

    >>> unknown_argument({"to": "Ulm"}, {"properties": {"town": {}}, "additionalProperties": False})
    'There is no argument `to`. Known here: `town`.'
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
    """Replace references by their targets, leave out nulls and `_LEFT_OUT`, and close objects.

    No input or output is recursive.
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
