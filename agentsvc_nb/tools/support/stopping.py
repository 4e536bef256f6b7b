"""How work ends when its run or job is cancelled: nobody can stop a thread from outside, so long work in one looks from
time to time; and what must not be left half done is done to its end."""

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
    """The run or job that the work was for has ended. Nobody waits for its result."""


def begin() -> threading.Event:
    """Begin work in the present context, and in the tasks and threads that it starts. Return an event: set it to stop
    the work."""
    event = threading.Event()
    _event.set(event)
    return event


def check() -> None:
    """Raise `Stopped` when the present work is to stop."""
    event = _event.get()
    if event is not None and event.is_set():
        raise Stopped


class ReadTooLong(Exception):
    """A read used up its processor time."""


_LOOK_SECONDS: Final = 0.02
WALL_SHARE: Final = 0.2
"""The share of the time on the wall that counts where processor time is not told."""


class ReadTime:
    """A budget of processor time for a read, counted in the thread that creates it; unlimited without `seconds`. It is
    used up when the read's run or job is cancelled. Any thread may ask whether it is over.

    A budget of wall-clock time would fail ordinary reads on a busy machine.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._clock: Callable[[], float] | None = None
        if seconds is not None:  # the clocks of threads are system calls, which the many short reads need not pay for
            self._clock = _clock_of_this_thread()
            self._end = self._clock() + seconds
        self._next_look = 0.0
        self._stop = _event.get()

    def is_over(self) -> bool:
        is_stopped = self._stop is not None and self._stop.is_set()
        return is_stopped or (self._clock is not None and self._clock() > self._end)

    def check(self) -> None:
        """Raise `ReadTooLong` when the time is used up. Read the clock, a system call, at most 50 times a second."""
        if (now := clock.monotonic()) >= self._next_look:
            self._next_look = now + _LOOK_SECONDS
            if self.is_over():
                raise ReadTooLong


def _clock_of_this_thread() -> Callable[[], float]:
    """Return a clock of the calling thread's processor time in seconds, for any thread. Where the system does not tell
    it to others, it is a share of the time on the wall, so that a busy machine fails no ordinary read."""
    if sys.platform in ("win32", "darwin"):
        return lambda: clock.monotonic() * WALL_SHARE
    return partial(time.clock_gettime, time.pthread_getcpuclockid(threading.get_ident()))


async def to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Await `work` to its end, also when the caller is cancelled meanwhile. Raises that `CancelledError` afterwards."""
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
        del task  # it holds its exception, and that this frame
