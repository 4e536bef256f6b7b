"""Who waits for what: a reader is woken after each commit that concerns it, within this process.

A signal is a hint, the database the truth: subscribe, then read, then wait (an event written between the read and
the wait is then never missed).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Signals:
    """Wake-ups by run or job id. `stop` wakes everybody for good."""

    def __init__(self) -> None:
        self._watchers: dict[str, set[asyncio.Event]] = {}
        self.sent = 0
        """How many there were so far: what was read at the same count is as new as can be known."""
        self.stopping = False

    def notify(self, name: str) -> None:
        self.sent += 1
        for event in self._watchers.get(name, ()):
            event.set()

    def stop(self) -> None:
        self.stopping = True
        for name in self._watchers:
            self.notify(name)

    @contextmanager
    def watch(self, name: str) -> Iterator[Watch]:
        event = asyncio.Event()
        watchers = self._watchers.setdefault(name, set())
        watchers.add(event)
        try:
            yield Watch(event)
        finally:
            watchers.discard(event)
            if not watchers:
                self._watchers.pop(name, None)


class Watch:
    def __init__(self, event: asyncio.Event) -> None:
        self._event = event

    async def wait(self, seconds: float) -> bool:
        """True when something happened since the last call, False after `seconds` without."""
        try:
            # Not `wait_for`: in Python 3.11 it swallows a cancellation that comes together with the event.
            async with asyncio.timeout(max(seconds, 0)):
                await self._event.wait()
        except TimeoutError:
            return False
        self._event.clear()
        return True
