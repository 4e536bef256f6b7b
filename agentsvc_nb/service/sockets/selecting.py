"""The selector of the event loop: which connections are read in a turn (docs/decisions/0051)."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Mapping
from typing import Final

from agentsvc_nb.formats.children.turns import FairQueue
from agentsvc_nb.service.sockets.callers import Owner

TURN_SECONDS: Final = 0.005
"""What a turn of the event loop is to take when it is parted."""
LONG_SECONDS: Final = 2 * TURN_SECONDS
"""Turns up to this are left as they are: choosing takes time, too."""
ALONE_SECONDS: Final = 8 * TURN_SECONDS
"""The same, while all that is ready is one caller's: nobody waits for it yet, and what is written in a turn is one
transaction, so that 32 starts at once cost an eighth more in short turns."""
AT_LEAST: Final = 4

_Ready = list[tuple[selectors.SelectorKey, int]]


class FairSelector(selectors.DefaultSelector):
    """Tells of as many ready connections as a turn has time for, those of each account in turn; the others are ready in
    the next turn, too.

    A turn serves all that is ready, and a request takes several: beside 2,000 requests that arrive at once, each of
    them would take as long as 2,000.
    """

    def __init__(self, owners: Mapping[int, Owner], clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._owners = owners
        self._clock = clock
        self._each = TURN_SECONDS / 16
        """What a ready connection takes of a turn, lately."""
        self._told = 0
        self.leaves_some = False
        """Whether more connections are ready than this turn has time for."""
        self._since = 0.0

    @property
    def room(self) -> int:
        """For how many connections a turn has time."""
        return max(AT_LEAST, int(TURN_SECONDS / self._each))

    def select(self, timeout: float | None = None) -> _Ready:
        if self._told:
            self._each += ((self._clock() - self._since) / self._told - self._each) / 8
        ready = super().select(timeout)
        self.leaves_some = len(ready) > AT_LEAST and len(ready) * self._each > self._longest(ready)
        if self.leaves_some:
            ready = self._fair(ready, self.room)
        self._told = len(ready)
        self._since = self._clock()
        return ready

    def _longest(self, ready: _Ready) -> float:
        """How long the turn may be, in seconds, before it is parted."""
        if len(ready) * self._each <= LONG_SECONDS:
            return LONG_SECONDS
        callers = {owner for each, _ in ready if (owner := self._owners.get(each.fd)) is not None}
        return ALONE_SECONDS if len(callers) == 1 else LONG_SECONDS

    def _fair(self, ready: _Ready, most: int) -> _Ready:
        """`most` of the ready connections, and what is none."""
        queue: FairQueue[tuple[selectors.SelectorKey, int]] = FairQueue()
        chosen: _Ready = []
        for each in ready:
            if (owner := self._owners.get(each[0].fd)) is None:
                chosen.append(each)
            else:
                queue.put(owner[0], each, owner[1])
        while most and (taken := queue.take()) is not None:
            chosen.append(taken[1])
            most -= 1
        return chosen
