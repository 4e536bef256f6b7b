"""The clock from which all code of the package reads the time, so that tests can replace it.

Code that measures CPU time calls `time.thread_time` or `time.process_time` directly. Event loops have their own clock.

>>> class Noon(SystemClock):
...     def time_ns(self) -> int:
...         return 1_772_366_400_000_000_000
>>> with use_clock(Noon()):
...     now().isoformat()
'2026-03-01T12:00:00+00:00'
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime


class SystemClock:
    """The clock of the machine. Subclasses are clocks for tests."""

    def time_ns(self) -> int:
        """Return the time in nanoseconds since 1970."""
        return time.time_ns()

    def monotonic(self) -> float:
        """Return the seconds since an arbitrary moment. The value never decreases, unlike `time_ns`."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


_clock = SystemClock()


@contextlib.contextmanager
def use_clock(clock: SystemClock) -> Iterator[None]:
    """Replace the clock for all threads of this process. This is a context manager."""
    global _clock
    before, _clock = _clock, clock
    try:
        yield
    finally:
        _clock = before


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.fromtimestamp(_clock.time_ns() / 1e9, UTC)


def now_ms() -> int:
    """Return the current time in milliseconds since 1970, as the database stores times."""
    return _clock.time_ns() // 1_000_000


def today() -> date:
    """Return the current day in the machine's time zone."""
    return now().astimezone().date()


def monotonic() -> float:
    """Return the seconds since an arbitrary moment. Use it to measure durations."""
    return _clock.monotonic()


def sleep(seconds: float) -> None:
    """Block this thread for a number of seconds."""
    _clock.sleep(seconds)
