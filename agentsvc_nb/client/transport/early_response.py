"""Connections of asyncio that read while they send, so that an early refusal of an upload is seen."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

import httpcore

from agentsvc_nb.client.transport.library import httpx

_UPLOAD: Final = b"multipart/form-data"
_READ_BYTES: Final = 64 * 1024


def listen(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """The same client, whose own connections listen; those through a proxy do not."""
    pool = getattr(client._transport, "_pool", None)
    if isinstance(pool, httpcore.AsyncConnectionPool):
        pool._network_backend = _WatchedBackend(pool._network_backend)
    return client


class _WatchedBackend(httpcore.AsyncNetworkBackend):
    def __init__(self, backend: httpcore.AsyncNetworkBackend) -> None:
        self._backend = backend

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return _WatchedStream(await self._backend.connect_tcp(host, port, timeout, local_address, socket_options))

    async def sleep(self, seconds: float) -> None:
        await self._backend.sleep(seconds)


class _WatchedStream(httpcore.AsyncNetworkStream):
    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._head = b""
        """Of the request that is being sent."""
        self._early: asyncio.Task[bytes] | None = None
        self._spare: socket.socket | None = None
        """The same connection, which the kernel keeps when the event loop has closed its own. It never waits."""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if not self._head:
            self._head = buffer
        elif _UPLOAD in self._head and not self._early:
            self._spare = None if self.get_extra_info("ssl_object") else self.get_extra_info("socket").dup()
            self._early = asyncio.create_task(self._stream.read(_READ_BYTES))
            await asyncio.sleep(0)  # it begins
        if self._early and self.get_extra_info("is_readable"):
            # The write may find the connection closed, and then what came is lost: first the event loop finds it
            # with one turn, and hands it over with the next.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        await self._stream.write(buffer, timeout)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        early, self._early, self._head = self._early, None, b""
        if early is None:
            return await self._stream.read(max_bytes, timeout)
        try:
            async with asyncio.timeout(timeout):
                return await early
        except TimeoutError:
            raise httpcore.ReadTimeout from None
        except httpcore.ReadError:
            if rest := self._rest():
                return rest
            raise
        finally:
            self._leave()

    def _rest(self) -> bytes:
        """What had come before the connection failed, and the event loop did not see in time."""
        rest = b""
        with suppress(OSError):
            while self._spare and (block := self._spare.recv(_READ_BYTES)):
                rest += block
        return rest

    def _leave(self) -> None:
        if self._spare:
            self._spare.close()
            self._spare = None

    async def aclose(self) -> None:
        if self._early and not self._early.cancel():
            self._early.exception()  # it is known that the connection failed
        self._leave()
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        return _WatchedStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
