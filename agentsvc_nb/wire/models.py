"""The base classes of all models of requests and responses.

Modules with many models do not use `from __future__ import annotations`. Pydantic would then have to evaluate the text
of each annotation, and creating the classes would take a third longer.
"""

from __future__ import annotations

import json
import threading
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

_BUILDING = threading.RLock()


class Request(BaseModel):
    """The base class of request bodies. Unknown fields are ignored (docs/api/conventions.md "Values")."""

    model_config = ConfigDict(extra="ignore", defer_build=True)


class Model(BaseModel):
    """The base class of responses. Unknown fields are kept, because a newer service may send fields that this version
    does not know.
    """

    model_config = ConfigDict(
        extra="allow",
        protected_namespaces=(),
        defer_build=True,  # build at first use; building all models would take half of the import time
        json_schema_serialization_defaults_required=True,  # the service sends every field
    )

    _request_id: ClassVar[str | None] = None
    """The `X-Request-Id` of the response from which the client has read this model, or None. It is not a field."""

    @classmethod
    def read(cls, data: bytes | str) -> Self:
        """Parse JSON. If a field has a default, `null` counts as absent.

        Raises `pydantic.ValidationError`, which names each field of the wrong type.
        """
        build(cls)
        try:
            return cls._parse(data)
        except ValidationError as error:
            # Look for nulls only after an error, because looking for them in every response would take time.
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
    """Return the JSON without the nulls that caused the error, or None if no null did."""
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        return None
    dropped = [_drop_null(whole, detail["loc"]) for detail in error.errors(include_url=False, include_input=False)]
    return json.dumps(whole) if any(dropped) else None


def _drop_null(place: Any, path: tuple[int | str, ...]) -> bool:
    """Remove the null to which `path` leads from its object. Return False if `path` leads to no null."""
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
    """Build a deferred model under a lock. Before pydantic 2.14, building at first use is not thread-safe."""
    if not model.__pydantic_complete__:
        with _BUILDING:
            model.model_rebuild()


def build_all() -> None:
    waiting: list[type[BaseModel]] = [Model, Request]
    while waiting:
        model = waiting.pop()
        waiting += model.__subclasses__()
        build(model)
