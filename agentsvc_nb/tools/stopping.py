"""How work ends when its run or job is cancelled: nobody can stop a thread from outside, so long work in one looks from
time to time; and what must not be left half done is done to its end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextvars import ContextVar
from typing import Any, TypeVar

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
