"""The base models of all requests and responses.

Modules with many models do not use `from __future__ import annotations`. With it, pydantic would evaluate the text of
each annotation at import, which adds a third to the time of creating the classes.
"""

from __future__ import annotations

import json
import threading
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

_BUILDING = threading.RLock()


class Request(BaseModel):
    """A request body. Unknown fields are ignored (docs/api/conventions.md "Values")."""

    model_config = ConfigDict(extra="ignore", defer_build=True)


class Model(BaseModel):
    """A response of the service. Unknown fields are kept, because a service may send more than this version knows."""

    model_config = ConfigDict(
        extra="allow",
        protected_namespaces=(),
        defer_build=True,  # built at first use, because building all models would take half of the import time
        json_schema_serialization_defaults_required=True,  # the service sends every field
    )

    _request_id: ClassVar[str | None] = None
    """The `X-Request-Id` of the response, if the client read the record from one. Not a field."""

    @classmethod
    def read(cls, data: bytes | str) -> Self:
        """Parse JSON. A `null` counts as absent in a field that has a default.

        Raises `pydantic.ValidationError`, which names each field of the wrong type.
        """
        build(cls)
        try:
            return cls._parse(data)
        except ValidationError as error:
            # Look for nulls only now, because doing so for every response would slow all of them.
            if (rest := _without_nulls(data, error)) is None:
                raise
            try:
                return cls._parse(rest)
            except ValidationError as other:
                lacks = any(detail["type"] == "missing" for detail in other.errors(include_url=False))
                raise error if lacks else other from None

    @classmethod
    def _parse(cls, data: bytes | str) -> Self:
        return cls.model_validate_json(data)


def _without_nulls(data: bytes | str, error: ValidationError) -> str | None:
    """Return the JSON without the nulls that could not be read, or None if there are none."""
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        return None
    dropped = [_drop_null(whole, detail["loc"]) for detail in error.errors(include_url=False, include_input=False)]
    return json.dumps(whole) if any(dropped) else None


def _drop_null(place: Any, path: tuple[int | str, ...]) -> bool:
    """Remove the null at the end of `path` from its object. Return False if there is none, as in a union's branch."""
    for step in path:
        if isinstance(place, dict) and step in place:
            if place[step] is None:
                del place[step]
                return True
            place = place[step]
        elif isinstance(place, list) and isinstance(step, int) and step < len(place):
            place = place[step]
        else:
            return False
    return False


def build(model: type[BaseModel]) -> None:
    """Complete a deferred model once, under a lock: before pydantic 2.14, building at first use is not thread-safe."""
    if not model.__pydantic_complete__:
        with _BUILDING:
            model.model_rebuild()


def build_all() -> None:
    waiting: list[type[BaseModel]] = [Model, Request]
    while waiting:
        model = waiting.pop()
        waiting += model.__subclasses__()
        build(model)
