"""The listening socket, and that answers leave whole."""

from __future__ import annotations

import asyncio
import socket

from agentsvc_nb.service.http.connections import Connections
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

    def abort(self) -> None:
        self.closed = True


def test_a_connection_that_cannot_be_written_to_keeps_no_others_data() -> None:
    class Broken(Written):
        def write(self, data: bytes | bytearray | memoryview) -> None:
            raise RuntimeError("write() after write_eof()")

    async def write() -> tuple[bool, list[bytes]]:
        coalescer, broken, whole = WriteCoalescer(), Broken(), Written()
        for inner in (broken, whole):
            CoalescingTransport(inner, coalescer).write(b"answer")
        await asyncio.sleep(0)
        return broken.closed, whole.writes

    assert asyncio.run(write()) == (True, [b"answer"])


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


class Open:
    """What `Connections` asks of a connection."""

    def __init__(self, peer: str, *, is_spare: bool) -> None:
        self.peer, self.is_spare = peer, is_spare
        self.transport = Written()


def admitted(connections: Connections, peer: str, *, is_spare: bool = True) -> tuple[bool, Open]:
    new = Open(peer, is_spare=is_spare)
    connections.connections.add(new)  # type: ignore[arg-type]
    return asyncio.run(_admit(connections, new)), new


async def _admit(connections: Connections, new: Open) -> bool:
    return connections.admit(new)  # type: ignore[arg-type]


def test_an_address_holds_half_and_its_oldest_connection_without_a_key_makes_room() -> None:
    connections = Connections(8)
    kept = [admitted(connections, "192.0.2.1", is_spare=False)[1] for _ in range(2)]
    spare = [admitted(connections, "192.0.2.1")[1] for _ in range(2)]
    assert admitted(connections, "192.0.2.1")[0]
    assert [each.transport.closed for each in [*kept, *spare]] == [False, False, True, False]
    assert admitted(connections, "192.0.2.2")[0], "another address has room"


def test_whoever_shows_a_key_is_never_closed_for_another() -> None:
    connections = Connections(4)
    kept = [admitted(connections, "127.0.0.1", is_spare=False) for _ in range(4)]
    assert all(admission for admission, _ in kept), "loopback may hold all"
    assert not admitted(connections, "127.0.0.1")[0]
    assert not any(each.transport.closed for _, each in kept)
