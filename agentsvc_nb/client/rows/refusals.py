"""What the refusal of a row means: for the row, and for the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from agentsvc_nb.client.errors import APIConnectionError, JobTimeoutError, StefanBrainError
from agentsvc_nb.client.request import retry
from agentsvc_nb.wire.limits import BUSY_RETRY_AFTER_SECONDS

_EACH_ALIKE: Final = frozenset({"invalid_output_config", "project_not_found"})


def pause(error: StefanBrainError, attempt: int, limit: int, dice: Callable[[], float], same_day: bool) -> float | None:
    """Seconds until the row may be asked again; None: it may not.

    A full service is asked again however often: it has made nothing. What may have begun is asked for again on the
    day of its key only, as a start would be.
    """
    if isinstance(error, JobTimeoutError) or error.late:
        return None
    if error.status != 429:
        return retry.pause(error, attempt, limit, dice) if same_day else None
    if retry.transient(error) and error.retry_after_seconds is None:
        return float(BUSY_RETRY_AFTER_SECONDS)
    return retry.pause(error, 1, 1, dice)


def each_alike(error: StefanBrainError) -> bool:
    """Whether every other row would be refused for the same reason: a wrong key, no money, nobody there."""
    if isinstance(error, APIConnectionError):
        return not error.sent
    return error.status in (401, 403, 429) or error.code in _EACH_ALIKE


def told(error: StefanBrainError) -> str:
    """An error in a cell of a table."""
    return f"{error.code}: {error.message}" if error.code else error.message
