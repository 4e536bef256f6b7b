"""The listening socket and the uvicorn server: the process ends on a signal or when idle, by force if need be."""

from __future__ import annotations

import asyncio
import contextlib
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
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette

from agentsvc_nb.service.logs import Tally
from agentsvc_nb.service.server.admission import Connections
from agentsvc_nb.service.server.connections import KEEP_ALIVE_SECONDS, BoundedConnection
from agentsvc_nb.service.server.transports import coalescing
from agentsvc_nb.wire.limits import CONNECTIONS_MAX

log = logging.getLogger(__name__)

_tally: Final = Tally(log)
TICKS_A_SECOND: Final = 10
DRAIN_SECONDS: Final = 5
END_SECONDS: Final = 9.0
"""After a signal the process has this long to end by itself before it is killed; 10 s are promised
(docs/api/embedded.md)."""
QUEUE: Final = 2048
"""Connections that the system holds until they are accepted."""
ACCEPTED_AT_ONCE: Final = 16
"""In one turn of the event loop, before the server can refuse the first of them."""
DESCRIPTORS_MAX: Final = 65_536
DESCRIPTORS_MACOS: Final = 10_240
"""What macOS allows, whatever limit it reports."""
RESERVED: Final = 128
"""Descriptors that are not for connections: those just accepted, the database, children, what runs read and write."""
SWITCH_SECONDS: Final = 0.0005
"""How long a thread that computes keeps the interpreter's lock while the event loop waits for it. Python's own 5 ms are
waited for after each of a request's dozen system calls: beside three such threads, answers took seven times as long."""
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
    raised this. `app.state.service` must have `idle_seconds()`, `refusal`,
    which ends it, too, and `stop()`, which ends open streams.
    """

    def __init__(
        self,
        app: Starlette,
        ready: Callable[[], None],
        idle_stop: float | None = None,
        is_lost: Callable[[], bool] = lambda: False,
    ) -> None:
        most = _connections()
        config = uvicorn.Config(
            app,
            http=coalescing(BoundedConnection),
            interface="asgi3",
            loop="asyncio",
            ws="none",
            lifespan="on",
            backlog=min(ACCEPTED_AT_ONCE, most // 4),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=DRAIN_SECONDS,
        )
        super().__init__(config)
        self._connections = self.server_state = Connections(most)
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
            sys.setswitchinterval(SWITCH_SECONDS)
            try:
                self._ready()
            except OSError as error:  # raised here it would end the service without its shutdown
                self.failure, self.should_exit = error, True

    async def on_tick(self, counter: int) -> bool:
        if self._idle_stop is not None and self._state.service.idle_seconds() >= self._idle_stop:
            self.should_exit = True
        if self._state.service.refusal is not None:
            self.should_exit = True
        if self._is_lost():
            log.critical("the lock or the database was removed or replaced: the service ends")
            self.lost = self.should_exit = True
        if counter % TICKS_A_SECOND == 0:
            self._connections.look()
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


def _connections() -> int:
    """The most connections at a time, each of which may take a descriptor for a file, too."""
    return max(16, min(CONNECTIONS_MAX, (_descriptors() - RESERVED) // 2))


def _descriptors() -> int:
    """The number of descriptors that this process may have, after the limit was raised as far as possible."""
    if sys.platform == "win32":  # sockets are no descriptors there
        return DESCRIPTORS_MAX
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in (DESCRIPTORS_MAX, DESCRIPTORS_MACOS):
        if hard != resource.RLIM_INFINITY:
            wanted = min(hard, wanted)
        if soft == resource.RLIM_INFINITY or soft >= wanted:
            return wanted
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return wanted
    return soft


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
