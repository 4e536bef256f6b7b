"""What the providers' SDKs know of a request: nothing beyond it is allowed."""

from __future__ import annotations

import importlib
import warnings
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.warnings import TypedDictExtraConfigWarning

from tests.unit.agents.wires.reply import Body


class Request:
    """The SDK's type of a request's parameters, by module and name: SDKs take seconds to import."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    @cached_property
    def model(self) -> type[BaseModel]:
        parameters = getattr(importlib.import_module(self.module), self.name)
        # A model, since only its configuration reaches the TypedDicts within.
        forbidding = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TypedDictExtraConfigWarning)  # some are open by their own word
            return create_model("Asked", __config__=forbidding, body=(parameters, ...))

    def complaint(self, body: Body) -> str | None:
        """What of a request the type does not know or miss, None when it fits."""
        try:
            if extra := _extra(getattr(self.model(body=body), "body")):  # noqa: B009
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
