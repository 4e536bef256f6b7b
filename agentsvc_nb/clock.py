"""The clock that the whole package reads, so that tests can set the time.

Code that measures work instead of time calls `time.thread_time` or `time.process_time` directly. Event loops have their
own clock.

>>> class Noon(SystemClock):
...     def time_ns(self) -> int:
...         return 1_772_366_400_000_000_000
>>> with replaced(Noon()):
...     now().isoformat()
'2026-03-01T12:00:00+00:00'
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime


class SystemClock:
    """The clock of the machine."""

    def time_ns(self) -> int:
        """Return nanoseconds since 1970."""
        return time.time_ns()

    def monotonic(self) -> float:
        """Return seconds since some moment. The value never decreases."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


_clock = SystemClock()


@contextlib.contextmanager
def replaced(clock: SystemClock) -> Iterator[None]:
    """Read the time from another clock, in all threads of this process."""
    global _clock
    before, _clock = _clock, clock
    try:
        yield
    finally:
        _clock = before


def now() -> datetime:
    """Return the time in UTC."""
    return datetime.fromtimestamp(_clock.time_ns() / 1e9, UTC)


def now_ms() -> int:
    """Return milliseconds since 1970, the unit of times in the database."""
    return _clock.time_ns() // 1_000_000


def today() -> date:
    """Return the day in the machine's time zone."""
    return now().astimezone().date()


def monotonic() -> float:
    """Return seconds since some moment, to measure durations."""
    return _clock.monotonic()


def sleep(seconds: float) -> None:
    """Block this thread."""
    _clock.sleep(seconds)
