"""Connections to the embedded service: each proves the identity of its peer before it carries a request.

The service ends by itself when it is idle, and its port may then be anybody's. Looking once is not enough: the pool
opens a connection whenever it has none left. So the proof is asked on the new connection itself, by what opens it for
the pool, and what gives none is closed as if nobody had answered. See docs/decisions/0028.
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
"""An answer takes a millisecond; a peer that is silent for so long is not the service, or is unusable."""
_BROKEN: Final = (httpcore.NetworkError, httpcore.TimeoutException, OSError, ValueError)


def proven(client: httpx.Client, secret: Secret) -> httpx.Client:
    """Make every connection of the client prove its peer."""
    pool = cast(Any, client._transport)._pool  # another version of the library may have none: then it fails here
    pool._network_backend = _ProvingBackend(pool._network_backend, secret)
    return client


def proven_async(client: httpx.AsyncClient, secret: Secret) -> httpx.AsyncClient:
    """The same for asyncio."""
    pool = cast(Any, client._transport)._pool
    pool._network_backend = _AsyncProvingBackend(pool._network_backend, secret)
    return client


class _Patience:
    """How long the proof of one connection may take: the shorter of our limit and the caller's."""

    def __init__(self, timeout: float | None) -> None:
        seconds = PROOF_SECONDS if timeout is None else min(timeout, PROOF_SECONDS)
        self._ends, self._is_ours = time.monotonic() + seconds, seconds == PROOF_SECONDS

    @property
    def left(self) -> float:
        """Raises `httpcore.ReadTimeout` at the end: a socket's own timeout counts anew with each byte."""
        seconds = self._ends - time.monotonic()
        if seconds <= 0:
            raise httpcore.ReadTimeout
        return seconds

    @contextmanager
    def explaining(self, host: str, port: int) -> Iterator[None]:
        """Has a connection without a proof look as one that was refused: then nothing was sent, and the client looks
        for the service again. Only when the caller's own patience has ended it is a timeout."""
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
