"""Values that cannot be sent: the client refuses each with an error of one line, before it sends anything."""

from __future__ import annotations

import math
import operator
from datetime import UTC, datetime
from functools import reduce
from typing import Any

import httpx
import pytest

from tests.unit.client.conftest import RUN_ID, Call, Networks

NAN = math.nan
ITSELF: dict[str, Any] = {}
ITSELF["a"] = ITSELF
DEEP: list[Any] = reduce(lambda inner, _: [inner], range(100_000), list[Any]())
NO_JSON: list[Call] = [
    lambda c: c.tools.invoke("x", {"a": NAN}),
    lambda c: c.tools.invoke("x", {"a": datetime.now(UTC)}),
    lambda c: c.jobs.submit("x", {(1, 2): 3}),
    lambda c: c.tools.invoke("x", ITSELF),
    lambda c: c.tools.invoke("x", {"a": DEEP}),
    lambda c: c.runs.start("a\ud800"),
    lambda c: c.runs.start("a", extra_body={"a": NAN}),
]
BY_ID = (
    *("runs.get", "runs.wait", "runs.cancel", "runs.attach", "runs.events", "runs.tables"),
    *("tools.describe", "chats.retire", "feedback.get", "media.get", "labels.get", "files.list"),
)
OTHERS: list[Call] = [
    *(lambda c, name=name: operator.attrgetter(name)(c)(None) for name in BY_ID),
    lambda c: c.files.search("x", chat=None),
    lambda c: c.jobs.wait("j", chat="c", poll=-1),
    lambda c: c.runs.get(""),
    lambda c: c.runs.get(5),
    lambda c: c.runs.get("\ud800"),
    lambda c: c.files.head("a", 0, chat="chat_1"),
    lambda c: c.files.upload("a\0"),
    lambda c: c.files.download("a", chat="c", to=5),
    lambda c: c.runs.start(None),
    lambda c: c.runs.start("x", files="plan.pdf"),
    lambda c: c.runs.start("x", client_tools=len),
    lambda c: c.runs.events(RUN_ID, after="x"),
    lambda c: c.runs.get(RUN_ID, timeout=httpx.Timeout(5)),
    lambda c: c.runs.get(RUN_ID, deadline=NAN),
    lambda c: c.runs.get(RUN_ID, max_retries=-1),
    lambda c: c.runs.get(RUN_ID, headers={"x y": "1"}),
    *(
        lambda c, name=name: c.runs.get(RUN_ID, headers={name: "x"})
        for name in ("Authorization", "x-api-key", "Cookie")
    ),
    lambda c: c.with_options(on_retry=3),
]


def test_a_value_that_json_does_not_have_is_refused(network: Networks) -> None:
    for call in NO_JSON:
        net = network()
        error = net.error(call)
        assert (error.code, error.method, net.requests) == ("invalid_json", "POST", [])
        assert "\n" not in error.message


@pytest.mark.parametrize("case", range(len(OTHERS)))
def test_a_value_that_cannot_be_sent_is_refused_before_anything_is(network: Networks, case: int) -> None:
    net = network()
    assert "\n" not in net.error(OTHERS[case]).message
    assert net.requests == []
