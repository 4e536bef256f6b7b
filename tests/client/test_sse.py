"""The decoder against the standard, whatever the chunks."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.sse import EventDecoder, ServerSentEvent
from agentsvc_nb.client.streams import _event

CASES = {
    "plain": (b"data: a\n\n", [("message", b"a", "")]),
    "crlf": (b"event: t\r\ndata: a\r\n\r\n", [("t", b"a", "")]),
    "cr": (b"data: a\r\rdata: b\r\r", [("message", b"a", ""), ("message", b"b", "")]),
    "mixed ends": (b"data: a\r\n\rdata: b\n\r\n", [("message", b"a", ""), ("message", b"b", "")]),
    "bom": (b"\xef\xbb\xbfdata: a\n\n", [("message", b"a", "")]),
    "bom once": (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", [("message", b"b", "")]),
    "many lines": (b"data: a\ndata\ndata:b\n\n", [("message", b"a\n\nb", "")]),
    "one space goes": (b"data:  a\n\n", [("message", b" a", "")]),
    "colons stay": (b"data: a:b\n\n", [("message", b"a:b", "")]),
    "id stays": (b"id: 7\ndata: a\n\ndata: b\n\n", [("message", b"a", "7"), ("message", b"b", "7")]),
    "empty id clears": (b"id: 7\ndata: a\n\nid\ndata: b\n\n", [("message", b"a", "7"), ("message", b"b", "")]),
    "nul id ignored": (b"id: 7\ndata: a\n\nid: 8\x00\ndata: b\n\n", [("message", b"a", "7"), ("message", b"b", "7")]),
    "no data, no event": (b"event: t\nid: 1\n\ndata: a\n\n", [("message", b"a", "1")]),
    "event resets": (b"event: t\ndata: a\n\ndata: b\n\n", [("t", b"a", ""), ("message", b"b", "")]),
    "comment": (b": ping\n\ndata: a\n:x\n\n", [("message", b"a", "")]),
    "unknown field": (b"news: x\ndata: a\n\n", [("message", b"a", "")]),
    "empty data": (b"data\n\n", [("message", b"", "")]),
    "cut off": (b"data: a\n\ndata: b\n", [("message", b"a", "")]),
    "cut in line": (b"data: a\n\ndata: b", [("message", b"a", "")]),
    "bad utf-8": (b"event: \xff\ndata: \xff\n\n", [("\ufffd", b"\xff", "")]),
    "nothing": (b"", []),
}


def decode(*chunks: bytes) -> list[ServerSentEvent]:
    decoder = EventDecoder()
    return [frame for chunk in chunks for frame in decoder.feed(chunk)]


@pytest.mark.parametrize("name", CASES)
def test_conformance_at_every_split(name: str) -> None:
    text, frames = CASES[name]
    expected = [ServerSentEvent(*frame) for frame in frames]
    assert decode(text) == expected
    assert decode(*(bytes([byte]) for byte in text)) == expected
    for cut in range(len(text) + 1):
        assert decode(text[:cut], b"", text[cut:]) == expected


USUAL = b"id: 7\nevent: t\ndata: u\n"
LONG = b"id: 8\nevent: t\ndata: " + b"x" * 5_000 + b"\n"
LINE = st.sampled_from(
    [b"data: a", b"data:b", b"data", b"id: 1", b"id", b"event: t", b": c", b"", b"", b"retry: 9", b"\xef\xbb\xbf"]
) | st.sampled_from([USUAL, LONG])
STREAM = st.lists(st.tuples(LINE, st.sampled_from([b"\n", b"\r", b"\r\n"]))).map(
    lambda lines: b"".join(line + end for line, end in lines)
)


@given(STREAM, st.lists(st.integers(0, 200)))
def test_any_split_gives_the_same_events(text: bytes, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    assert decode(*(text[start:end] for start, end in pairwise(places))) == decode(text)


@given(st.lists(LINE).map(b"\n".join), st.lists(st.integers(0, 6_000)))
def test_what_is_matched_whole_is_what_its_lines_say(text: bytes, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    by_line = decode(text.replace(b"\n", b"\r\n"))
    assert decode(*(text[start:end] for start, end in pairwise(places))) == by_line


@pytest.mark.parametrize(
    "text", [b"data: " + b"x" * 101, b"data: x\n" * 51, b"x" * 101], ids=["line", "lines", "no colon"]
)
def test_an_endless_event_is_refused(text: bytes) -> None:
    with pytest.raises(StefanBrainError, match="more than 100 bytes"):
        EventDecoder(max_bytes=100).feed(text)
    decoder = EventDecoder(max_bytes=100)
    with pytest.raises(StefanBrainError, match="more than 100 bytes"):
        list(map(decoder.feed, (bytes([byte]) for byte in text)))


def test_many_events_are_no_endless_one() -> None:
    assert len(EventDecoder(max_bytes=100).feed(b"data: x\n\n" * 1_000)) == 1_000


@pytest.mark.parametrize(("line", "seconds"), [(b"retry: 1500", 1.5), (b"retry: x", None), (b"retry: -1", None)])
def test_retry(line: bytes, seconds: float | None) -> None:
    decoder = EventDecoder()
    decoder.feed(line + b"\n")
    assert decoder.retry_seconds == seconds


NUMBER = st.integers() | st.integers(10**17, 10**40) | st.floats()
TEXT = st.text(st.characters(exclude_categories=()))
VALUE = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT, lambda some: st.lists(some) | st.dictionaries(TEXT, some), max_leaves=8
)


@given(VALUE, st.booleans())
def test_an_event_holds_what_its_json_says(value: object, ascii_only: bool) -> None:
    event = {"id": 1, "type": "x", "created_at": "", "payload": {"value": value}}
    data = json.dumps(event, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    assert repr(_event(ServerSentEvent("x", data, "1")).payload) == repr(json.loads(json.dumps(event))["payload"])


def test_the_last_of_two_fields_of_one_name_counts() -> None:
    data = b'{"id":1,"type":"x","created_at":"","payload":{"a":1},"payload":{"a":2, "a":3}}'
    assert _event(ServerSentEvent("x", data, "1")).payload == {"a": 3}
