"""Stop work in threads when its run or job is cancelled. A thread can't be stopped from outside, so long work must
check whether to stop. Work that must not be left half done runs to its end."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, TypeVar

from agentsvc_nb import clock

T = TypeVar("T")

_event: ContextVar[threading.Event | None] = ContextVar("stop", default=None)


class Stopped(Exception):
    """The run or job to which this work belongs has ended, so nothing waits for the result."""


def begin() -> threading.Event:
    """Begin work in the current context (`contextvars`), and return the event that stops this work.

    Once the event is set, `check` raises `Stopped` in all tasks and threads with this context.
    """
    event = threading.Event()
    _event.set(event)
    return event


def check() -> None:
    """Raise `Stopped` if the work in the current context must stop."""
    event = _event.get()
    if event is not None and event.is_set():
        raise Stopped


class ReadTooLong(Exception):
    """Reading used up its CPU time."""


_LOOK_SECONDS: Final = 0.02
WALL_SHARE: Final = 0.2
"""The share of elapsed time that counts as CPU time if the system does not report a thread's CPU time."""


class ReadTime:
    """A budget of CPU time for reading data. It counts the CPU time of the thread that creates it. Without `seconds` it
    is unlimited.

    The budget also counts as used up when the run or job is cancelled. Any thread may check it.

    Elapsed time is not used, because ordinary reads would then fail on a busy machine.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._clock: Callable[[], float] | None = None
        if seconds is not None:  # without a limit, avoid the system call that reads the clock
            self._clock = _clock_of_this_thread()
            self._end = self._clock() + seconds
        self._next_look = 0.0
        self._stop = _event.get()

    def is_over(self) -> bool:
        is_stopped = self._stop is not None and self._stop.is_set()
        return is_stopped or (self._clock is not None and self._clock() > self._end)

    def check(self) -> None:
        """Raise `ReadTooLong` if the time is used up. The CPU clock is read at most 50 times a second, because reading
        it is a system call."""
        if (now := clock.monotonic()) >= self._next_look:
            self._next_look = now + _LOOK_SECONDS
            if self.is_over():
                raise ReadTooLong


def _clock_of_this_thread() -> Callable[[], float]:
    """Return a function that returns the CPU time, in seconds, of the thread that called `_clock_of_this_thread`.

    Any thread may call the returned function. On Windows and macOS, no thread can read the CPU time of another one.
    There, the function returns a share of the elapsed time, so small that ordinary reads succeed on a busy machine.
    """
    if sys.platform in ("win32", "darwin"):
        return lambda: clock.monotonic() * WALL_SHARE
    return partial(time.clock_gettime, time.pthread_getcpuclockid(threading.get_ident()))


async def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Await `work` to its end even if the caller is cancelled. In that case, raise `CancelledError` afterwards."""
    task, cancelled = asyncio.create_task(work), False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    try:
        if cancelled:
            task.exception()
            raise asyncio.CancelledError
        return task.result()
    finally:
        del task  # break a reference cycle: the task refers to its exception, which refers to this frame
