"""The fields with which a start chooses how its run is done (docs/api/runs.md "Limits of a run",
docs/api/models.md "Models by choice")."""

from __future__ import annotations

import math
from typing import get_args

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http.bodies import Document
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.records.runs import RunLimits
from agentsvc_nb.service.records.usage import MICROCENTS_MAX
from agentsvc_nb.wire.limits import STEPS_MAX
from agentsvc_nb.wire.models import Effort
from agentsvc_nb.wire.runs import CENT


def limits(document: Document) -> RunLimits:
    """`max_steps` and `max_cents`. Raises `invalid_limits`."""
    steps, cents = document.get("max_steps"), document.get("max_cents")
    if steps is not None and not (_is_number(steps) and steps == int(steps) and 1 <= steps <= STEPS_MAX):
        raise ApiError("invalid_limits", f"`max_steps` must be an integer from 1 to {STEPS_MAX:,}.", field="max_steps")
    if cents is not None and not (_is_number(cents) and cents > 0):
        raise ApiError("invalid_limits", "`max_cents` must be a number over 0.", field="max_cents")
    # Rounded up: a part of a micro-cent is over 0, too.
    microcents = None if cents is None else math.ceil(min(cents * CENT, MICROCENTS_MAX))
    return RunLimits(None if steps is None else int(steps), microcents)


def choice(context: RequestContext, document: Document) -> tuple[str | None, Effort | None]:
    """`model` and `effort`, as far as they are given. Raises `invalid_model`."""
    model, effort = document.get("model"), document.get("effort")
    offered = context.services.settings.offered
    if model is not None and model not in offered:
        named = repr(model)[:100]
        raise ApiError("invalid_model", f"The model {named} is not offered: {', '.join(offered)}.", field="model")
    if effort is not None and effort not in get_args(Effort):
        raise ApiError("invalid_model", f"`effort` must be {', '.join(get_args(Effort))}.", field="effort")
    return model, effort


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
