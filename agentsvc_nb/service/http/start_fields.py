"""The fields with which a start chooses how its run is done (docs/api/runs.md "Limits of a run")."""

from __future__ import annotations

import math

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http.bodies import Document
from agentsvc_nb.service.records.runs import RunLimits
from agentsvc_nb.service.records.usage import MICROCENTS_MAX
from agentsvc_nb.wire.limits import STEPS_MAX
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


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
