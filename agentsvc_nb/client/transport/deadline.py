"""Blocking connections on which each wait (connect, read, write) ends at the deadline of the current call.

The HTTP library fixes the read timeout when a response begins, and each byte restarts it. So a stream that is silent,
or sends only pings, would hold its reader well past the deadline. On asyncio a timeout cancels the whole call, and
nothing of this is needed.
"""

from __future__ import annotations

import math
import ssl
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import httpcore

from agentsvc_nb.client.transport.library import httpx

Clock = Callable[[], float]
_left: ContextVar[Clock | None] = ContextVar("seconds to the deadline", default=None)


@contextmanager
def until(ends: float, now: Clock) -> Iterator[None]:
    """Within this context no connection made by `bounded` waits past `ends`, a time of the clock `now` (seconds).

    Only for the current thread.
    """
    # Set also without a deadline: an interrupt may have kept an earlier one from being reset.
    before = _left.set(None if ends == math.inf else lambda: ends - now())
    try:
        yield
    finally:
        _left.reset(before)


def bounded(client: httpx.Client) -> httpx.Client:
    """Make the client's connections, also those through proxies, keep to `until`. Returns the same client."""
    for transport in (client._transport, *client._mounts.values()):
        pool = getattr(transport, "_pool", None)
        if isinstance(pool, httpcore.ConnectionPool) and not isinstance(pool._network_backend, _DeadlineBackend):
            pool._network_backend = _DeadlineBackend(pool._network_backend)
    return client


def _seconds(timeout: float | None, late: type[httpcore.TimeoutException]) -> float | None:
    """The shorter of `timeout` and the time left, in seconds (None: no limit). Raises `late` when no time is left."""
    clock = _left.get()
    if clock is None:
        return timeout
    if (left := clock()) <= 0:
        raise late("the deadline passed")
    return left if timeout is None else min(left, timeout)


class _DeadlineBackend(httpcore.NetworkBackend):
    """A network backend whose connections keep to `until`."""

    def __init__(self, backend: httpcore.NetworkBackend) -> None:
        self._backend = backend

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        seconds = _seconds(timeout, httpcore.ConnectTimeout)
        return _DeadlineStream(self._backend.connect_tcp(host, port, seconds, local_address, socket_options))

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.NetworkStream:
        seconds = _seconds(timeout, httpcore.ConnectTimeout)
        return _DeadlineStream(self._backend.connect_unix_socket(path, seconds, socket_options))

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


class _DeadlineStream(httpcore.NetworkStream):
    """A connection whose reads and writes keep to `until`."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _seconds(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _seconds(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        seconds = _seconds(timeout, httpcore.ConnectTimeout)
        return _DeadlineStream(self._stream.start_tls(ssl_context, server_hostname, seconds))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
