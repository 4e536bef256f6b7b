"""Transports that join what is written to one system call per answer, and count what their peers have not taken."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from typing import Any, Final

log = logging.getLogger(__name__)

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
