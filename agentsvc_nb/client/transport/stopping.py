"""Ending from outside what waits: a call that another thread closes the client of, a stream that another one closes."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Stopper:
    """Ends the wait for an answer from another thread, on asyncio from another task."""

    def __init__(self) -> None:
        self.stopped = False
        self._wake: Callable[[], None] | None = None
        self._pid = 0

    def stop(self) -> None:
        """From now on no request with this stopper is sent, and none waits."""
        self.stopped = True
        # In a forked child the connection is that of the parent, which goes on to use it.
        if (wake := self._wake) and self._pid == os.getpid():
            wake()

    def waits(self, wake: Callable[[], None] | None) -> None:
        """Say how to end the wait that begins now; None: nothing waits any more. Look at `stopped` after it."""
        self._wake, self._pid = wake, os.getpid()


class WeakRegistry(Generic[T]):
    """Those that somebody still holds; unlike a `WeakSet` to be walked while another thread adds one."""

    def __init__(self) -> None:
        self._known: set[weakref.ref[T]] = set()

    def add(self, one: T) -> T:
        self._known.add(weakref.ref(one, self._known.discard))
        return one

    def __iter__(self) -> Iterator[T]:
        return (one for known in self._known.copy() if (one := known()) is not None)
