"""The listening socket, and that answers leave whole."""

from __future__ import annotations

import asyncio
import socket
import weakref
from types import SimpleNamespace

import pytest
import uvicorn
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from agentsvc_nb.service.http.access import Credential, authenticated
from agentsvc_nb.service.server import admission
from agentsvc_nb.service.server.admission import TAKING_SECONDS, Activity, Connections
from agentsvc_nb.service.server.connections import CHUNKED_READ_BYTES, BoundedConnection
from agentsvc_nb.service.server.listener import bind
from agentsvc_nb.service.server.transports import (
    JOIN_BYTES,
    READ_BYTES,
    CoalescingTransport,
    WriteCoalescer,
    coalescing,
)
from agentsvc_nb.wire.limits import UNREAD_BYTES


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
        self.waiting = 0

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

    def __init__(self, peer: str, activity: Activity, account: str = "") -> None:
        self.peer, self.activity, self.account = peer, activity, account
        self.transport = Written()
        self.waited, self.seconds_left = 0, 0.0

    def look(self) -> None:
        pass

    def end_unread(self) -> None:
        self.transport.abort()


def admitted(
    connections: Connections, peer: str, activity: Activity = Activity.NO_KEY, account: str = ""
) -> tuple[bool, Open]:
    new = Open(peer, activity, account)
    connections.connections.add(new)  # type: ignore[arg-type]
    return asyncio.run(_admit(connections, new)), new


async def _admit(connections: Connections, new: Open) -> bool:
    return connections.admit(new)  # type: ignore[arg-type]


def closed(connections: list[Open]) -> list[int]:
    return [number for number, each in enumerate(connections) if each.transport.closed]


def test_an_address_holds_half_and_its_oldest_connection_without_a_key_makes_room() -> None:
    connections = Connections(8)
    kept = [admitted(connections, "192.0.2.1", Activity.WORK)[1] for _ in range(2)]
    spare = [admitted(connections, "192.0.2.1")[1] for _ in range(2)]
    assert admitted(connections, "192.0.2.1")[0]
    assert closed([*kept, *spare]) == [2]
    assert admitted(connections, "192.0.2.2")[0], "another address has room"


def test_whoever_has_work_done_is_never_closed_for_another() -> None:
    connections = Connections(4)
    kept = [admitted(connections, "127.0.0.1", Activity.WORK) for _ in range(4)]
    assert all(admission for admission, _ in kept), "loopback may hold all"
    assert not admitted(connections, "127.0.0.1")[0]
    assert closed([each for _, each in kept]) == []


def test_room_is_made_by_those_without_a_key_then_by_the_idle_the_still_and_most_streams() -> None:
    connections = Connections(9)
    uses = [
        (Activity.STREAM, "a"),
        (Activity.WORK, "b"),
        (Activity.STREAM, "b"),
        (Activity.IDLE, "a"),
        (Activity.STILL, "b"),
        (Activity.NO_KEY, ""),
        (Activity.STREAM, "b"),
        (Activity.FRESH, ""),
        (Activity.NO_KEY, ""),
    ]
    others = [admitted(connections, "127.0.0.1", use, account)[1] for use, account in uses]
    order: list[int] = []
    while admitted(connections, "127.0.0.1", Activity.WORK)[0]:
        order += sorted({*closed(others)} - {*order})
    assert order == [5, 8, 3, 4, 2, 6, 0], "a single fresh one is left alone"


def test_of_many_fresh_connections_the_oldest_make_room_before_whoever_has_shown_a_key() -> None:
    connections = Connections(8)
    uses = [Activity.IDLE, *[Activity.FRESH] * 7]
    others = [admitted(connections, "127.0.0.1", use)[1] for use in uses]
    for _ in range(3):
        assert admitted(connections, "127.0.0.1", Activity.FRESH)[0]
    assert closed(others) == [1, 2, 3]


def test_the_one_to_be_spared_is_found_behind_any_number_of_others() -> None:
    connections = Connections(500)
    others = [admitted(connections, "127.0.0.1", Activity.WORK)[1] for _ in range(500)]
    others[450].activity = Activity.IDLE
    assert admitted(connections, "127.0.0.1")[0]
    assert closed(others) == [450]


def test_whoever_authenticates_is_known_by_account_and_caller() -> None:
    """Browsers' streams counted as those of the account "", which had the most, and were closed first."""
    connection = BoundedConnection.__new__(BoundedConnection)
    for credential in (Credential("key", "x"), Credential("session", "y")):
        scope: Scope = {"type": "http", "state": {}}

        authenticated(Request(scope), credential, "acc", "one")
        connection._active = SimpleNamespace(scope=scope)
        assert connection.account == "acc"


