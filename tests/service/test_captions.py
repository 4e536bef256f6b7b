"""Captions as they are found, and captions that mean harm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsvc_nb.documents import recordings
from agentsvc_nb.wire.limits import CAPTIONS_BYTES, CAPTIONS_SEGMENTS

CUE = "00:00:01,000 --> 00:00:02,000\n"


def texts(data: bytes | str) -> list[str]:
    found = recordings.read(data.encode() if isinstance(data, str) else data)
    return [segment.text for segment in found.segments]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (f"1\n{CUE}Hello\nthere\n\n2\n{CUE}you\n", ["Hello there", "you"]),
        (f"1\r\n{CUE.strip()}\r\nHello\r\n\r\n", ["Hello"]),
        ("WEBVTT\n\nNOTE not this\n\n00:01.000 --> 00:02.000\n<v Ann>Hi</v> <00:01.500>all\n", ["Hi all"]),
        ("WEBVTT\n\nSTYLE\n::cue { color: red }\n\nid\n01:00:01.000 --> 01:00:02.000 line:0\nx\n", ["x"]),
        (f"{CUE}{{\\an8}}a &lt;b&gt; &amp; c\n", ["a <b> & c"]),
        (f"{CUE}\n\n{CUE}only this\n", ["only this"]),
        ("00:00:03,000 --> 00:00:01,000\nbackwards\n\n" + CUE + "forwards\n", ["forwards"]),
        (f"{CUE}café".encode("cp1252"), ["café"]),
        (f"{CUE}Grüße".encode("utf-16"), ["Grüße"]),
        (f"\ufeff{CUE}Grüße".encode(), ["Grüße"]),
    ],
)
def test_reads(data: bytes | str, expected: list[str]) -> None:
    assert texts(data) == expected


def test_times_and_language() -> None:
    found = recordings.read(b"WEBVTT\nKind: captions\nLanguage: pt-BR\n\n01:02.5 --> 100:00:00.025\nOi\n")
    assert found.language == "pt-BR"
    assert (found.segments[0].start_s, found.segments[0].end_s) == (62.5, 360_000.025)
    assert recordings.read(f"WEBVTT\n\n{CUE}Language: de".encode()).language is None


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no captions"),
        (b"just text", "no captions"),
        (b"\x00\xff" * 1_000, "no captions"),
        (CUE.encode(), "no captions"),
        (b"x" * (CAPTIONS_BYTES + 1), "bytes"),
        ((CUE + "x\n\n").encode() * (CAPTIONS_SEGMENTS + 1), "segments"),
    ],
)
def test_refuses_in_a_sentence(data: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        recordings.read(data)


@pytest.mark.parametrize("filling", ["<", "{\\", "0:", "1:1:1.1 -->", "&", "\n", CUE])
def test_two_megabytes_of_anything_are_read_in_no_time(filling: str) -> None:
    """Backtracking without bound would not end within the test's time limit."""
    data = (CUE + "x\n\n" + CUE + filling * (CAPTIONS_BYTES // len(filling))).encode()[:CAPTIONS_BYTES]
    assert texts(data)[0] == "x"


@given(st.text(alphabet="0123456789:,.->\n <b>{}\\&;WEBVTT", max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = recordings.read(text.encode())
    except ValueError:
        return
    assert all(0 <= segment.start_s <= segment.end_s and segment.text for segment in found.segments)
