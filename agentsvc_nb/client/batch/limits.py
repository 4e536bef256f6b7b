"""How many rows of a batch may be asked at once, and what to do about failed ones. Pure: times are arguments."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Final

from agentsvc_nb.client.errors import APIConnectionError, JobTimeoutError, StefanBrainError
from agentsvc_nb.client.request import options
from agentsvc_nb.wire.limits import BUSY_RETRY_AFTER_SECONDS

# Codes that every row would fail with, though their status does not say so.
_EACH_ALIKE: Final = frozenset({"invalid_output_config", "project_not_found"})


def pause(error: StefanBrainError, attempt: int, limit: int, rng: Callable[[], float], same_day: bool) -> float | None:
    """Seconds until the row may be asked again, or None to give it up.

    A refusal by a full service (429) started nothing, so the row is asked again without a limit on attempts. A row
    whose run may have started is asked again only on the UTC day of its idempotency key (`same_day`).
    """
    if isinstance(error, JobTimeoutError) or error.late:
        return None
    if error.status != 429:
        return options.pause(error, attempt, limit, rng) if same_day else None
    if options.transient(error) and error.retry_after_seconds is None:
        return float(BUSY_RETRY_AFTER_SECONDS)
    return options.pause(error, 1, 1, rng)


def each_alike(error: StefanBrainError) -> bool:
    """True if every row would fail for the same reason: a wrong key, no money, an unreachable service."""
    if isinstance(error, APIConnectionError):
        return not error.sent
    return error.status in (401, 403, 429) or error.code in _EACH_ALIKE


def error_text(error: StefanBrainError) -> str:
    """The error as the text of a table cell."""
    return f"{error.code}: {error.message}" if error.code else error.message


PROBE_SECONDS: Final = 30.0
"""After so long without a refusal the limit grows by one row; each further refusal doubles this time."""
PROBE_SECONDS_MAX: Final = 600.0
ESTIMATE_ROWS: Final = 5
"""So many rows must have been answered before cost and time are estimated."""
_RECENT_ROWS: Final = 20
"""The estimate of the time left uses the durations of so many rows."""


class AdaptiveLimit:
    """How many rows may be asked at once: at first `most`, half as many after a refusal, then slowly more again.

    Refusals of rows that began before the last halving do not halve it again: they report the same overload. No row
    begins before `held_until`, a time; `seen` counts the answered rows.
    """

    def __init__(self, most: int) -> None:
        self.limit, self.held_until, self.seen = most, 0.0, 0
        self._most, self._probe = most, PROBE_SECONDS
        self._cut_at = self._changed_at = -math.inf
        self._lasted: deque[float] = deque(maxlen=_RECENT_ROWS)

    def refused(self, started: float, now: float, wait: float) -> None:
        """Note that the service refused a row begun at `started` because it is full; it asks to wait `wait` seconds."""
        self.held_until = max(self.held_until, now + wait)
        if started <= self._cut_at:
            return
        if self._cut_at > -math.inf:
            self._probe = min(2 * self._probe, PROBE_SECONDS_MAX)
        self.limit = max(1, self.limit // 2)
        self._cut_at = self._changed_at = now

    def ended(self, started: float, now: float) -> None:
        """Note that a row begun at `started` was answered."""
        self._lasted.append(now - started)
        self.seen += 1
        if self.limit < self._most and now - self._changed_at >= self._probe:
            self.limit, self._changed_at = self.limit + 1, now

    def seconds_for(self, rows: int, now: float) -> float:
        """Estimated seconds for `rows` more rows, from the mean of the last 20."""
        mean = sum(self._lasted) / max(1, len(self._lasted))
        return max(0.0, self.held_until - now) + mean * rows / self.limit
