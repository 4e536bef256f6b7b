"""Frozen blocks plus the open tail are the whole text, and read the same, wherever the stream is cut."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsvc_nb.notebook.display.markdown import settled, to_html

LINES = [
    *("", "plain *words* and `code`", "# heading", "===", "---", "- item", "  continued", "    indented", "1. one"),
    *("> quoted", "```", "```python", "~~~", "| a | b |", "|---|---|", "| 1 | 2 |", "#hashtag", "\tx", "<div>", "***"),
    *("$$", "$$ x = 1", "x_1 + 2 $$", "  \\[", "\\] ", "> $$", r"of \(a*b*c\) and $5"),
]
TEXTS = st.lists(st.sampled_from(LINES), max_size=25).map("\n".join)


def _stream(text: str, cuts: list[int]) -> list[str]:
    """Feed the text in pieces and freeze what settles, as the live screen does."""
    pieces, start = [], 0
    for end in [*sorted(cut % (len(text) + 1) for cut in cuts), len(text)]:
        if done := settled(text[start : max(end, start)]):
            pieces.append(text[start : start + done])
            start += done
    return [*pieces, text[start:]]


@settings(max_examples=60)
@given(TEXTS, st.lists(st.integers(0, 2000), max_size=12))
def test_nothing_is_lost_or_doubled_and_pieces_read_like_the_whole(text: str, cuts: list[int]) -> None:
    pieces = _stream(text, cuts)
    assert text == "".join(pieces)
    whole, joined = to_html(text), "\n".join(to_html(piece) for piece in pieces)
    assert re.sub(r"\s+", " ", whole).strip() == re.sub(r"\s+", " ", joined).strip()


@pytest.mark.parametrize(
    ("text", "frozen"),
    [
        ("one\n\n", ""),
        ("one\n\ntwo\n", "one\n\n"),
        ("para\n#", ""),
        ("```\ncode\n\nmore\n", ""),
        ("```\ncode\n```\nafter\n", "```\ncode\n```\n"),
        ("- a\n\n- b\n\n", ""),
        ("- a\n\n- b\n\npara\n", "- a\n\n- b\n\n"),
        ("a\r\n\r\nb\r\n", "a\r\n\r\n"),
        ("$$\na = b\n# c\n", ""),
        ("| a |\n|---|\n| 1 |\n\nx\n", "| a |\n|---|\n| 1 |\n\n"),
    ],
)
def test_a_block_settles_when_the_next_one_has_begun_on_a_whole_line(text: str, frozen: str) -> None:
    assert frozen == text[: settled(text)]
