"""The decoder beside the HTML standard's own algorithm (9.2.6), written down as it reads there, on any bytes."""

from __future__ import annotations

import re
import tracemalloc
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.sse import EventDecoder
from agentsvc_nb.wire.limits import EVENT_MAX_BYTES, MIB


class Seen(NamedTuple):
    """What a page's script would see of a stream, and the reconnection time in ms."""

    events: list[tuple[str, str, str]]
    retry: int | None


class Standard:
    """A whole stream interpreted line by line: the text of the standard, step for step."""

    def __init__(self, stream: bytes) -> None:
        self.events: list[tuple[str, str, str]] = []
        self.retry: int | None = None
        self._data = self._type = self._id = ""
        *lines, _unfinished = re.split("\r\n|\n|\r", stream.decode("utf-8", "replace").removeprefix("\ufeff"))
        for line in lines:
            self._interpret(line)

    def _interpret(self, line: str) -> None:
        if line == "":
            self._dispatch()
        elif line.startswith(":"):
            pass  # a comment
        elif ":" in line:
            name, value = line.split(":", 1)
            self._process(name, value[1:] if value.startswith(" ") else value)
        else:
            self._process(line, "")

    def _process(self, name: str, value: str) -> None:
        if name == "event":
            self._type = value
        elif name == "data":
            self._data += value + "\n"
        elif name == "id":
            self._id = self._id if "\0" in value else value
        elif name == "retry" and re.fullmatch("[0-9]+", value):
            self.retry = int(value)

    def _dispatch(self) -> None:
        if self._data:
            self.events.append((self._type or "message", self._data[:-1], self._id))
        self._data = self._type = ""


def standard(stream: bytes) -> Seen:
    read = Standard(stream)
    return Seen(read.events, read.retry)


def ours(*chunks: bytes) -> Seen:
    decoder = EventDecoder()
    frames = [frame for chunk in chunks for frame in decoder.feed(chunk)]
    seen = [(frame.event, frame.data.decode("utf-8", "replace"), frame.id) for frame in frames]
    return Seen(seen, None if decoder.retry_seconds is None else round(decoder.retry_seconds * 1000))


PIECES = [b"data", b"id", b"event", b"retry", b":", b": ", b" ", b"\n", b"\n\n", b"\r", b"\r\n", b"\r\n\r\n"]
ODD = [b"\0", b"\xef\xbb\xbf", b"\xef\xbb", b"\xff", b"\xc3", "é".encode(), "\u2028".encode(), b"\x85", b"\t", b"-"]
LINES = [b"data: a\n", b"data:b\r", b"id: 7\r\n", b"id\n", b"event: t\n", b": ping\n", b"retry: 15\n", b"DATA: x\n"]
USUAL = [b"id: 7\nevent: t\ndata: a\n\n", b"id: \nevent:  u\ndata: \n\n", b"id: 8\nevent: t\ndata: b\ndata: c\n\n"]
STREAM = st.lists(st.sampled_from([*PIECES, *ODD, *LINES, *USUAL, *USUAL, b"0", b"7", b"x"]), max_size=60).map(b"".join)


@given(STREAM, st.lists(st.integers(0, 400), max_size=20))
@example(b"\xef\xbb\xbf\xef\xbb\xbfdata: x\n\n", [1, 2, 3])
@example(b"id: 1\nevent: only\n\ndata: a\r\r\n\n", [])
@example(b"data: a\n\nid: 2\ndata: cut", [])
def test_any_bytes_in_any_chunks_read_as_the_standard_says(stream: bytes, cuts: list[int]) -> None:
    places = sorted({0, len(stream), *(min(cut, len(stream)) for cut in cuts)})
    chunks = [stream[start:end] for start, end in pairwise(places)]
    expected = standard(stream)
    if expected.retry is None or expected.retry < 10**9:  # beyond it the client keeps its own pause
        assert ours(*chunks) == expected
    assert ours(*chunks).events == expected.events


@given(STREAM)
def test_byte_by_byte_reads_as_the_standard_says(stream: bytes) -> None:
    assert ours(*(bytes([byte]) for byte in stream)).events == standard(stream).events


@given(STREAM.filter(bool))
def test_what_a_cut_leaves_unfinished_is_never_delivered(stream: bytes) -> None:
    """Every beginning of a stream gives a beginning of its events."""
    whole = standard(stream).events
    for cut in range(len(stream)):
        got = ours(stream[:cut]).events
        assert got == whole[: len(got)]


@pytest.mark.parametrize("line", [b"data: ", b"event: ", b"id: ", b": ", b"unknown: ", b""])
def test_an_endless_line_is_refused_before_it_fills_the_memory(line: bytes) -> None:
    decoder, size = EventDecoder(), 64 * 1024
    tracemalloc.start()
    try:
        decoder.feed(line)
        with pytest.raises(StefanBrainError, match=f"more than {EVENT_MAX_BYTES} bytes"):
            any(decoder.feed(b"x" * size) for _ in range(2 * EVENT_MAX_BYTES // size))
        assert tracemalloc.get_traced_memory()[1] < EVENT_MAX_BYTES + MIB
    finally:
        tracemalloc.stop()


def test_a_line_just_within_the_limit_is_read() -> None:
    decoder = EventDecoder()
    text = b"x" * (EVENT_MAX_BYTES - len("data: "))
    assert decoder.feed(b"data: " + text) == []
    assert [frame.data for frame in decoder.feed(b"\n\n")] == [text]
