"""Order the tool calls of one model step."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator


class CallOrder:
    """Lets calls that only read run at the same time.

    Any other call runs alone, after the calls that the model made before it and before the later calls.
    """

    def __init__(self) -> None:
        self._places: list[Place] = []
        self._changed = asyncio.Event()

    @contextlib.contextmanager
    def place(self) -> Iterator[Place]:
        """Yield the next place in the order, and leave the place at the end of the context."""
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
        """Wait until a call may run."""
        if place not in self._places:
            self._places.append(place)
        while any(not (place.reads and each.reads) for each in self._places[: self._places.index(place)]):
            await self._changed.wait()


class Place:
    """The place of a call in the order. `reads` is known once the call's input is checked."""

    def __init__(self, order: CallOrder) -> None:
        self.reads = False
        self._order = order

    def leave(self) -> None:
        """Let other calls pass while this one waits for a person."""
        self._order.leave(self)

    async def turn(self, *, reads: bool) -> None:
        """Wait for the calls before this call, except that calls which only read need not wait for each other. A call
        that had left returns as the last.
        """
        self.reads = reads
        await self._order.turn(self)