def test_a_connection_that_is_in_use_again_is_kept() -> None:
    connections = Connections(4)
    others = [admitted(connections, "127.0.0.1", Activity.IDLE)[1] for _ in range(4)]
    assert admitted(connections, "127.0.0.1", Activity.WORK)[0]
    others[1].activity = Activity.WORK
    assert admitted(connections, "127.0.0.1", Activity.WORK)[0]
    assert closed(others) == [0, 2]


def test_who_shows_no_key_makes_room_soon_after_others_had_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 100 idle connections with a key 50 newcomers without one closed 51, and none of each other."""
    monkeypatch.setattr(admission, "LOOK_SECONDS", 0)
    connections = Connections(100)
    idle = [admitted(connections, "127.0.0.1", Activity.IDLE)[1] for _ in range(100)]
    strangers = [admitted(connections, "127.0.0.1")[1] for _ in range(50)]
    assert (len(closed(idle)), len(closed(strangers))) == (1, 49)


def test_a_closed_connection_is_forgotten() -> None:
    connections = Connections(8)
    others = [admitted(connections, "127.0.0.1", Activity.IDLE)[1] for _ in range(9)]
    gone = others.pop(4)
    connections.forget(gone)  # type: ignore[arg-type]
    connections.connections.discard(gone)
    left = weakref.ref(gone)
    del gone
    assert left() is None


def waiting(*answers: tuple[int, float, int]) -> list[int]:
    """Those that are closed of connections with so many bytes to take, so many seconds left, that waited so long."""
    connections = Connections(100)
    others = [admitted(connections, "127.0.0.1", Activity.WORK)[1] for _ in answers]
    for each, answer in zip(others, answers, strict=True):
        each.transport.waiting, each.seconds_left, each.waited = answer
    connections.look()
    return closed(others)


def test_answers_that_wait_hold_so_much_in_all() -> None:
    """Who would take the longest ends first, whether something drips or not, and a slow reader last."""
    quarter, long = UNREAD_BYTES // 4, TAKING_SECONDS + 1
    nothing, drip, slow = (quarter, 1e7, long), (quarter, 1e6, long), (quarter, 300.0, long)
    assert waiting(slow, drip, nothing, slow) == [], "they hold no more than they may"
    assert waiting(slow, drip, nothing, slow, slow, slow) == [1, 2], "who drips is no slow reader"
    assert len(waiting(*[slow] * 5)) == 1, "the bound is one for all"
    assert waiting(*[(quarter, 1e7, TAKING_SECONDS)] * 5) == [], "they have asked just now"


def test_a_pace_is_of_what_is_taken_after_the_buffers_are_full() -> None:
    """In steps of 100 kB every four seconds, as the system tells of a reader of 25 kB a second."""
    drip, slow = (BoundedConnection.__new__(BoundedConnection) for _ in range(2))
    for each in (drip, slow):
        each.client = None
        each._begin()
    for second in range(40):
        for each, taken in ((drip, second), (slow, second // 4 * 100_000)):
            each.transport = SimpleNamespace(waiting=1_000_000, taken=4_000_000 + taken)  # type: ignore[assignment]
            each.look()
    assert slow.seconds_left < 100 < 100_000 < drip.seconds_left


def test_of_a_body_in_tiny_chunks_little_is_read_at_once() -> None:
    """16 senders of chunks of a byte held everybody else up for 3 seconds: a read of 128 kB had 21,000 of them."""

    class Inner(Written):
        max_size = READ_BYTES

        def get_extra_info(self, name: str, default: object = None) -> None:
            return None

        def get_write_buffer_size(self) -> int:
            return 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(60)

    async def fed(*parts: bytes) -> list[int]:
        config = uvicorn.Config(app, ws="none", lifespan="off", log_config=None)
        made = coalescing(BoundedConnection)
        connection = made(config=config, server_state=Connections(8), app_state={})  # type: ignore[call-arg]
        inner, sizes = Inner(), []
        connection.connection_made(inner)
        for part in parts:
            connection.data_received(part)
            sizes.append(inner.max_size)
        return sizes

    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert asyncio.run(fed(head, b"0\r\n\r\n")) == [READ_BYTES] * 2, "the next request may have a body of another kind"
    assert asyncio.run(fed(head, b"0\r\n", b"\r\n")) == [READ_BYTES, CHUNKED_READ_BYTES, READ_BYTES]
    tiny, large = b"1\r\n \r\n" * 500, b"1000\r\n" + b" " * 4096 + b"\r\n"
    assert asyncio.run(fed(head, tiny, large, tiny)) == [READ_BYTES, CHUNKED_READ_BYTES, READ_BYTES, CHUNKED_READ_BYTES]
