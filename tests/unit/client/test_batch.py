"""`map` over scripted answers: repeats, midnight, how many rows at once, and interrupts."""

from __future__ import annotations

from datetime import date
from typing import Any

import httpx
import pandas as pd

from tests.unit.client.conftest import Network, Networks, answer, run

ONE = pd.DataFrame({"text": ["a"]})


def ended(text: str) -> httpx.Response:
    return answer(200, run("completed", output=text, started_at=None))


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
