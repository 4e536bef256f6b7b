"""One system call an answer: what a connection writes within one turn of the event loop leaves together.

uvicorn writes the head of an answer and its body apart, and each write wakes the client. See docs/performance.md.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

JOIN_BYTES: Final = 64 * 1024
"""So much leaves at once: joining would only copy it."""
READ_BYTES: Final = 128 * 1024
"""So much is read at once, half of what asyncio would: a large upload holds some three times as much in memory."""


class Turn:
    """The transports that have something to send when the loop's turn ends."""

    def __init__(self) -> None:
        self._waiting: list[JoinedTransport] = []

    def add(self, transport: JoinedTransport) -> None:
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._end)
        self._waiting.append(transport)

    def _end(self) -> None:
        waiting, self._waiting = self._waiting, []
        for transport in waiting:
            transport.send()


class JoinedTransport(asyncio.Transport):
    """A transport whose writes wait for the end of the loop's turn."""

    def __init__(self, inner: asyncio.Transport, turn: Turn) -> None:
        super().__init__()
        self._inner = inner
        self._turn = turn
        self._held: list[bytes | bytearray | memoryview] = []
        self._held_bytes = 0

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
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

    def close(self) -> None:
        self.send()
        self._inner.close()

    def send(self) -> None:
        """Let what is held leave."""
        if self._held:
            self._inner.write(b"".join(self._held))
            self._held.clear()
            self._held_bytes = 0


def joining(protocol: type[asyncio.Protocol]) -> type[asyncio.Protocol]:
    """uvicorn's `protocol`, on whichever parser, on such a transport."""
    turn = Turn()

    def connection_made(self: asyncio.Protocol, transport: asyncio.Transport) -> None:
        transport.max_size = READ_BYTES  # type: ignore[attr-defined]
        protocol.connection_made(self, JoinedTransport(transport, turn))

    return type(f"Joining{protocol.__name__}", (protocol,), {"connection_made": connection_made})
