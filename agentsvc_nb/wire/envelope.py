"""What every model is built on, and the error envelope (spec.md "Error envelope")."""

from __future__ import annotations

import json
from typing import Self, cast

from pydantic import BaseModel, ConfigDict, ValidationError


class Model(BaseModel):
    """An answer of the service. Unknown fields are kept: the specification promises some that it does not show."""

    model_config = ConfigDict(
        extra="allow",
        protected_namespaces=(),
        json_schema_serialization_defaults_required=True,  # the service sends every field
    )

    @classmethod
    def read(cls, data: bytes | str) -> Self:
        """Parse JSON, tolerantly: an answer whose fields drifted is kept as it came rather than refused."""
        try:
            return cls.model_validate_json(data)
        except ValidationError as error:
            if any(detail["type"] == "json_invalid" for detail in error.errors()):
                raise
            return cast(Self, cls.model_construct(**json.loads(data)))  # mypy's pydantic plugin says Model


class Request(BaseModel):
    """A request body. Unknown fields are ignored (contract §1)."""

    model_config = ConfigDict(extra="ignore")
