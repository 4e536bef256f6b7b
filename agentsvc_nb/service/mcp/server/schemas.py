"""JSON Schemas as MCP lists them: clients put the whole list into each request to their model, so it must be small."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

Schema = dict[str, Any]

_NULL: Final = {"type": "null"}
_LEFT_OUT: Final = frozenset({"$defs", "$ref", "title", "examples", "discriminator", "pattern"})
"""A pattern tells a model less than the description; the service checks it."""


def of_input(schema: Mapping[str, Any]) -> Schema:
    """The schema of a tool's arguments, as pydantic made it: closed, small, and without the description of the
    whole, which the tool has.

    Null is not mentioned: an argument that is null counts as left out (docs/api/conventions.md "Values").

    >>> class Place(BaseModel):
    ...     town: str | None = None
    >>> of_input(Place.model_json_schema())
    {'type': 'object', 'properties': {'town': {'type': 'string'}}, 'additionalProperties': False}
    """
    found = _closed(_inlined(schema, schema.get("$defs", {})))
    return {name: value for name, value in found.items() if name != "description"}


def of_output(model: type[BaseModel], depth: int = 2) -> Schema:
    """The types of what `model` is dumped to without nulls, for `depth` objects within each other, without
    descriptions: whoever reads a result sees the rest. Nothing is required, since a call that failed has an `error` in
    place of the rest."""
    schema = model.model_json_schema(mode="serialization")
    return _outlined(_inlined(schema, schema.get("$defs", {})), depth)


def unknown_argument(given: object, schema: Mapping[str, Any], place: str = "") -> str | None:
    """A sentence about the first argument that a schema of `of_input` does not have; None if it has all.

    >>> unknown_argument({"to": "Ulm"}, {"properties": {"town": {}}, "additionalProperties": False})
    'There is no argument `to`. Known here: `town`.'
    """
    if isinstance(given, list):
        found = (unknown_argument(item, schema.get("items", {}), f"{place}{at}.") for at, item in enumerate(given))
        return next(filter(None, found), None)
    if not isinstance(given, dict):
        return None
    known = schema.get("properties", {})
    for name, value in given.items():
        if name in known:
            if fault := unknown_argument(value, known[name], f"{place}{name}."):
                return fault
        elif schema.get("additionalProperties") is False:
            here = ", ".join(f"`{one}`" for one in known)
            return f"There is no argument `{place[:200]}{name[:200]}`. Known here: {here}."
    return None


def _inlined(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    """The schema without references and nulls, and what is `_LEFT_OUT`. No input or output is recursive."""
    if "$ref" in schema:
        schema = {**definitions[schema["$ref"].rpartition("/")[2]], **schema}
    found: Schema = {name: value for name, value in schema.items() if name not in _LEFT_OUT}
    if found.get("default", ...) is None:
        del found["default"]
    if "enum" in found:
        found["enum"] = [value for value in found["enum"] if value is not None]
    for name in ("anyOf", "oneOf"):
        if name in found:
            options = [_inlined(one, definitions) for one in found.pop(name) if one != _NULL]
            found = {**options[0], **found} if len(options) == 1 else {**found, name: options}
    for name in ("items", "additionalProperties"):
        if isinstance(found.get(name), dict):
            found[name] = _inlined(found[name], definitions)
    if "properties" in found:
        found["properties"] = {name: _inlined(one, definitions) for name, one in found["properties"].items()}
    return found


def _closed(schema: Schema) -> Schema:
    """The schema, which allows no other property wherever it names some."""
    if "properties" in schema:
        schema.setdefault("additionalProperties", False)
        for one in schema["properties"].values():
            _closed(one)
    if isinstance(schema.get("items"), dict):
        _closed(schema["items"])
    return schema


def _outlined(schema: Mapping[str, Any], depth: int) -> Schema:
    """The types that a schema has in so many objects within each other."""
    found: Schema = {"type": schema["type"]} if "type" in schema else {}
    if depth and "properties" in schema:
        found["properties"] = {name: _outlined(one, depth - 1) for name, one in schema["properties"].items()}
    if depth and "items" in schema:
        found["items"] = _outlined(schema["items"], depth)
    return found
