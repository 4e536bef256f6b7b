"""What every model is built on, and the error envelope (spec.md "Error envelope")."""

from __future__ import annotations

import threading
from typing import Final, Self

from pydantic import BaseModel, ConfigDict

_BUILDING: Final = threading.RLock()


class Model(BaseModel):
    """An answer of the service. Unknown fields are kept: the specification promises some that it does not show."""

    model_config = ConfigDict(
        extra="allow",
        protected_namespaces=(),
        defer_build=True,  # at its first use: building all of them would take half of what an import does
        json_schema_serialization_defaults_required=True,  # the service sends every field
    )

    @classmethod
    def read(cls, data: bytes | str) -> Self:
        """Parse JSON. Raises `pydantic.ValidationError`, which names each field of a wrong type."""
        build(cls)
        return cls.model_validate_json(data)


def build(model: type[BaseModel]) -> None:
    """Make a model ready, once; building it at first use is not safe between threads before pydantic 2.14."""
    if not model.__pydantic_complete__:
        with _BUILDING:
            model.model_rebuild()


def build_all() -> None:
    """Make all models ready that have been imported."""
    waiting: list[type[BaseModel]] = [Model, Request]
    while waiting:
        model = waiting.pop()
        waiting += model.__subclasses__()
        build(model)


class Request(BaseModel):
    """A request body. Unknown fields are ignored (contract §1)."""

    model_config = ConfigDict(extra="ignore", defer_build=True)
