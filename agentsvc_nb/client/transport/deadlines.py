"""Blocking connections that end each wait (connect, read, write) at the deadline of the current call.

The HTTP library fixes the read timeout when a response begins, and each byte restarts it. So a stream that is silent,
or sends only pings, would hold its reader well past the deadline. On asyncio a timeout cancels the whole call, and
nothing of this is needed.
"""

from __future__ import annotations

import math
import socket
import ssl
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Final

from agentsvc_nb.client.transport.io import UNASKED, PieceSize
from agentsvc_nb.client.transport.locks import survive_interrupts
from agentsvc_nb.client.transport.stopping import Stopper

Clock = Callable[[], float]
_left: ContextVar[Clock | None] = ContextVar("seconds to the deadline", default=None)
_stopper: ContextVar[Stopper | None] = ContextVar("what ends the call from outside", default=None)


@contextmanager
def until(ends: float, now: Clock, stopper: Stopper | None = None) -> Iterator[None]:
    """Within this context no connection made by `bounded` waits past `ends`, a time of the clock `now` (seconds), or
    for an answer when `stopper` has ended that.

    Only for the current thread.
    """
    # Set also without a deadline, as by `lift`.
    before = _left.set(None if ends == math.inf else lambda: ends - now())
    other = _stopper.set(stopper)
    try:
        yield
    finally:
        if stopper:
            stopper.waits(None)
        _stopper.reset(other)
        _left.reset(before)


def lift() -> None:
    """No deadline from here on: an interrupt may have kept an earlier one from being reset."""
    _left.set(None)


def bounded(client: Any) -> None:
    """Make the connections of a blocking client, also those through proxies, keep to `until`, and survive Ctrl-C."""
    for pool in pools(client):
        if not isinstance(pool._network_backend, _DeadlineBackend):
            survive_interrupts(_core_of(pool))
            pool._network_backend = _DeadlineBackend(pool._network_backend, _core_of(pool))


def shut_down(stream: Any) -> None:
    """Shut a connection of the library down, which ends a `recv` in another thread; closing the socket would not."""
    connection = stream.get_extra_info("socket")
    if isinstance(connection, socket.socket):
        with suppress(OSError):
            socket.socket.shutdown(connection, socket.SHUT_RDWR)


def forget(client: Any) -> list[Any]:
    """In a forked child: take the parent's connections, which both would use, and its locks from a client.

    Returns the connections, which must not be closed here.
    """
    left = []
    for pool in pools(client):
        left.append(pool._connections)
        pool._connections, pool._requests = [], []
        pool._optional_thread_lock = type(pool._optional_thread_lock)()
    return left


def pools(client: Any) -> Iterator[Any]:
    """The connection pools of a client, or of a transport; one of the caller's own kind has none."""
    for transport in (getattr(client, "_transport", client), *getattr(client, "_mounts", {}).values()):
        pool = getattr(transport, "_pool", None)
        if pool is not None and type(pool).__module__.partition(".")[0] in ("httpcore", "httpcore2"):
            yield pool


def _core_of(pool: Any) -> Any:
    """The library below the HTTP library: the caller's own client may be of `httpx2`."""
    return sys.modules[type(pool).__module__.partition(".")[0]]


def _seconds(timeout: float | None, late: type[Exception]) -> float | None:
    """The shorter of `timeout` and the time left, in seconds (None: no limit). Raises `late` when no time is left."""
    clock = _left.get()
    if clock is None:
        return timeout
    if (left := clock()) <= 0:
        raise late("the deadline passed")
    return left if timeout is None else min(left, timeout)


class _DeadlineBackend:
    """A network backend whose connections keep to `until`."""

    def __init__(self, backend: Any, core: Any) -> None:
        self._backend = backend
        self._core = core

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> _DeadlineStream:
        failed: Exception | None = None
        for address in self._addresses(host, port):
            seconds = _seconds(timeout, self._core.ConnectTimeout)
            try:
                stream = self._backend.connect_tcp(address, port, seconds, local_address, socket_options)
            except (self._core.ConnectError, self._core.ConnectTimeout) as error:
                failed = error
            else:
                return _DeadlineStream(stream, self._core)
        raise failed or self._core.ConnectError("the host has no address")

    def _addresses(self, host: str, port: int) -> list[str]:
        """The host, or with a deadline its addresses: the library gives each of them the whole time."""
        if _left.get() is None:
            return [host]
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise self._core.ConnectError(str(error)) from None
        return [str(address[0]) for *_, address in found]

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> _DeadlineStream:
        seconds = _seconds(timeout, self._core.ConnectTimeout)
        return _DeadlineStream(self._backend.connect_unix_socket(path, seconds, socket_options), self._core)

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


_WRITE_BYTES: Final = 8 * 1024
"""A connection that can be written to takes so much at once."""


class _DeadlineStream:
    """A connection whose reads and writes keep to `until`; a stopper shuts it down."""

    def __init__(self, stream: Any, core: Any) -> None:
        self._stream = stream
        self._core = core
        self._pieces = PieceSize()
        self._unread = False  # since the last write

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._unread = False
        most = self._pieces.most(max_bytes)
        data: bytes = self._stream.read(most, _seconds(timeout, self._core.ReadTimeout))
        self._pieces.came = len(data)
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._unread = True
        if stopper := _stopper.get():
            stopper.waits(lambda: shut_down(self))
            if stopper.stopped:
                raise self._core.WriteError("the call was ended")
        # In pieces, because the library gives each piece that a slow reader takes the whole time again.
        if _left.get() is None or len(buffer) <= _WRITE_BYTES:
            self._stream.write(buffer, _seconds(timeout, self._core.WriteTimeout))
            return
        for start in range(0, len(buffer), _WRITE_BYTES):
            piece = buffer[start : start + _WRITE_BYTES]
            self._stream.write(piece, _seconds(timeout, self._core.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> _DeadlineStream:
        seconds = _seconds(timeout, self._core.ConnectTimeout)
        return _DeadlineStream(self._stream.start_tls(ssl_context, server_hostname, seconds), self._core)

    def get_extra_info(self, info: str) -> Any:
        return self._unread if info == UNASKED else self._stream.get_extra_info(info)
