"""Signals within this process: watchers of a run or job are woken after each commit that changes it.

A signal is a hint, the database is the truth. Subscribe, then read, then wait: an event that is written between the
read and the wait is then never missed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class LocalSignals:
    """`ports.Signals` within this process."""

    def __init__(self) -> None:
        self._watchers: dict[str, set[LocalWatch]] = {}
        self.sent = 0
        """The number of signals so far. While it stays the same, what was read from the database is current."""
        self.stopping = False

    def notify(self, name: str) -> None:
        self.sent += 1
        for watch in self._watchers.get(name, ()):
            watch.notify()

    def stop(self) -> None:
        self.stopping = True
        for name in self._watchers:
            self.notify(name)

    @contextmanager
    def watch(self, name: str) -> Iterator[LocalWatch]:
        watch = LocalWatch()
        watchers = self._watchers.setdefault(name, set())
        watchers.add(watch)
        try:
            yield watch
        finally:
            watch.close()
            watchers.discard(watch)
            if not watchers:
                self._watchers.pop(name, None)


class LocalWatch:
    """One subscription to a run or job.

    One timer serves many waits: when it fires too early for the present wait, it is set again. A new timer for each
    wait would cost a stream more than all its events.
    """

    def __init__(self) -> None:
        self._happened = False
        self._waiting: asyncio.Future[None] | None = None
        self._until = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def notify(self) -> None:
        self._happened = True
        self._wake()

    async def wait(self, seconds: float) -> bool:
        """True when something happened since the last call, False after `seconds` without."""
        if not self._happened:
            loop = asyncio.get_running_loop()
            self._until = loop.time() + seconds
            self._set_timer(loop)
            self._waiting = loop.create_future()
            await self._waiting
        happened, self._happened = self._happened, False
        return happened

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _set_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer is not None and self._timer.when() > self._until:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = loop.call_at(self._until, self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        if loop.time() < self._until:
            self._set_timer(loop)
        else:
            self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
