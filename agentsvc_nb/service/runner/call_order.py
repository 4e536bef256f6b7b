"""Order the tool calls that the model requests in one step."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator


class CallOrder:
    """Runs the calls of a step in order. Neighbouring calls that only read run at the same time."""

    def __init__(self) -> None:
        self._queued: list[QueuedCall] = []
        self._changed = asyncio.Event()

    @contextlib.contextmanager
    def add(self) -> Iterator[QueuedCall]:
        """Add a call to the end of the order. Remove the call when the context ends."""
        queued = QueuedCall(self)
        self._queued.append(queued)
        try:
            yield queued
        finally:
            self.leave(queued)

    def leave(self, queued: QueuedCall) -> None:
        if queued in self._queued:
            self._queued.remove(queued)
            self._changed.set()
            self._changed = asyncio.Event()

    async def wait_turn(self, queued: QueuedCall) -> None:
        """Wait until the call `queued` may run."""
        if queued not in self._queued:
            self._queued.append(queued)
        while any(not (queued.reads and each.reads) for each in self._queued[: self._queued.index(queued)]):
            await self._changed.wait()


class QueuedCall:
    """A tool call that waits for its turn. `reads` is True if the call is known to have no effect."""

    def __init__(self, order: CallOrder) -> None:
        self.reads = False
        self._order = order

    def leave(self) -> None:
        """Leave the order, so that other calls can run while this call waits for a person."""
        self._order.leave(self)

    async def wait_turn(self, *, reads: bool) -> None:
        """Wait until the call may run. If `reads` is True, do not wait for earlier calls that also only read.

        If the call has left the order, add it to the end again first.
        """
        self.reads = reads
        await self._order.wait_turn(self)
