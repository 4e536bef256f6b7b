"""Order the tool calls that the model requests in one step."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator


class CallOrder:
    """Runs calls that only read at the same time, and each other call alone.

    A call that may change something waits for all earlier calls of the step, and all later calls wait for that call.
    """

    def __init__(self) -> None:
        self._places: list[Place] = []
        self._changed = asyncio.Event()

    @contextlib.contextmanager
    def place(self) -> Iterator[Place]:
        """Add a call to the end of the order. Remove the call when the context ends."""
        place = Place(self)
        self._places.append(place)
        try:
            yield place
        finally:
            self.leave(place)

    def leave(self, place: Place) -> None:
        if place in self._places:
            self._places.remove(place)
            self._changed.set()
            self._changed = asyncio.Event()

    async def turn(self, place: Place) -> None:
        """Wait until the call at `place` may run."""
        if place not in self._places:
            self._places.append(place)
        while any(not (place.reads and each.reads) for each in self._places[: self._places.index(place)]):
            await self._changed.wait()


class Place:
    """A call's place in the order. `reads` is False until the call's input is checked."""

    def __init__(self, order: CallOrder) -> None:
        self.reads = False
        self._order = order

    def leave(self) -> None:
        """Leave the order, so that other calls can run while this call waits for a person."""
        self._order.leave(self)

    async def turn(self, *, reads: bool) -> None:
        """Wait until the call may run. If `reads` is True, do not wait for earlier calls that also only read.

        If the call has left the order, add it to the end again first.
        """
        self.reads = reads
        await self._order.turn(self)
