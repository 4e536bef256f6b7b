"""Connections below HTTP (docs/decisions/0051).

All are accepted as they come, and connected a few a turn, those of each account in turn. The selector of the event loop
chooses those that are read in a turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import re
import selectors
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from agentsvc_nb.documents.children.fairness import FairQueue
from agentsvc_nb.service.logs import Tally

KNOWN_MAX: Final = 4_096
_SHOWS_A_KEY: Final = (b"x-api-key", b"authorization", b"cookie")
_SHOWN: Final = re.compile(rb"\r\n(?:" + rb"|".join(_SHOWS_A_KEY) + rb")[ \t]*:[ \t]*([^\r\n]*?)[ \t]*\r\n", re.I)


Owner = tuple[str, str]
"""An account, and the caller of it, which is the id of a key or a session."""


class Callers:
    """The owners of credentials that were shown lately, and of open connections by their descriptor. A new connection
    is known by the credential that it shows. All others count as one account, whose name is empty, and their addresses
    as its callers."""

    def __init__(self) -> None:
        self._known: dict[int, Owner] = {}
        self.owners: dict[int, Owner] = {}

    def of_head(self, head: bytes, peer: str) -> Owner:
        """The owner of the beginning of a request."""
        shown = _SHOWN.search(head)
        return (self._known.get(hash(shown[1])) if shown else None) or ("", peer)

    def learn(self, headers: Iterable[tuple[bytes, bytes]], descriptor: int, owner: Owner) -> None:
        """Remember whose the credential in these headers is, and the connection that it was shown on."""
        self.owners[descriptor] = owner
        for name, value in headers:
            if name in _SHOWS_A_KEY:
                shown = hash(value)
                if shown not in self._known and len(self._known) >= KNOWN_MAX:
                    del self._known[next(iter(self._known))]
                self._known[shown] = owner
                return


TURN_SECONDS: Final = 0.005
"""How long a turn of the event loop may take when only some of the ready connections are served in it."""
LONG_SECONDS: Final = 2 * TURN_SECONDS
"""Turns up to this length serve all that is ready: choosing takes time, too."""
ALONE_SECONDS: Final = 8 * TURN_SECONDS
"""The same, while all that is ready is one caller's: no other waits for it yet, and what is written in a turn is one
transaction, so that 32 starts at once cost an eighth more in short turns."""
AT_LEAST: Final = 4

_Ready = list[tuple[selectors.SelectorKey, int]]


class FairSelector(selectors.DefaultSelector):
    """Selects as many ready connections as a turn has time for, those of each account in turn; the others are ready in
    the next turn, too.

    A turn serves all that is ready, and a request takes several: beside 2,000 requests that arrive at once, each of
    them would take as long as 2,000.
    """

    def __init__(self, owners: Mapping[int, Owner], clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._owners = owners
        self._clock = clock
        self._each = TURN_SECONDS / 16
        """Seconds that one ready connection takes, as a moving average."""
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
        """How long a turn that serves all of the ready connections may be, in seconds."""
        if len(ready) * self._each <= LONG_SECONDS:
            return LONG_SECONDS
        callers = {owner for each, _ in ready if (owner := self._owners.get(each.fd)) is not None}
        return ALONE_SECONDS if len(callers) == 1 else LONG_SECONDS

    def _fair(self, ready: _Ready, most: int) -> _Ready:
        """`most` of the ready connections, by account in turn, and all descriptors that are no connections."""
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


log = logging.getLogger(__name__)

ACCEPTED_AT_ONCE: Final = 256
"""The most connections that are accepted in one turn of the event loop; each takes some 20 us."""
CONNECTED_BESIDE_OTHERS: Final = 2
"""The most new connections that are connected in a turn that leaves ready connections for the next."""
HEAD_BYTES: Final = 4_096
"""The bytes at the beginning of a request in which its credential is looked for."""
RETRY_SECONDS: Final = 1.0
_NONE_LEFT: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

_tally: Final = Tally(log)


class Reception:
    """Accepts connections at a listening socket, of which `most` wait to be connected. When more come, those of owners
    with more than others are closed. `close` and `wait_closed` are those of an `asyncio.Server`."""

    def __init__(
        self,
        listening: socket.socket,
        protocol: Callable[[], asyncio.Protocol],
        callers: Callers,
        selector: FairSelector,
        most: int,
    ) -> None:
        self._listening = listening
        self._protocol = protocol
        self._callers = callers
        self._selector = selector
        self._most = most
        self._queue: FairQueue[tuple[socket.socket, Owner]] = FairQueue()
        self._waiting: Counter[Owner] = Counter()
        self._total = 0
        self._connecting: set[asyncio.Task[object]] = set()
        self._loop = asyncio.get_running_loop()
        self._busy = False
        listening.setblocking(False)
        self._listen()

    def close(self) -> None:
        self._loop.remove_reader(self._listening)
        self._listening.close()
        while (taken := self._queue.take()) is not None:
            taken[1][0].close()
        self._waiting.clear()
        self._total = 0

    async def wait_closed(self) -> None:
        return

    def _listen(self) -> None:
        if self._listening.fileno() >= 0:
            self._loop.add_reader(self._listening, self._accept)

    def _accept(self) -> None:
        for _ in range(min(ACCEPTED_AT_ONCE, 2 * self._most - self._total)):
            try:
                connection, peer = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                break
            except OSError as error:
                if error.errno not in _NONE_LEFT:
                    raise
                _tally.note("descriptors", "no descriptor is left for another connection")
                self._loop.remove_reader(self._listening)  # it would be ready in each turn
                self._loop.call_later(RETRY_SECONDS, self._listen)
                break
            self._receive(connection, peer[0])
        if not self._busy:
            self._connect()

    def _receive(self, connection: socket.socket, peer: str) -> None:
        connection.setblocking(False)
        if not (head := _beginning(connection)):
            return
        owner = self._callers.of_head(head, peer)
        if self._total >= self._most and self._waiting[owner] * len(self._waiting) >= self._total:
            connection.close()
            return
        self._queue.put(owner[0], (connection, owner), owner[1])
        self._waiting[owner] += 1
        self._total += 1

    def _connect(self) -> None:
        """Connect some of those who wait, and go on in the next turn."""
        left = CONNECTED_BESIDE_OTHERS if self._selector.leaves_some else self._selector.room
        while left and (taken := self._queue.take()) is not None:
            account, (connection, owner) = taken
            self._queue.done(account)
            self._forget(owner)
            if self._busy and not _beginning(connection):
                continue
            left -= 1
            self._callers.owners[connection.fileno()] = owner
            task = self._loop.create_task(self._made(connection))
            self._connecting.add(task)
            task.add_done_callback(self._connecting.discard)
        self._busy = self._total > 0
        if self._busy:
            self._loop.call_soon(self._connect)

    def _forget(self, owner: Owner) -> None:
        self._total -= 1
        self._waiting[owner] -= 1
        if not self._waiting[owner]:
            del self._waiting[owner]

    async def _made(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            await self._loop.connect_accepted_socket(self._protocol, connection)


def _beginning(connection: socket.socket) -> bytes:
    """The first bytes that have arrived, without taking them from the socket; a blank if none have. Empty for a
    connection that its peer has ended or reset, which is closed here."""
    try:
        reset = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        head = b"" if reset else connection.recv(HEAD_BYTES, socket.MSG_PEEK)
    except BlockingIOError:
        return b" "
    except OSError:
        head = b""
    if not head:
        connection.close()
    return head
