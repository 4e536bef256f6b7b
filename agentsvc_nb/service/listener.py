"""The socket and uvicorn: when requests are answered, one system call an answer, when to end, and that it does end."""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import os
import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from agentsvc_nb.service.http.answers import enveloping

JOIN_BYTES: Final = 64 * 1024
"""So much leaves at once: joining would only copy it."""
READ_BYTES: Final = 128 * 1024
"""So much is read at once, half of what asyncio would: a large upload holds some three times as much in memory."""


class WriteCoalescer:
    """The transports that have something to send when the loop's turn ends."""

    def __init__(self) -> None:
        self._waiting: list[CoalescingTransport] = []

    def add(self, transport: CoalescingTransport) -> None:
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._end)
        self._waiting.append(transport)

    def _end(self) -> None:
        waiting, self._waiting = self._waiting, []
        for transport in waiting:
            transport.send()


class CoalescingTransport(asyncio.Transport):
    """A transport whose writes wait for the end of the loop's turn."""

    def __init__(self, inner: asyncio.Transport, coalescer: WriteCoalescer) -> None:
        super().__init__()
        self._inner = inner
        self._turn = coalescer
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


def coalescing(protocol: type[asyncio.Protocol]) -> type[asyncio.Protocol]:
    """uvicorn's `protocol`, on whichever parser, on such a transport."""
    coalescer = WriteCoalescer()

    def connection_made(self: asyncio.Protocol, transport: asyncio.Transport) -> None:
        transport.max_size = READ_BYTES  # type: ignore[attr-defined]
        protocol.connection_made(self, CoalescingTransport(transport, coalescer))

    return type(f"Joining{protocol.__name__}", (protocol,), {"connection_made": connection_made})


DRAIN_SECONDS: Final = 5
END_SECONDS: Final = 9.0
"""After a signal the process ends by itself or is ended, within 10 s (docs/api/embedded.md)."""
KEEP_ALIVE_SECONDS: Final = 75
"""Longer than clients keep a connection, so that it is never the server who closes one that is about to be used."""
NEW_OBJECTS: Final = 5_000
"""So many more than before are looked through for cycles; 1,000 streams that wake make some 3,000 for a moment."""


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 picks a free one. Raises `OSError` for a taken port or a foreign host."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = found[0]
    # The protocol is named so that asyncio sees TCP, and sets TCP_NODELAY: else answers wait 40 ms for an ACK.
    listening = socket.socket(family, kind, protocol)
    if os.name == "posix":  # elsewhere the option lets two processes share a port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(2048)  # here, not in uvicorn: between the two another process could take the port
    except OSError:
        listening.close()
        raise
    return listening


def origin(host: str, port: int) -> str:
    """The address that a client on this machine uses.

    >>> origin("0.0.0.0", 8787)
    'http://127.0.0.1:8787'
    """
    name = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


class Listener(uvicorn.Server):
    """Answers requests for `app` until a signal, or until it was idle for `idle_stop` seconds.

    After start-up `app.state.service` answers `idle_seconds()` and `stop()`, which ends open streams.
    `ready` is called once requests are answered.
    """

    def __init__(self, app: Starlette, ready: Callable[[], None], idle_stop: float | None = None) -> None:
        config = uvicorn.Config(
            app,
            http=coalescing(enveloping(AutoHTTPProtocol)),
            loop="asyncio",
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=DRAIN_SECONDS,
        )
        super().__init__(config)
        self._state = app.state
        self._ready = ready
        self._idle_stop = idle_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            _collect_seldom()
            self._ready()

    async def on_tick(self, counter: int) -> bool:
        if self._idle_stop is not None and self._state.service.idle_seconds() >= self._idle_stop:
            self.should_exit = True
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        _end_soon()
        self._state.service.stop()  # else uvicorn would wait for streams that have no end
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # uvicorn's own would raise the signal again after the drain, and the ready file would stay behind.
        if not self.should_exit:
            _end_soon()
        elif sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True


def _collect_seldom() -> None:
    """What is imported is never looked through again for cycles, and the rest seldom: with 1,000 streams a full
    collection stops the service for 0.1 s."""
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)


def _end_soon() -> None:
    # A thread in C, which ends a process that hangs in whatever way, and says in the log where it hung.
    faulthandler.dump_traceback_later(END_SECONDS, exit=True)
