"""The listening socket, and that answers leave whole."""

from __future__ import annotations

import asyncio
import socket

from agentsvc_nb.service.listener import JOIN_BYTES, CoalescingTransport, WriteCoalescer, bind


def test_accepted_connections_send_at_once() -> None:
    """Without the protocol's number asyncio leaves Nagle's algorithm on, and each answer waits for an ACK."""

    async def serve_one(listening: socket.socket) -> int:
        option: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            option.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()
            await writer.wait_closed()

        async with await asyncio.start_server(accepted, sock=listening):
            _, client = await asyncio.open_connection(*listening.getsockname())
            no_delay = await option
            client.close()
            await client.wait_closed()
        return no_delay

    with bind("127.0.0.1", 0) as listening:
        assert asyncio.run(serve_one(listening)) != 0


class Written(asyncio.Transport):
    """Keeps what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writes.append(bytes(data))

    def close(self) -> None:
        self.closed = True


def test_what_is_written_in_one_turn_leaves_together_and_in_order() -> None:
    async def write() -> list[list[bytes]]:
        inner = Written()
        joined = CoalescingTransport(inner, WriteCoalescer())
        joined.write(b"head ")
        joined.write(b"body")
        before = list(inner.writes)
        await asyncio.sleep(0)
        joined.write(b"last")
        joined.close()
        assert inner.closed
        return [before, inner.writes]

    assert asyncio.run(write()) == [[], [b"head body", b"last"]]


def test_much_leaves_at_once() -> None:
    async def write() -> list[bytes]:
        inner = Written()
        joined = CoalescingTransport(inner, WriteCoalescer())
        joined.write(b"head ")
        joined.write(b"x" * JOIN_BYTES)
        return inner.writes

    assert asyncio.run(write()) == [b"head " + b"x" * JOIN_BYTES]


def test_what_several_connections_write_in_one_turn_leaves_when_it_ends() -> None:
    async def write() -> list[list[bytes]]:
        coalescer, inner = WriteCoalescer(), [Written(), Written()]
        for number, each in enumerate(inner):
            CoalescingTransport(each, coalescer).write(b"%d" % number)
        assert [each.writes for each in inner] == [[], []]
        await asyncio.sleep(0)
        return [each.writes for each in inner]

    assert asyncio.run(write()) == [[b"0"], [b"1"]]
