"""Stop work when its run or job is cancelled. Long work in a thread must check whether to stop, because a thread can't
be stopped from outside. Work that must not be left half done runs to its end."""

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
    """The run or job of this work has ended. Nothing waits for the result."""


def begin() -> threading.Event:
    """Start stoppable work in this context, including its tasks and threads. Return the event that stops the work when
    it is set."""
    event = threading.Event()
    _event.set(event)
    return event


def check() -> None:
    """Raise `Stopped` if the current work must stop."""
    event = _event.get()
    if event is not None and event.is_set():
        raise Stopped


class ReadTooLong(Exception):
    """A read used up its CPU time."""


_LOOK_SECONDS: Final = 0.02
WALL_SHARE: Final = 0.2
"""The share of elapsed time that counts as CPU time if the system does not report CPU time."""


class ReadTime:
    """A CPU time budget for a read. It counts the CPU time of the thread that creates it, and is unlimited without
    `seconds`.

    The budget is also used up when the read's run or job is cancelled. Any thread may check it.

    A budget of elapsed time would make ordinary reads fail on a machine under load.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._clock: Callable[[], float] | None = None
        if seconds is not None:  # reading a thread's clock is a system call, which short reads avoid
            self._clock = _clock_of_this_thread()
            self._end = self._clock() + seconds
        self._next_look = 0.0
        self._stop = _event.get()

    def is_over(self) -> bool:
        is_stopped = self._stop is not None and self._stop.is_set()
        return is_stopped or (self._clock is not None and self._clock() > self._end)

    def check(self) -> None:
        """Raise `ReadTooLong` if the time is used up. Read the clock at most 50 times a second, because that is a
        system call."""
        if (now := clock.monotonic()) >= self._next_look:
            self._next_look = now + _LOOK_SECONDS
            if self.is_over():
                raise ReadTooLong


def _clock_of_this_thread() -> Callable[[], float]:
    """Return a clock of this thread's CPU time in seconds, which any thread may call.

    If other threads can't read this thread's CPU time, the clock returns a share of elapsed time, which lets ordinary
    reads succeed under load.
    """
    if sys.platform in ("win32", "darwin"):
        return lambda: clock.monotonic() * WALL_SHARE
    return partial(time.clock_gettime, time.pthread_getcpuclockid(threading.get_ident()))


async def to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Await `work` to its end, even if the caller is cancelled. Then raise that `CancelledError`."""
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
        del task  # the task refers to its exception, which refers to this frame
