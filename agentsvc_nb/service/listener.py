"""The listening socket and the uvicorn server: writes are coalesced to one system call per answer, and the process ends
on a signal or when idle, by force if need be."""

from __future__ import annotations

import asyncio
import errno
import faulthandler
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, cast

import uvicorn
from starlette.applications import Starlette

from agentsvc_nb.service.http.connections import KEEP_ALIVE_SECONDS, BoundedConnection, Connections
from agentsvc_nb.service.logs import Tally
from agentsvc_nb.wire.limits import CONNECTIONS_MAX

log = logging.getLogger(__name__)

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

    __slots__ = ("_ended", "_held", "_held_bytes", "_inner", "_turn")

    def __init__(self, inner: asyncio.Transport, coalescer: WriteCoalescer) -> None:
        super().__init__()
        self._inner = inner
        self._turn = coalescer
        self._held: list[bytes | bytearray | memoryview] = []
        self._held_bytes = 0
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
            self._held_bytes = 0
            self._inner.write(data)


def coalescing(protocol: type[asyncio.Protocol]) -> type[asyncio.Protocol]:
    """The `protocol` class on a `CoalescingTransport`."""
    coalescer = WriteCoalescer()

    def connection_made(self: asyncio.Protocol, transport: asyncio.Transport) -> None:
        protocol.connection_made(self, CoalescingTransport(transport, coalescer))

    return type(f"Joining{protocol.__name__}", (protocol,), {"connection_made": connection_made})


_tally: Final = Tally(log)
TICKS_A_SECOND: Final = 10
DRAIN_SECONDS: Final = 5
END_SECONDS: Final = 9.0
"""After a signal the process has this long to end by itself before it is killed; 10 s are promised
(docs/api/embedded.md)."""
QUEUE: Final = 2048
"""Connections that the system holds until they are accepted."""
ACCEPTED_AT_ONCE: Final = 64
"""asyncio accepts so many before the first of them can be refused, so there must be descriptors for them."""
DESCRIPTORS_MAX: Final = 65_536
NEW_OBJECTS: Final = 5_000
"""The garbage collector's threshold, in objects; 1,000 streams that wake at once make some 3,000 for a moment."""


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 picks a free one. Raises `OSError` for a taken port or an address of another host."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = found[0]
    # With the protocol given, asyncio recognises TCP and sets TCP_NODELAY; otherwise answers wait 40 ms for an ACK.
    listening = socket.socket(family, kind, protocol)
    if os.name == "posix":  # elsewhere the option lets two processes share a port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(QUEUE)  # now rather than later in uvicorn: another process could take the port in between
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
    """A uvicorn server for `app` that runs until a signal, until it has been idle for `idle_stop` seconds, or until its
    data folder `is_lost`, which is asked ten times a second.

    `ready` is called once requests are answered. `lost`: it ended since the folder was lost; `failure`: because `ready`
    raised this. `app.state.service` must have `idle_seconds()`, and `stop()`, which ends open streams.
    """

    def __init__(
        self,
        app: Starlette,
        ready: Callable[[], None],
        idle_stop: float | None = None,
        is_lost: Callable[[], bool] = lambda: False,
    ) -> None:
        config = uvicorn.Config(
            app,
            http=coalescing(BoundedConnection),
            interface="asgi3",
            loop="asyncio",
            ws="none",
            lifespan="on",
            backlog=ACCEPTED_AT_ONCE,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=DRAIN_SECONDS,
        )
        super().__init__(config)
        self._connections = self.server_state = Connections(min(CONNECTIONS_MAX, _descriptors() * 3 // 4))
        self._state = app.state
        self._ready = ready
        self._idle_stop = idle_stop
        self._is_lost = is_lost
        self.lost = False
        self.failure: OSError | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(_handle)
        await super().startup(sockets)
        if self.started:
            for each in sockets or []:
                each.listen(QUEUE)  # uvicorn has set it to what is accepted at once
            _collect_seldom()
            try:
                self._ready()
            except OSError as error:  # raised here it would end the service without its shutdown
                self.failure, self.should_exit = error, True

    async def on_tick(self, counter: int) -> bool:
        if self._idle_stop is not None and self._state.service.idle_seconds() >= self._idle_stop:
            self.should_exit = True
        if self._is_lost():
            log.critical("the lock or the database was removed or replaced: the service ends")
            self.lost = self.should_exit = True
        if counter % TICKS_A_SECOND == 0:
            for connection in list(self._connections.connections):
                cast(BoundedConnection, connection).look()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        _end_soon()
        self._state.service.stop()  # otherwise uvicorn would wait for open streams until the drain times out
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # uvicorn's own handler would raise the signal again after the drain, and the ready file would not be removed.
        if not self.should_exit:
            _end_soon()
        elif sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True


def _descriptors() -> int:
    """The number of descriptors that this process may have, after it was raised as far as the system lets it."""
    if sys.platform == "win32":  # sockets are no descriptors there
        return DESCRIPTORS_MAX
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS_MAX if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS_MAX)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):  # macOS has another limit beside it
        return soft
    return wanted


def _handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Count failures to accept for want of descriptors, of which asyncio logs thousands a second."""
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        _tally.note("descriptors", "no descriptor is left for another connection")
    else:
        loop.default_exception_handler(context)


def _collect_seldom() -> None:
    """Exclude imported modules from garbage collection, and collect the rest seldom: with 1,000 streams a full
    collection stops the service for 0.1 s."""
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)


def _end_soon() -> None:
    # A thread in C: it ends the process however it hangs, and logs where.
    faulthandler.dump_traceback_later(END_SECONDS, exit=True)
