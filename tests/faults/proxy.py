"""A TCP proxy in front of a service, which breaks connections according to a plan."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Sequence
from typing import Literal, NamedTuple, Self

How = Literal["cut", "reset", "stall"]
Direction = Literal["up", "down"]
_BLOCK_BYTES = 16 * 1024


class Fault(NamedTuple):
    """A fault in one direction of a connection, once `after` bytes have passed in it.

    cut: the connection is closed normally. reset: it is closed with RST. stall: no more bytes pass, and the connection
    stays open.
    """

    how: How
    after: int
    direction: Direction = "down"


class Proxy:
    """A proxy on `base_url`, in a thread. Connection n (from 0) has the fault `plan[n]`, later ones have none.

    `accepted` and `struck` count the connections that came and those that were broken.
    """

    def __init__(self, service_url: str, plan: Sequence[Fault | None] = ()) -> None:
        host, _, port = service_url.removeprefix("http://").rpartition(":")
        self._service, self._plan = (host, int(port)), plan
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._connections: set[asyncio.Task[None]] = set()
        self.accepted = self.struck = 0

    def __enter__(self) -> Self:
        self._thread.start()
        starting = asyncio.start_server(self._accept, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(starting, self._loop).result(10)
        self.base_url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *ended: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = self._loop.create_task(self._forward(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, self.accepted = self.accepted, self.accepted + 1
        fault = self._plan[number] if number < len(self._plan) else None
        from_service, to_service = await asyncio.open_connection(*self._service)
        up, down = (fault if fault and fault.direction == way else None for way in ("up", "down"))
        pumps = [
            asyncio.create_task(self._pump(reader, to_service, up)),
            asyncio.create_task(self._pump(from_service, writer, down)),
        ]
        try:
            done, _ = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            if any(pump.exception() is None and pump.result() == "reset" for pump in done):
                connection: socket.socket = writer.get_extra_info("socket")
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
        finally:
            for pump in pumps:
                pump.cancel()
            for each in (writer, to_service):
                each.close()
            closing = (each.wait_closed() for each in (writer, to_service))
            await asyncio.gather(*pumps, *closing, return_exceptions=True)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, fault: Fault | None
    ) -> How | None:
        """Forward bytes until an end closes (returns None) or the fault strikes (returns its kind)."""
        passed = 0
        while block := await reader.read(_BLOCK_BYTES):
            if fault and passed + len(block) >= fault.after:
                self.struck += 1
                writer.write(block[: fault.after - passed])
                await writer.drain()
                while fault.how == "stall" and await reader.read(_BLOCK_BYTES):
                    pass  # so that the sender does not notice
                return fault.how
            writer.write(block)
            await writer.drain()
            passed += len(block)
        return None
