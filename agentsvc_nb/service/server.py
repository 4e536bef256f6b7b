"""Run the application on an unmodified uvicorn server: bind the socket, announce the server, and stop it in time.

The code uses only documented settings of uvicorn. A proxy (docs/deploy/haproxy.cfg) must handle attacks from the open
internet, such as slow or endless request headers and floods of connections.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from types import FrameType
from typing import Final

import uvicorn
from starlette.applications import Starlette

from agentsvc_nb.wire.limits import CONNECTIONS_MAX

log = logging.getLogger(__name__)

TICK_SECONDS: Final = 0.1
"""How often to check whether the server has to end."""
START_TICK_SECONDS: Final = 0.005
"""How often to check whether the server has started. It is short, because notebooks wait for the start."""
DRAIN_SECONDS: Final = 5
END_SECONDS: Final = 9.0
"""How long the server may take to end before its process is killed. docs/api/embedded.md promises 10 s."""
KEEP_ALIVE_SECONDS: Final = 75
"""How long the server keeps idle connections. Clients close them earlier, so the server never closes a connection that
a client is about to use.
"""
BACKLOG: Final = 2048
"""The number of connections that the operating system queues until the server accepts them."""
DESCRIPTORS_MAX: Final = 65_536
DESCRIPTORS_MACOS: Final = 10_240
"""The real limit of descriptors on macOS, whose system call returns a wrong limit."""
RESERVED: Final = 128
"""The number of descriptors for other purposes than connections: the database, child processes, and files of runs."""
SWITCH_SECONDS: Final = 0.0005
"""How long a computing thread keeps Python's interpreter lock while the event loop waits for the lock.

The event loop waits after each of a request's dozen system calls. With Python's default of 5 ms and three such threads,
responses took seven times as long.
"""
NEW_OBJECTS: Final = 5_000
"""The garbage collector's threshold, in new objects. When 1,000 event streams wake at once, they create some 3,000."""


class FolderLost(Exception):
    """The data folder was removed or replaced while the server ran."""


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket. Port 0 means any free port. Raises `OSError` if the address is unavailable."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = found[0]
    # If the protocol is given, asyncio recognises TCP and sets TCP_NODELAY; otherwise responses wait 40 ms for an ACK.
    listening = socket.socket(family, kind, protocol)
    if os.name == "posix":  # on Windows, the option would let two processes share a port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(BACKLOG)  # uvicorn listens too late: another process could take the port
    except OSError:
        listening.close()
        raise
    return listening


def origin(host: str, port: int) -> str:
    """Return the base URL that a client on this machine uses.

    >>> origin("0.0.0.0", 8787)
    'http://127.0.0.1:8787'
    """
    name = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def run(
    app: Starlette,
    listening: socket.socket,
    ready: Callable[[], None],
    *,
    idle_stop: float | None = None,
    is_lost: Callable[[], bool] = lambda: False,
) -> None:
    """Serve `app` until SIGTERM or SIGINT, until it was idle for `idle_stop` seconds, or until it refuses to continue.

    Args:
        app: its `app.state.service` has `idle_seconds()`, `refusal`, and `stop()`, which ends open streams.
        listening: a socket from `bind`, which the server closes.
        ready: called once the server accepts requests.
        is_lost: returns whether the data folder was removed or replaced; called ten times a second.

    Raises:
        FolderLost: `is_lost` returned True.
        OSError: `ready` raised it.
        SystemExit: `app` could not start; its log says why.
    """
    config = uvicorn.Config(
        app,
        # httptools does not limit the size of request headers. h11 does, but serves only half as many requests a
        # second.
        http="httptools",
        ws="none",
        interface="asgi3",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        limit_concurrency=_connections(),
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )
    server = uvicorn.Server(config)

    async def serve() -> None:
        watch = asyncio.create_task(_watch(server, app, ready, idle_stop, is_lost), name="watch of the server")
        await server.serve(sockets=[listening])
        await watch

    asyncio.run(serve())


async def _watch(
    server: uvicorn.Server,
    app: Starlette,
    ready: Callable[[], None],
    idle_stop: float | None,
    is_lost: Callable[[], bool],
) -> None:
    """Call `ready` once the server has started, and stop the server when it must end."""
    service = app.state.service
    _handle_signals(server)
    try:
        while not server.started and not server.should_exit:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(START_TICK_SECONDS)
        _tune_interpreter()
        if server.started:
            ready()
        while not server.should_exit and service.refusal is None:
            if is_lost():
                log.critical("the lock file or the database was removed or replaced: the service is stopping")
                raise FolderLost
            if idle_stop is not None and service.idle_seconds() >= idle_stop:
                break
            await asyncio.sleep(TICK_SECONDS)
    finally:
        _kill_after_deadline()
        server.should_exit = True
        service.stop()  # otherwise uvicorn would wait for open streams until the drain times out


def _handle_signals(server: uvicorn.Server) -> None:
    """Replace uvicorn's signal handlers, which would end the process before it removes the ready file."""

    def end(number: int, frame: FrameType | None) -> None:
        if not server.should_exit:
            _kill_after_deadline()  # `_watch` also does this, but the event loop may hang
        elif number == signal.SIGINT:
            server.force_exit = True
        server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    if sys.platform == "win32":
        signal.signal(signal.SIGBREAK, end)


def _kill_after_deadline() -> None:
    # This starts a thread in C that ends the process even if Python hangs, and logs where it hangs.
    faulthandler.dump_traceback_later(END_SECONDS, exit=True)


def _tune_interpreter() -> None:
    """Switch threads sooner, and collect garbage less often: with 1,000 streams, a collection takes 0.1 s."""
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)


def _connections() -> int:
    """Return the maximum number of connections. Each may need a second descriptor, for a file that it sends."""
    return max(16, min(CONNECTIONS_MAX, (_descriptors() - RESERVED) // 2))


def _descriptors() -> int:
    """Raise this process's limit of descriptors as far as possible, and return the limit."""
    if sys.platform == "win32":  # sockets are not descriptors on Windows
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
