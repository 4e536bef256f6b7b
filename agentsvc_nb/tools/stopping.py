"""How work in a thread ends when its run or job is cancelled: nobody can stop a thread from outside, so long work looks
from time to time."""

from __future__ import annotations

import threading
from contextvars import ContextVar

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
