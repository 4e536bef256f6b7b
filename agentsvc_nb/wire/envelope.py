"""What every model is built on, and the error envelope (spec.md "Error envelope")."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """An answer of the service. Unknown fields are kept: the specification promises some that it does not show."""

    model_config = ConfigDict(
        extra="allow",
        protected_namespaces=(),
        json_schema_serialization_defaults_required=True,  # the service sends every field
    )

    @classmethod
    def read(cls, data: bytes | str) -> Self:
        """Parse JSON. Raises `pydantic.ValidationError`, which names each field of a wrong type."""
        return cls.model_validate_json(data)


class Request(BaseModel):
    """A request body. Unknown fields are ignored (contract §1)."""

    model_config = ConfigDict(extra="ignore")
