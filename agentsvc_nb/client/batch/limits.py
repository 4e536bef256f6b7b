"""How many rows may be under way, and what the refusal of one means for the others. Pure: times are arguments."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Final

from agentsvc_nb.client.errors import APIConnectionError, JobTimeoutError, StefanBrainError
from agentsvc_nb.client.request import options
from agentsvc_nb.wire.limits import BUSY_RETRY_AFTER_SECONDS

_EACH_ALIKE: Final = frozenset({"invalid_output_config", "project_not_found"})


def pause(error: StefanBrainError, attempt: int, limit: int, rng: Callable[[], float], same_day: bool) -> float | None:
    """Seconds until the row may be asked again; None: it may not.

    A full service is asked again however often: it has made nothing. What may have begun is asked for again on the
    day of its key only, as a start would be.
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
"""Without a refusal for so long, one row more is tried; after each refusal for twice as long."""
PROBE_SECONDS_MAX: Final = 600.0
ESTIMATE_ROWS: Final = 5
_RECENT_ROWS: Final = 20


class AdaptiveLimit:
    """At most `most` rows at once; half as many after a refusal, then slowly more.

    Rows that were on their way when it was halved say nothing new: they do not halve it again.
    """

    def __init__(self, most: int) -> None:
        self.limit, self.held_until, self.seen = most, 0.0, 0
        self._most, self._probe = most, PROBE_SECONDS
        self._cut_at = self._changed_at = -math.inf
        self._lasted: deque[float] = deque(maxlen=_RECENT_ROWS)

    def refused(self, started: float, now: float, wait: float) -> None:
        """A row that began at `started` found the service full, which asks for `wait` seconds."""
        self.held_until = max(self.held_until, now + wait)
        if started <= self._cut_at:
            return
        if self._cut_at > -math.inf:
            self._probe = min(2 * self._probe, PROBE_SECONDS_MAX)
        self.limit = max(1, self.limit // 2)
        self._cut_at = self._changed_at = now

    def ended(self, started: float, now: float) -> None:
        """A row was answered."""
        self._lasted.append(now - started)
        self.seen += 1
        if self.limit < self._most and now - self._changed_at >= self._probe:
            self.limit, self._changed_at = self.limit + 1, now

    def seconds_for(self, rows: int, now: float) -> float:
        """How long so many more rows will take, going by the last ones."""
        mean = sum(self._lasted) / max(1, len(self._lasted))
        return max(0.0, self.held_until - now) + mean * rows / self.limit
