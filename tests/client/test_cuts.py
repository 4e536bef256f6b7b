"""A short stream that is cut at a hundred places: whole, doubled or out of order, all of it comes once and in order."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.client.events import Event, parse_event
from tests.client.conftest import KEY, RUN_ID
from tests.client.cutting import CuttingServer, events, frames
from tests.client.test_stream import read_async, read_sync, read_sync_within_a_loop

COUNT = 14
ORDERS = ("plain", "doubled", "disordered")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\nretry: 0\n\n"


class UntidyServer(CuttingServer):
    """Serves its events in an order of its own; the next stream ends after `percent` of its bytes, if that is set."""

    def __init__(self, order: str) -> None:
        super().__init__(COUNT)
        self.order, self.percent = order, 0

    def _stream(self, connection: socket.socket, after: int) -> None:
        body = frames(self._ordered(after))
        if self.percent:
            body = body[: len(body) * self.percent // 100]
            self.percent = 0
        connection.sendall(HEAD + body)

    def _ordered(self, after: int) -> list[dict[str, Any]]:
        """The events over `after`; doubled, also the three before, as by a service that is too careful."""
        if self.order == "doubled":
            return [event for event in self.events[max(0, after - 3) :] for _ in range(2)]
        *some, end = self.events[after:]
        if self.order == "disordered":
            random.Random(self.percent).shuffle(some)
        return [*some, end]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("read", [read_sync, read_sync_within_a_loop, read_async])
def test_a_stream_cut_anywhere_is_whole(read: Callable[..., tuple[list[Event], int]], order: str) -> None:
    expected = [parse_event(event) for event in events(COUNT)]
    with UntidyServer(order) as server:
        for percent in range(1, 101):
            server.percent = percent
            got, _ = read(server.base_url)
            assert got == expected, f"cut after {percent} % of its bytes"


def test_one_client_in_eight_threads_over_eighty_cuts() -> None:
    expected, got = list(range(1, 31)), list[Any]()

    def read() -> None:
        try:
            for _ in range(10):
                with client.runs.attach(RUN_ID) as stream:
                    got.append([event.id for event in stream])
                assert client.runs.get(RUN_ID).ended
        except BaseException as error:
            got.append(error)

    with CuttingServer(30, cuts=80, seed=2) as server, AgentService(KEY, server.base_url, max_retries=20) as client:
        client._core.rng = lambda: 0.0
        threads = [threading.Thread(target=read) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert server.cuts == 0
    assert got == [expected] * 80


@pytest.mark.parametrize("read", [read_sync, read_async])
def test_what_a_service_does_not_have_is_not_waited_for(read: Callable[..., tuple[list[Event], int]]) -> None:
    """Ids have no gaps; where a page has none either, the events that are there come all the same."""
    with UntidyServer("plain") as server:
        del server.events[3:6]
        got, _ = read(server.base_url)
        assert [event.id for event in got] == [1, 2, 3, 7, 8, 9, 10, 11, 12, 13, 14]
