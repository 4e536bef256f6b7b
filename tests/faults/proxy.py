"""A TCP proxy in front of a service, which breaks connections according to a plan."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Sequence
from typing import Literal, NamedTuple, Self

How = Literal["cut", "reset", "stall", "half", "delay"]
Direction = Literal["up", "down"]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

HOWS: tuple[How, ...] = ("cut", "reset", "stall", "half", "delay")
_DELAY_SECONDS = 0.02
_BLOCK_BYTES = 16 * 1024


class Fault(NamedTuple):
    """A fault in one direction of a connection, once `after` bytes have passed in it.

    cut: the connection is closed normally. reset: it is closed with RST. stall: no more bytes pass, and the connection
    stays open. half: this direction is closed, the other stays open. delay: each further block waits 20 ms.
    """

    how: How
    after: int
    direction: Direction = "down"


class Proxy:
    """A proxy on `base_url`, in a thread. Connection n (from 0) has the fault `plan[n]`, later ones have none."""

    def __init__(self, service_url: str, plan: Sequence[Fault | None] = ()) -> None:
        host, _, port = service_url.removeprefix("http://").rpartition(":")
        self._service, self._plan = (host, int(port)), plan
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.taken = 0
        """The number of connections accepted so far."""
        self.struck = 0
        """The number of connections broken so far (a delay breaks none)."""

    @property
    def base_url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def open(self) -> int:
        """The number of connections that are open."""
        return len(self._connections)

    def __enter__(self) -> Self:
        self._thread.start()
        starting = asyncio.start_server(self._accepted, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(starting, self._loop).result(10)
        return self

    def __exit__(self, *ended: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = self._loop.create_task(self._connection((reader, writer)))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _connection(self, client: Streams) -> None:
        number, self.taken = self.taken, self.taken + 1
        fault = self._plan[number] if number < len(self._plan) else None
        service = await asyncio.open_connection(*self._service)
        up, down = (fault if fault and fault.direction == way else None for way in ("up", "down"))
        pumps = [
            asyncio.create_task(self._pump(client[0], service[1], up)),
            asyncio.create_task(self._pump(service[0], client[1], down)),
        ]
        try:
            done, _ = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            if any(pump.exception() is None and pump.result() == "reset" for pump in done):
                _reset_when_closed(client[1])
        finally:
            for pump in pumps:
                pump.cancel()
            for _, writer in (client, service):
                writer.close()
            closing = (writer.wait_closed() for _, writer in (client, service))
            await asyncio.gather(*pumps, *closing, return_exceptions=True)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, fault: Fault | None
    ) -> How | None:
        """Forward bytes until an end closes (returns None) or the fault strikes (returns its kind)."""
        passed = 0
        while block := await reader.read(_BLOCK_BYTES):
            if fault and passed + len(block) >= fault.after:
                if fault.how != "delay":
                    writer.write(block[: fault.after - passed])
                    return await self._strike(fault, reader, writer)
                await asyncio.sleep(_DELAY_SECONDS)
            writer.write(block)
            await writer.drain()
            passed += len(block)
        return None

    async def _strike(self, fault: Fault, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> How:
        self.struck += 1
        await writer.drain()
        if fault.how == "half":
            writer.write_eof()
        while fault.how in ("half", "stall") and await reader.read(_BLOCK_BYTES):
            pass  # read and drop what still comes, so that the sender does not notice
        return fault.how


def _reset_when_closed(writer: asyncio.StreamWriter) -> None:
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
