"""Connections to the embedded service, each of which verifies its peer before it carries a request.

The service stops when it is idle, and another process may then take its port. Verifying once is not enough, because
the connection pool opens new connections whenever it has none left. So the pool's network backend requests the proof
on each new connection, and closes one without a proof as if it had been refused. See docs/decisions/0028.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, cast

import httpcore

from agentsvc_nb.client.transport.health import READ_BYTES, Health, Secret, Unproved
from agentsvc_nb.client.transport.library import httpx

PROOF_SECONDS: Final = 5.0
"""Limit for one proof. It takes a millisecond: a peer that takes so long is not the service, or is unusable."""
_BROKEN: Final = (httpcore.NetworkError, httpcore.TimeoutException, OSError, ValueError)


def proven(client: httpx.Client, secret: Secret) -> httpx.Client:
    """Make each connection of the client verify its peer. Returns the same client."""
    pool = cast(Any, client._transport)._pool  # raises for a version of the library without it: better than unproved
    pool._network_backend = _ProvingBackend(pool._network_backend, secret)
    return client


def proven_async(client: httpx.AsyncClient, secret: Secret) -> httpx.AsyncClient:
    """`proven` for asyncio."""
    pool = cast(Any, client._transport)._pool
    pool._network_backend = _AsyncProvingBackend(pool._network_backend, secret)
    return client


class _Patience:
    """The time for the proof of one connection: the shorter of `PROOF_SECONDS` and the caller's connect timeout."""

    def __init__(self, timeout: float | None) -> None:
        seconds = PROOF_SECONDS if timeout is None else min(timeout, PROOF_SECONDS)
        self._ends, self._is_ours = time.monotonic() + seconds, seconds == PROOF_SECONDS

    @property
    def left(self) -> float:
        """Seconds left. Raises `httpcore.ReadTimeout` when none are; a socket's timeout restarts with each byte."""
        seconds = self._ends - time.monotonic()
        if seconds <= 0:
            raise httpcore.ReadTimeout
        return seconds

    @contextmanager
    def explaining(self, host: str, port: int) -> Iterator[None]:
        """Turn a failed proof into `httpcore.ConnectError`, as for a refused connection.

        The client then knows that nothing was sent, and looks for the service again. Raises `httpcore.ConnectTimeout`
        instead if the caller's own timeout ended the proof.
        """
        try:
            yield
        except (*_BROKEN, Unproved) as error:
            late = isinstance(error, httpcore.TimeoutException)
            if late and not self._is_ours:
                raise httpcore.ConnectTimeout from None
            why = "it does not answer" if late else str(error) or "the connection broke"
            raise httpcore.ConnectError(
                f"what listens at {host}:{port} does not prove that it is your embedded service ({why}), "
                "so nothing was sent"
            ) from None


class _ProvingBackend(httpcore.NetworkBackend):
    """A network backend that requests the proof on each new connection, and closes one without it."""

    def __init__(self, backend: httpcore.NetworkBackend, secret: Secret) -> None:
        self._backend, self._secret = backend, secret

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        stream = self._backend.connect_tcp(host, port, timeout, local_address, socket_options)
        patience = _Patience(timeout)
        try:
            with patience.explaining(host, port):
                self._prove(stream, Health(host, port), patience)
        except BaseException:
            stream.close()
            raise
        return stream

    def _prove(self, stream: httpcore.NetworkStream, health: Health, patience: _Patience) -> None:
        peer = stream.get_extra_info("server_addr")
        stream.write(health.request, patience.left)
        while not health.hear(stream.read(READ_BYTES, patience.left)):
            pass
        health.check(self._secret.key, peer)

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


class _AsyncProvingBackend(httpcore.AsyncNetworkBackend):
    """`_ProvingBackend` for asyncio."""

    def __init__(self, backend: httpcore.AsyncNetworkBackend, secret: Secret) -> None:
        self._backend, self._secret = backend, secret

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        stream = await self._backend.connect_tcp(host, port, timeout, local_address, socket_options)
        patience = _Patience(timeout)
        try:
            with patience.explaining(host, port):
                await self._prove(stream, Health(host, port), patience)
        except BaseException:
            await stream.aclose()
            raise
        return stream

    async def _prove(self, stream: httpcore.AsyncNetworkStream, health: Health, patience: _Patience) -> None:
        peer = stream.get_extra_info("server_addr")
        await stream.write(health.request, patience.left)
        while not health.hear(await stream.read(READ_BYTES, patience.left)):
            pass
        health.check(self._secret.key, peer)

    async def sleep(self, seconds: float) -> None:
        await self._backend.sleep(seconds)
