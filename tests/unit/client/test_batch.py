"""`map` over scripted answers: repeats, midnight, how many rows at once, and interrupts."""

from __future__ import annotations

import _thread
import random
import threading
from datetime import date
from typing import Any

import httpx
import pandas as pd
import pytest

from agentsvc_nb import AgentService, MapStopped
from tests.unit.client.conftest import KEY, Network, Networks, answer, failure, run

ONE = pd.DataFrame({"text": ["a"]})


def ended(text: str) -> httpx.Response:
    return answer(200, run("completed", output=text, started_at=None))


def test_a_start_is_repeated_with_its_key(network: Networks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "random", lambda: 0.0)  # at once: this clock stands still
    net = network(httpx.ReadError("cut"), failure("runtime_timeout", 503), ended("yes"))
    out = net.client.map(ONE, "{{text}}")
    assert out.answer.tolist() == ["yes"]
    assert len({request.headers["idempotency-key"] for request in net.requests}) == 1


def new_day_after_a_request(net: Network) -> None:
    answered = net.transport.handler

    def answer_at_midnight(request: httpx.Request) -> Any:
        net.clock.day = date(2026, 3, 2)
        return answered(request)

    net.transport.handler = answer_at_midnight


def test_what_may_have_begun_is_not_sent_again_after_midnight(network: Networks) -> None:
    net = network(httpx.ReadError("cut"), ended("of the day after"))
    new_day_after_a_request(net)
    out = net.client.map(ONE, "{{text}}")
    assert len(net.requests) == 1
    assert "cut" in out.error[0]


def test_what_was_refused_as_too_much_is_sent_again_on_any_day(network: Networks) -> None:
    net = network(failure("request_per_minute", 429, retry_after="0"), ended("yes"))
    new_day_after_a_request(net)
    assert net.client.map(ONE, "{{text}}").answer.tolist() == ["yes"]


def test_an_interrupt_ends_a_map_at_once_and_keeps_what_is_there() -> None:
    release = threading.Event()

    def handler(request: httpx.Request) -> httpx.Response:
        if b"first" in request.content:
            return ended("yes")
        _thread.interrupt_main()
        release.wait(60)
        return ended("late")

    client = AgentService(KEY, transport=httpx.MockTransport(handler))
    rows = pd.DataFrame({"text": ["first", "second"]})
    with pytest.raises(MapStopped, match="1 of 2 rows") as caught:
        client.map(rows, "{{text}}", max_concurrency=1)
    partial: Any = caught.value.partial
    assert partial.answer.tolist()[0] == "yes"
    release.set()
