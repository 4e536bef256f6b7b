"""Structured output: a shape of one's own as JSON Schema, and an answer read back into it.

A shape is a JSON Schema (a dict), a pydantic model, a dataclass, or a TypedDict.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError

from agentsvc_nb.client.errors import StefanBrainError, refused

T = TypeVar("T")
Shape = dict[str, Any] | type[Any]


def schema(shape: Shape | None) -> dict[str, Any] | None:
    """The JSON Schema that is sent. Raises `StefanBrainError` (`invalid_output_config`) for what is no object."""
    if shape is None or isinstance(shape, dict):
        return shape
    try:
        made = TypeAdapter(shape).json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        why = f"No JSON Schema can be made of {_name(shape)}: {error.message}"
        raise refused("invalid_output_config", why) from None
    if made.get("type") != "object":
        why = "refers to itself" if "$ref" in made else "is no object with named fields"
        raise refused("invalid_output_config", f"{_name(shape)} {why}; an answer can't have that shape.")
    return made


def parsed(shape: type[T], data: dict[str, Any]) -> T:
    """`data` as an instance of `shape`. Raises `StefanBrainError` that names the first field that does not fit."""
    try:
        return TypeAdapter(shape).validate_json(json.dumps(data))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "it"
        raise StefanBrainError(
            f"The answer does not fit {_name(shape)}: {where}: {first['msg']}.", code=None, body=data
        ) from None


def _name(shape: Any) -> str:
    return getattr(shape, "__name__", str(shape))
