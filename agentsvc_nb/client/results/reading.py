"""From what was answered to a model: tolerant of what is new, clear about what is wrong."""

from __future__ import annotations

from typing import Final, TypeVar

from pydantic import ValidationError

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.wire.envelope import Model

M = TypeVar("M", bound=Model)
_NO_OBJECT: Final = frozenset({"json_invalid", "model_type"})


def read(model: type[M], data: bytes | str, where: str, status: int | None = None) -> M:
    """`data` as `model`. Unknown fields and values are kept; a field of a wrong type raises `StefanBrainError`."""
    try:
        return model.read(data)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)
        if any(not detail["loc"] and detail["type"] in _NO_OBJECT for detail in wrong):
            message = f"{where} answered something other than a JSON object; check the base URL."
        else:
            fields = "; ".join(f"`{'.'.join(map(str, detail['loc']))}`: {detail['msg']}" for detail in wrong[:3])
            message = f"{where} answered a field that cannot be read: {fields}."
        raise StefanBrainError(message, status=status) from None
