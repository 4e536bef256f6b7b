"""How work ends when its run or job is cancelled: nobody can stop a thread from outside, so long work in one looks from
time to time; and what must not be left half done is done to its end."""

from __future__ import annotations

import asyncio
import math
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
    """Begin work in the present context, and in the tasks and threads that it starts: it is to stop once the event that
    is returned is set."""
    event = threading.Event()
    _event.set(event)
    return event


def present() -> threading.Event | None:
    """The event of the present work; None for work that is never cancelled."""
    return _event.get()


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
        self._seconds = math.inf if seconds is None else seconds
        # The clocks of threads are system calls, which the many short reads without a limit need not pay for.
        self._began = 0.0 if seconds is None else time.thread_time()
        self._used = float if seconds is None else _time_used_by_this_thread()
        self._look = 0.0
        self._stop = present()

    def is_over(self) -> bool:
        return self._used() > self._seconds or (self._stop is not None and self._stop.is_set())

    def check(self) -> None:
        """Raise `ReadTooLong` when the time is used up. The processor's clock, a system call, is looked at 50 times a
        second at most, however often this is called."""
        if clock.monotonic() >= self._look:
            self._look = clock.monotonic() + _LOOK_SECONDS
            if time.thread_time() - self._began > self._seconds or self.is_over():
                raise ReadTooLong


def _time_used_by_this_thread() -> Callable[[], float]:
    """The processor time of the calling thread from now on, in seconds, which any thread may ask for. Where the system
    does not tell it to others, a share of the time on the wall, so that a busy machine fails no ordinary read."""
    if sys.platform in ("win32", "darwin"):
        began = clock.monotonic()
        return lambda: (clock.monotonic() - began) * WALL_SHARE
    used = partial(time.clock_gettime, time.pthread_getcpuclockid(threading.get_ident()))
    before = used()
    return lambda: used() - before


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
