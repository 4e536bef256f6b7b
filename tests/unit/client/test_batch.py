"""`map` over a network of scripted answers: repeats, midnight, how many rows at once, and interrupts."""

from __future__ import annotations

import _thread
import random
import threading
import time
from collections.abc import Callable
from datetime import date
from typing import Any

import httpx
import pandas as pd
import pytest

from agentsvc_nb import AgentService, MapStopped
from agentsvc_nb.client.batch import AdaptiveLimit
from tests.unit.client.conftest import KEY, Network, answer, failure, run

Networks = Callable[..., Network]


def _ended(text: str) -> httpx.Response:
    return answer(200, run("completed", output=text, started_at=None))


ONE = pd.DataFrame({"text": ["a"]})


def test_a_start_is_repeated_with_its_key(network: Networks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "random", lambda: 0.0)  # at once: this clock stands still
    net = network(httpx.ReadError("cut"), failure("runtime_timeout", 503), _ended("yes"))
    out = net.client.map(ONE, "{{text}}")
    assert out.answer.tolist() == ["yes"]
    assert len({request.headers["idempotency-key"] for request in net.requests}) == 1
    assert net.bodies[0] == {"message": "a", "sync": True}


def _new_day_after_a_request(net: Network) -> None:
    answered = net.transport.handler

    def answer_at_midnight(request: httpx.Request) -> Any:
        net.clock.day = date(2026, 3, 2)
        return answered(request)

    net.transport.handler = answer_at_midnight


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


def _client(handler: Callable[[httpx.Request], httpx.Response]) -> AgentService:
    return AgentService(KEY, transport=httpx.MockTransport(handler))


ROWS = pd.DataFrame({"text": [f"t{number}" for number in range(40)]})


def test_a_full_service_has_fewer_rows_and_slowly_more_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AdaptiveLimit, "GROW_SECONDS", 0.2)
    lock, running, answered, refused = threading.Lock(), 0, 0, 0
    later: list[int] = []

    def handler(request: httpx.Request) -> httpx.Response:
        nonlocal running, answered, refused
        with lock:
            if running >= 2 and answered < 10:
                refused += 1
                return failure("runtime_capacity_busy", 429, retry_after="0")
            running += 1
            if answered >= 10:
                later.append(running)
        time.sleep(0.05)
        with lock:
            running, answered = running - 1, answered + 1
        return _ended("yes")

    with _client(handler) as client:
        out = client.map(ROWS, "{{text}}", max_concurrency=4)
    assert out.answer.tolist() == ["yes"] * len(ROWS)
    assert 2 <= refused < len(ROWS) / 2  # of the first four, and of those that tried whether there is more room
    assert max(later) > 2


def test_an_interrupt_ends_a_map_at_once() -> None:
    release = threading.Event()

    def handler(request: httpx.Request) -> httpx.Response:
        release.wait()
        return _ended("late")

    with _client(handler) as client:
        threading.Timer(0.2, _thread.interrupt_main).start()
        with pytest.raises(MapStopped, match="Stopped: 0 of 40 rows"):
            client.map(ROWS, "{{text}}")
        assert not release.is_set(), "it waited for the rows"
        release.set()


def test_a_version_of_files_takes_the_place_of_their_contents(network: Networks) -> None:
    net = network(*(_ended("yes") for _ in range(3)))
    for version in ("v1", "v1", "v2"):
        net.client.map(ONE, "{{text}}", files_from="chat_b", files_version=version)
    first, same, other = (request.headers["idempotency-key"] for request in net.requests)
    assert first == same != other
