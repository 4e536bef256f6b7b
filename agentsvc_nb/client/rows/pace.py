"""How many rows may be under way, and for how long none may start. Pure: times are arguments, in seconds."""

from __future__ import annotations

import math
from collections import deque
from typing import Final

PROBE_SECONDS: Final = 30.0
"""Without a refusal for so long, one row more is tried; after each refusal for twice as long."""
PROBE_SECONDS_MAX: Final = 600.0
ESTIMATE_ROWS: Final = 5
_RECENT_ROWS: Final = 20


class Pace:
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
