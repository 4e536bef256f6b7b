"""What may be sent again, and when (docs/api/errors.md). Pure: the random number generator is an argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from agentsvc_nb.client.errors import APIConnectionError, StefanBrainError
from agentsvc_nb.wire.codes import CODES
from agentsvc_nb.wire.limits import RETRY_AFTER_MAX_SECONDS
from agentsvc_nb.wire.routes.route import Resend

STATUSES: Final = frozenset({408, 429, 500, 502, 503, 504})
FIRST_SECONDS: Final = 0.5


def may_resend(resend: Resend, keyed: bool) -> bool:
    """Whether sending the request a second time cannot do its work twice."""
    return resend == "always" or (resend == "keyed" and keyed)


def transient(error: StefanBrainError) -> bool:
    """Whether the same request may succeed later. What the code table calls hopeless stays so at any status."""
    if isinstance(error, APIConnectionError):
        return True
    row = CODES.get(error.code or "")
    return error.status in STATUSES and (row is None or row.retry == "transient")


def pause(
    error: StefanBrainError,
    attempt: int,
    limit: int,
    rng: Callable[[], float],
    first: float = FIRST_SECONDS,
    longest: float = RETRY_AFTER_MAX_SECONDS,
) -> float | None:
    """Seconds to wait before the next attempt, or None to give up.

    `attempt` counts from 1, `limit` is how many repeats are allowed, `rng()` is in [0, 1). The service's
    `Retry-After` is waited out up to 60 s and raised at once beyond; without one the wait is anything up to `first`,
    then up to twice as long each time (full jitter: clients that failed together do not come back together).
    """
    if attempt > limit or not transient(error):
        return None
    asked = error.retry_after_seconds
    if asked is not None:
        return asked if asked <= RETRY_AFTER_MAX_SECONDS else None
    return rng() * min(longest, first * 2.0 ** (attempt - 1))
