"""Work beside the caller: on threads, as tasks, and left behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import date

import httpx
import pandas as pd
import pytest

from agentsvc_nb.client.errors import APIConnectionError
from agentsvc_nb.client.transport.aio import AsyncIO, TaskPool
from agentsvc_nb.client.transport.http import SyncIO
from agentsvc_nb.client.transport.io import IO, ThreadPool, run_sync
from tests.client.conftest import Network, answer, failure, run
from tests.waiting import until

Networks = Callable[..., Network]


async def _doubled(number: int) -> int:
    return 2 * number


async def _broken() -> int:
    raise APIConnectionError("No.")


async def _asleep(io: IO, ended: Callable[[], None]) -> int:
    try:
        await io.sleep(3_600)
        return 1
    finally:
        ended()


def _ended_next(pool: ThreadPool[int]) -> int | None:
    return until(lambda: run_sync(pool.next(1)), lambda ended: ended is not None)


def test_threads_give_what_came_of_their_work() -> None:
    pool: ThreadPool[int] = ThreadPool(SyncIO())
    assert run_sync(pool.next(0)) is None
    for number in range(5):
        pool.start(_doubled(number))
    assert {_ended_next(pool) for _ in range(5)} == {0, 2, 4, 6, 8}
    pool.start(_broken())
    with pytest.raises(APIConnectionError):
        _ended_next(pool)


def test_threads_that_are_left_end_where_they_wait() -> None:
    pool: ThreadPool[int] = ThreadPool(SyncIO())
    over = threading.Event()
    pool.start(_asleep(pool.io, over.set))
    run_sync(pool.leave())
    assert over.wait(30)


def test_tasks_give_what_came_of_their_work_and_are_cancelled() -> None:
    async def cell() -> tuple[list[int | None], bool]:
        pool: TaskPool[int] = TaskPool(AsyncIO())
        assert await pool.next(0) is None
        for number in range(3):
            pool.start(_doubled(number))
        ended = [await pool.next(1) for _ in range(3)]
        over = asyncio.Event()
        pool.start(_asleep(pool.io, over.set))
        await asyncio.sleep(0)
        await pool.leave()
        return ended, over.is_set()

    assert asyncio.run(cell()) == ([0, 2, 4], True)


def _ended(text: str) -> httpx.Response:
    return answer(200, run("completed", output=text, started_at=None))


ONE = pd.DataFrame({"text": ["a"]})


def test_a_start_is_repeated_with_its_key(network: Networks) -> None:
    net = network(httpx.ReadError("cut"), failure("runtime_timeout", 503), _ended("yes"))
    net.core.rng = lambda: 0.0  # at once: this clock stands still
    out = net.client.map(ONE, "{{text}}")
    assert out.answer.tolist() == ["yes"]
    assert len({request.headers["idempotency-key"] for request in net.requests}) == 1
    assert net.bodies[0] == {"message": "a", "sync": True}


def _new_day_after_a_request(net: Network) -> None:
    net.io.today = lambda: date(2026, 3, 2) if net.requests else date(2026, 3, 1)  # type: ignore[method-assign]


def test_what_may_have_begun_is_not_sent_again_after_midnight(network: Networks) -> None:
    net = network(httpx.ReadError("cut"), _ended("of the day after"))
    _new_day_after_a_request(net)
    out = net.client.map(ONE, "{{text}}")
    assert len(net.requests) == 1
    assert out.error.tolist() == ["The service did not answer: cut."]


def test_what_was_refused_as_too_much_is_sent_again_on_any_day(network: Networks) -> None:
    net = network(failure("request_per_minute", 429, retry_after="0"), _ended("yes"))
    _new_day_after_a_request(net)
    assert net.client.map(ONE, "{{text}}").answer.tolist() == ["yes"]
