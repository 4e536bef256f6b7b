"""All connections together: how many there may be, which of them makes room, and what their answers may hold
(docs/api/conventions.md "Before a key is seen", docs/decisions/0036)."""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from enum import IntEnum
from typing import TYPE_CHECKING, Final, cast

from uvicorn.server import ServerState

from agentsvc_nb.service.logs import Tally
from agentsvc_nb.wire.limits import UNREAD_BYTES

if TYPE_CHECKING:
    from agentsvc_nb.service.server.connections import BoundedConnection

STILL_SECONDS: Final = 5
"""How long a peer may send nothing of a body while there are too many of them."""
TAKING_SECONDS: Final = STILL_SECONDS if sys.platform == "linux" else 30
"""How long an answer may wait for its peer while they hold too much; longer where what is taken is seen in large steps
(`CoalescingTransport.taken`)."""
LOOK_SECONDS: Final = 0.05
"""How long the result of one look at all connections of an address is used."""
LOOPBACK: Final = ("127.", "::1", "::ffff:127.")

_tally = Tally(logging.getLogger(__name__))


class Activity(IntEnum):
    """What a connection does; those of the least activity make room first."""

    NO_KEY = 0
    FRESH = 1
    """Its first request may be under way: it makes room only when many are fresh."""
    IDLE = 2
    """Its last request showed a key and is answered; its client opens another when it has a next one."""
    STILL = 3
    """The body of its request has stopped arriving."""
    STREAM = 4
    """Closing it costs little: its client resumes the stream where it was."""
    WORK = 5


class _PeerConnections:
    """The connections of one address, oldest first."""

    def __init__(self) -> None:
        self.open: dict[BoundedConnection, None] = {}
        self._spare: dict[BoundedConnection, None] = {}
        """Those of the least activity at the last look, newest first."""
        self._activity = Activity.NO_KEY
        self._next_look = 0.0
        self._none_to_spare = False

    def make_room(self, new: BoundedConnection) -> bool:
        """Close the oldest of those of the least activity; False if all are at work."""
        now = time.monotonic()
        if now >= self._next_look:
            self._spare.clear()
            self._none_to_spare = False
        while self._spare or (not self._none_to_spare and self._look(new, now)):
            each, _ = self._spare.popitem()
            if each.activity <= self._activity:
                del self.open[each]
                each.transport.abort()
                return True
        return False

    def forget(self, connection: BoundedConnection) -> None:
        self.open.pop(connection, None)
        self._spare.pop(connection, None)

    def _look(self, new: BoundedConnection, now: float) -> bool:
        """Find those that can be spared, for this new connection and for those of the next moment."""
        self._next_look = now + LOOK_SECONDS
        by_activity: dict[Activity, list[BoundedConnection]] = {}
        for each in self.open:
            if each is not new:
                by_activity.setdefault(each.activity, []).append(each)
        # A few fresh connections are honest callers on their way; many are a flood, and make room like the others.
        if len(by_activity.get(Activity.FRESH, ())) < len(self.open) // 4:
            by_activity.pop(Activity.FRESH, None)
        by_activity.pop(Activity.WORK, None)
        self._none_to_spare = not by_activity
        if self._none_to_spare:
            return False
        self._activity = min(by_activity)
        found = by_activity[self._activity]
        # The account with most streams gives one up, so that one caller's streams do not close another's.
        if self._activity is Activity.STREAM:
            most = Counter(each.account for each in found).most_common(1)[0][0]
            found = [each for each in found if each.account == most]
        self._spare = dict.fromkeys(reversed(found))
        return True


class Connections(ServerState):
    """All open connections, by the address of the peer, of which at most `most` may be open. Loopback may hold all of
    them, since everybody behind a proxy on this machine has that address; any other address half."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self._by_peer: dict[str, _PeerConnections] = {}

    def admit(self, new: BoundedConnection) -> bool:
        """Count a new connection. If there are too many, another is closed; False if none can be."""
        own = self._by_peer.setdefault(new.peer, _PeerConnections())
        own.open[new] = None
        most = self.most if new.peer.startswith(LOOPBACK) else self.most // 2
        if len(own.open) <= most and len(self.connections) <= self.most:
            return True
        _tally.note("full", "there are too many connections", peer=new.peer, open=len(self.connections))
        # Where the total is full, the address with most connections makes room.
        largest = own if len(own.open) > most else max(self._by_peer.values(), key=lambda each: len(each.open))
        return largest.make_room(new)

    def forget(self, connection: BoundedConnection) -> None:
        own = self._by_peer.get(connection.peer)
        if own is not None:
            own.forget(connection)
            if not own.open:
                del self._by_peer[connection.peer]

    def look(self) -> None:
        """End connections that take too long. To be called once a second."""
        connections = [cast("BoundedConnection", each) for each in self.connections]
        for each in connections:
            each.look()
        waiting = [each for each in connections if each.waited]
        total = sum(each.transport.waiting for each in waiting)
        if total <= UNREAD_BYTES:
            return
        # Those whose rest would take the longest go first, so a steady reader comes last (docs/decisions/0036).
        slow = [each for each in waiting if each.waited > TAKING_SECONDS]
        for each in sorted(slow, key=lambda one: one.seconds_left, reverse=True):
            total -= each.transport.waiting
            each.end_unread()
            if total <= UNREAD_BYTES:
                return
