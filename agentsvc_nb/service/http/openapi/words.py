"""A JSON Schema in a few words, for people."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def kind(schema: Json) -> str:
    """A JSON Schema in a few words.

    >>> kind({"type": "string", "minLength": 1, "maxLength": 200})
    'text, 1 to 200 characters'
    >>> kind({"anyOf": [{"type": "integer", "minimum": 0, "maximum": 9}, {"type": "null"}]})
    'integer from 0 to 9, or null'
    """
    if "anyOf" in schema:
        return ", or ".join(dict.fromkeys(kind(branch) for branch in schema["anyOf"]))
    if "const" in schema:
        return f"`{schema['const']}`" if schema["const"] else "empty"
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if schema.get("type") == "array":
        return f"list of {kind(schema['items'])}" + _range(schema, "Items", "", ", at most")
    return _simple(schema)


def _simple(schema: Json) -> str:
    if schema.get("format") in ("date-time", "binary"):
        return {"date-time": "time (RFC 3339)", "binary": "file"}[schema["format"]]
    words = {"string": "text", "null": "null", "boolean": "true or false"}.get(schema.get("type", ""), "")
    words = words or schema.get("type", "anything")
    if words == "text":
        return words + _range(schema, "Length", " characters", ", at most")
    if "minimum" in schema and "maximum" in schema:
        return f"{words} from {schema['minimum']} to {schema['maximum']}"
    return words + (f" from {schema['minimum']}" if "minimum" in schema else "")


def _range(schema: Json, what: str, unit: str, at_most: str) -> str:
    low, high = schema.get(f"min{what}", 0), schema.get(f"max{what}")
    if high is None:
        return ", not empty" if low else ""
    return f", {low} to {high}{unit}" if low else f"{at_most} {high}{unit}"
