"""Connections below HTTP (docs/decisions/0051).

All are accepted as they come, and connected a few a turn, those of each account in turn. The selector of the event loop
chooses those that are read in a turn. Their transports join what is written to one system call per answer, and count
what peers have not taken.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import selectors
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

from agentsvc_nb.formats.children.fairness import FairQueue
from agentsvc_nb.service.logs import Tally
from agentsvc_nb.service.server.crowds import Callers, Owner

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


READ_BYTES: Final = 256 * 1024
"""The most bytes that asyncio reads at once by default."""
JOIN_BYTES: Final = 64 * 1024
"""A transport that holds this much sends at once: joining more would only copy it."""


class WriteCoalescer:
    """Flushes all transports that hold data, at the end of each turn of the event loop."""

    def __init__(self) -> None:
        self._waiting: list[CoalescingTransport] = []

    def add(self, transport: CoalescingTransport) -> None:
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._end)
        self._waiting.append(transport)

    def _end(self) -> None:
        waiting, self._waiting = self._waiting, []
        for transport in waiting:
            try:
                transport.send()
            except Exception:  # the fault of one connection must not keep the others' data
                log.exception("a connection could not be written to")
                transport.abort()


class CoalescingTransport(asyncio.Transport):
    """A transport that joins its writes and sends them at the end of the event loop's turn."""

    __slots__ = ("_ended", "_held", "_held_bytes", "_inner", "_sent", "_turn")

    def __init__(self, inner: asyncio.Transport, coalescer: WriteCoalescer) -> None:
        super().__init__()
        self._inner = inner
        self._turn = coalescer
        self._held: list[bytes | bytearray | memoryview] = []
        self._held_bytes = self._sent = 0
        self._ended = False

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        if self._ended:
            return
        if not self._held:
            self._turn.add(self)
        self._held.append(data)
        self._held_bytes += len(data)
        if self._held_bytes >= JOIN_BYTES:
            self.send()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._inner.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._inner.is_closing()

    def pause_reading(self) -> None:
        self._inner.pause_reading()

    def resume_reading(self) -> None:
        self._inner.resume_reading()

    def read_at_once(self, most: int) -> None:
        """Read at most so many bytes in one turn of the event loop."""
        self._inner.max_size = most  # type: ignore[attr-defined]

    def write_eof(self) -> None:
        """End the output; what is written later is dropped."""
        self.send()
        self._ended = True
        self._inner.write_eof()

    def abort(self) -> None:
        """Close at once, without waiting for a peer that may never read what is still to be sent."""
        self._ended = True
        self._held.clear()
        self._inner.abort()

    def close(self) -> None:
        self.send()
        self._inner.close()

    def send(self) -> None:
        """Send the held data now."""
        if self._held:
            data = b"".join(self._held)
            self._held.clear()
            self._sent += self._held_bytes
            self._held_bytes = 0
            self._inner.write(data)

    @property
    def waiting(self) -> int:
        """The number of bytes that the peer has not taken yet."""
        return self._held_bytes + self._inner.get_write_buffer_size()

    @property
    def taken(self) -> int:
        """The number of bytes that the peer has taken; except on Linux, that the system has taken for it."""
        return self._sent - self._inner.get_write_buffer_size() - _unsent(self._inner.get_extra_info("socket"))


def _unsent(connection: socket.socket) -> int:
    """The number of bytes that the system has not yet passed to the peer; 0 where the system cannot tell."""
    if sys.platform != "linux":
        return 0
    import fcntl
    import termios

    try:
        return int.from_bytes(fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)), sys.byteorder)
    except (OSError, ValueError):  # it is closed
        return 0


def coalescing(protocol: type[asyncio.Protocol]) -> type[asyncio.Protocol]:
    """The `protocol` class on a `CoalescingTransport`."""
    coalescer = WriteCoalescer()

    def connection_made(self: asyncio.Protocol, transport: asyncio.Transport) -> None:
        protocol.connection_made(self, CoalescingTransport(transport, coalescer))

    return type(f"Joining{protocol.__name__}", (protocol,), {"connection_made": connection_made})
