"""Of many connections that are ready or new, each caller's have their turn (docs/decisions/0051)."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import selectors
import socket
import struct
from collections.abc import Iterator
from typing import Final

import pytest

from agentsvc_nb.service.server.listener import bind
from agentsvc_nb.service.server.sockets import (
    ALONE_SECONDS,
    AT_LEAST,
    KNOWN_MAX,
    TURN_SECONDS,
    Callers,
    FairSelector,
    Owner,
    Reception,
)

MANY: Final = 100
RESET: Final = struct.pack("ii", 1, 0)


def head(key: str) -> bytes:
    return f"GET / HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {key}\r\n\r\n".encode()


def knowing(*keys: str) -> Callers:
    """Callers of one account that have shown these keys."""
    callers = Callers()
    for key in keys:
        callers.learn([(b"x-api-key", key.encode())], -1, ("account", key))
    return callers


@pytest.mark.parametrize(
    ("shown", "owner"),
    [
        (head("one"), ("account", "one")),
        (head(" one "), ("account", "one")),
        (head("unknown"), ("", "peer")),
        (head("one")[:-6], ("", "peer")),
        (b"GET / HTTP/1.1\r\n\r\n", ("", "peer")),
        (b" ", ("", "peer")),
    ],
)
def test_a_request_is_of_whoever_has_shown_its_key_before(shown: bytes, owner: tuple[str, str]) -> None:
    assert knowing("one").of_head(shown, "peer") == owner


def test_so_many_keys_are_remembered_the_last_ones() -> None:
    callers = knowing("first", *(str(number) for number in range(KNOWN_MAX)))
    assert callers.of_head(head("first"), "")[0] == ""
    assert callers.of_head(head(str(KNOWN_MAX - 1)), "")[0] == "account"


@contextlib.contextmanager
def pairs(count: int) -> Iterator[list[socket.socket]]:
    """Sockets that are ready to be read."""
    with contextlib.ExitStack() as stack:
        ready = []
        for _ in range(count):
            one, other = (stack.enter_context(each) for each in socket.socketpair())
            other.send(b"x")
            ready.append(one)
        yield ready


def test_a_turn_has_a_few_of_those_that_are_ready_of_each_caller() -> None:
    """With 2,000 streams opened at once, another caller's read took 1.9 s."""
    owners: dict[int, Owner] = {}
    clock = itertools.count(step=100 * TURN_SECONDS).__next__
    with pairs(MANY + 2) as (*many, one, internal), FairSelector(owners, clock) as selector:
        owners |= {each.fileno(): ("account", "many") for each in many}
        owners[one.fileno()] = ("account", "one")
        for each in (*many, one, internal):
            selector.register(each, selectors.EVENT_READ)
        for _ in range(MANY):  # so that what a connection takes is known to be long
            told = [key.fileobj for key, _ in selector.select()]
            assert one in told
            assert internal in told
        assert len(told) == AT_LEAST + 1
        assert selector.leaves_some


def test_a_callers_own_requests_share_longer_turns_than_those_of_several() -> None:
    """What is written in a turn is one transaction: parting the starts of one caller made them dearer."""
    for others, whole in ((0, True), (1, False)):
        owners: dict[int, Owner] = {}
        seconds = (ALONE_SECONDS - TURN_SECONDS) / MANY
        clock = itertools.count(step=MANY * seconds).__next__
        with pairs(MANY) as many, FairSelector(owners, clock) as selector:
            for at, each in enumerate(many):
                owners[each.fileno()] = ("account", "another" if at < others else "one")
                selector.register(each, selectors.EVENT_READ)
            selector.select()
            selector.select()
            assert selector.leaves_some is not whole


def test_all_that_are_ready_are_told_while_there_is_time() -> None:
    with pairs(MANY) as many, FairSelector({each.fileno(): ("", "") for each in many}, lambda: 0.0) as selector:
        for each in many:
            selector.register(each, selectors.EVENT_READ)
        for _ in range(MANY):
            told = selector.select()
        assert len(told) == MANY
        assert not selector.leaves_some


class Connected(asyncio.Protocol):
    """Notes whose connections are made, in order."""

    order: list[str]
    done: asyncio.Event

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.transport.close()
        key = data.split(b"Key: ")[-1].split(b"\r\n")[0].decode()
        self.order.append(key)
        if key == "last":
            self.done.set()


def received(keys: list[str], *, most: int = 4 * MANY, reset: str = "") -> list[str]:
    """Whose connections were read, in order, when they came at once; those of `reset` were reset by then."""

    async def receive() -> list[str]:
        Connected.order, Connected.done = [], asyncio.Event()
        for each in opened:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        for key, each in zip(keys, opened, strict=True):
            if key == reset:
                each.close()
        selector = FairSelector({}, lambda: 0.0)
        reception = Reception(listening, Connected, knowing("many", "one", "last"), selector, most)
        async with asyncio.timeout(30):
            await Connected.done.wait()
        reception.close()
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})
        await asyncio.sleep(0.01)  # for the ends of transports
        return Connected.order

    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(bind("127.0.0.1", 0))
        opened = [stack.enter_context(socket.create_connection(listening.getsockname())) for _ in keys]
        for key, each in zip(keys, opened, strict=True):
            each.sendall(head(key))
        return asyncio.run(receive())


def test_of_many_new_connections_each_callers_are_connected_in_turn() -> None:
    order = received(["many"] * MANY + ["last"])
    assert order.index("last") < MANY / 2


def test_who_has_shown_no_key_comes_in_turn_with_callers() -> None:
    assert received([f"unknown {number}" for number in range(MANY)] + ["last"]).index("last") < MANY / 2


def test_what_was_reset_is_not_connected() -> None:
    """33,000 connections a second that were reset at once were each made, read and answered."""
    order = received(["gone"] * MANY + ["one"] * 3 + ["last"], reset="gone")
    assert "gone" not in order
    assert order.count("one") == 3


def test_where_too_many_wait_those_of_whoever_has_most_are_closed() -> None:
    order = received(["many"] * MANY + ["one", "last"], most=10)
    assert set(order) >= {"one", "last"}
    assert order.count("many") < MANY
