"""What the providers' SDKs know of a request and of an event: nothing beyond it is allowed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model
from pydantic.warnings import TypedDictExtraConfigWarning

from tests.unit.agents.wires.reply import Body


class Request:
    """The SDK's type of a request's parameters; it may be a TypedDict with others in it."""

    def __init__(self, parameters: Any) -> None:
        self._parameters = parameters

    @cached_property
    def _model(self) -> type[BaseModel]:
        # A model, since only its configuration reaches the TypedDicts within.
        forbidding = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TypedDictExtraConfigWarning)  # some are open by their own word
            return create_model("Asked", __config__=forbidding, body=(self._parameters, ...))

    def complaint(self, body: Body) -> str | None:
        """What of a request the type does not know or miss, None when it fits."""
        try:
            if extra := _extra(getattr(self._model(body=body), "body")):  # noqa: B009
                return f"{extra}: Extra inputs are not permitted"
        except ValidationError as error:
            faults = error.errors(include_url=False, include_context=False)
            # Of a union there is one for each of its members: of the one that is meant most is right.
            fault = next((each for each in faults if each["type"] == "extra_forbidden"), faults[-1])
            return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']} ({fault['input']!r:.80})"
        return None


def _extra(found: Any) -> str | None:
    """A field that an SDK's model let pass. Reads through what the SDK calls iterable, whose members are validated only
    then."""
    if isinstance(found, BaseModel):
        if found.model_extra:
            return next(iter(found.model_extra))
        found = [getattr(found, name) for name in type(found).model_fields]
    if isinstance(found, str | bytes) or not hasattr(found, "__iter__"):
        return None
    inner = found.values() if isinstance(found, dict) else found
    return next((extra for each in inner if (extra := _extra(each))), None)


def unknown(adapter: TypeAdapter[Any], event: dict[str, Any]) -> list[str]:
    """The fields of an event that the SDK's type does not name. Raises `ValidationError` for one that does not fit."""
    return list(_unknown(adapter.validate_python(event), event, ""))


def _unknown(found: Any, given: Any, at: str) -> Iterator[str]:
    if isinstance(found, BaseModel) and isinstance(given, dict):
        names = {field.alias or name: name for name, field in type(found).model_fields.items()}
        names |= {name: name for name in type(found).model_fields}
        for name, value in given.items():
            if name in names:
                yield from _unknown(getattr(found, names[name]), value, f"{at}.{name}")
            else:
                yield f"{at}.{name}"
    elif isinstance(found, list) and isinstance(given, list):
        for place, (one, other) in enumerate(zip(found, given, strict=True)):
            yield from _unknown(one, other, f"{at}.{place}")
