"""New connections: all are accepted as they come, and connected a few a turn, those of each account in turn
(docs/decisions/0051)."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
from collections import Counter
from collections.abc import Callable
from typing import Final

from agentsvc_nb.formats.children.fairness import FairQueue
from agentsvc_nb.service.logs import Tally
from agentsvc_nb.service.sockets.callers import Callers, Owner
from agentsvc_nb.service.sockets.selecting import FairSelector

log = logging.getLogger(__name__)

ACCEPTED_AT_ONCE: Final = 256
"""In one turn of the event loop, which takes some 20 us for each."""
CONNECTED_BESIDE_OTHERS: Final = 2
"""In a turn that leaves requests of connections to the next."""
HEAD_BYTES: Final = 4_096
"""What is looked at of a request to see whose it is."""
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
    """What has arrived, as far as it is looked at; a blank if nothing has. Empty for a connection that is closed now,
    since nothing will arrive, or it was reset."""
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
