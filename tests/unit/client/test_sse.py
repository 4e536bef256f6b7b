"""The client reads event streams as the HTML standard (9.2.6) says, whatever they are written like and however cut."""

from __future__ import annotations

import json
import re
import tracemalloc
from itertools import pairwise
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsvc_nb import AgentService
from agentsvc_nb.wire.limits import EVENT_MAX_BYTES, MIB
from tests.unit.client.conftest import HOST, KEY, RUN_ID, Networks, answer, run
from tests.unit.client.streams import events, sse

ENDS = ("\n", "\r", "\r\n")
NOISE = [": ping", ":", "news: x", "data2: {}", "retry: 5", "id", "id: x\0", "event", "nothing", "DATA: x"]
TEXT = st.text(st.characters(exclude_categories=()), max_size=5)
VALUE = st.none() | st.integers(10**17, 10**40) | st.floats() | TEXT | st.lists(TEXT, max_size=2)


class Standard:
    """Interpret a whole stream line by line: the text of the standard, step for step."""

    def __init__(self, stream: bytes) -> None:
        self.events: list[str] = []
        self._data = ""
        *lines, _unfinished = re.split("\r\n|\n|\r", stream.decode("utf-8", "replace").removeprefix("\ufeff"))
        for line in lines:
            if line == "":
                if self._data:
                    self.events.append(self._data[:-1])
                self._data = ""
            elif not line.startswith(":"):
                name, _, value = line.partition(":")
                if name == "data":
                    self._data += value.removeprefix(" ") + "\n"


@st.composite
def written(draw: st.DrawFn) -> tuple[list[dict[str, Any]], bytes]:
    """Draw events of a run, and one of the many ways to write them as a stream."""
    made = [
        {"id": number, "type": "new.type", "created_at": "", "payload": {"value": draw(VALUE)}}
        for number in range(1, draw(st.integers(1, 4)))
    ]
    made.append(events(len(made) + 1)[-1])
    text = draw(st.sampled_from(["", "\ufeff"]))
    for event in made:
        blank, end = draw(st.sampled_from([" ", ""])), draw(st.sampled_from(ENDS))
        data = json.dumps(event, indent=draw(st.sampled_from([None, 1])), ensure_ascii=draw(st.booleans()))
        # A raw line or paragraph separator ends no line; a lone surrogate has no UTF-8, so it stays escaped.
        data = data.encode("utf-8", "replace").decode()
        lines = [f"data:{blank}{line}" for line in data.split("\n")]
        noise = draw(st.lists(st.sampled_from(NOISE), max_size=2))
        lines[0:0] = [f"id:{blank}{event['id']}", f"event: {event['type']}", *noise]
        text += "".join(line + end for line in lines) + end
        text += draw(st.sampled_from(["", end, f": ping{end}{end}", f"event: empty{end}{end}"]))
    return made, text.encode()


def read(*answers: httpx.Response) -> tuple[list[Any], list[httpx.Request]]:
    """Follow a run whose streams are these; return its events and the requests that were sent."""
    replies, seen = iter([answer(200, run()), *answers]), list[httpx.Request]()

    def reply(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return next(replies)

    client = AgentService(KEY, HOST, transport=httpx.MockTransport(reply))
    return list(client.runs.attach(RUN_ID)), seen


@pytest.mark.rule("The client reads event streams as the HTML standard says.")
@settings(max_examples=50)
@given(written(), st.lists(st.integers(0, 900), max_size=12))
def test_any_bytes_in_any_chunks_read_as_the_standard_says(
    made: tuple[list[dict[str, Any]], bytes], cuts: list[int]
) -> None:
    _, text = made
    expected = [json.loads(data) for data in Standard(text).events]
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    got, _ = read(sse(*(text[start:end] for start, end in pairwise(places))))
    assert [(event.id, event.type) for event in got] == [(each["id"], each["type"]) for each in expected]
    # As text, because NaN does not equal itself.
    values = [each["payload"].get("value") for each in expected]
    assert repr([event.payload.get("value") for event in got]) == repr(values)


@pytest.mark.parametrize("begin", [b"data: ", b": ", b""], ids=["line", "comment", "event"])
def test_an_endless_line_is_refused_before_it_fills_the_memory(begin: bytes, network: Networks) -> None:
    piece = b"x" * 8_192 if begin else b"data: " + b"x" * 8_192 + b"\n"
    net = network(answer(200, run()), sse(begin, *[piece] * (2 * EVENT_MAX_BYTES // len(piece))))
    tracemalloc.start()
    try:
        error = net.error(lambda client: client.runs.attach(RUN_ID), max_retries=0)
        assert tracemalloc.get_traced_memory()[1] < EVENT_MAX_BYTES + 4 * MIB
    finally:
        tracemalloc.stop()
    assert str(EVENT_MAX_BYTES) in str(error)
