"""Each number of an answer is marked where it stands, and marks change nothing else."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsvc_nb.documents.markdown import to_html
from agentsvc_nb.wire.number_sources import describe, summary
from agentsvc_nb.wire.runs import AnswerBasis, AnswerNumber
from tests.support.numbers import ANSWER, COMPARE, basis

_MARK = re.compile(r'<span class="asvc-number[^"]*" tabindex="-1" title="([^"]*)">([^<]*)</span>')
_NUMBER = re.compile(r"[€$-]?\d(?:[\d.,]*\d)?(?: ?%)?")


def numbers_of(text: str) -> list[AnswerNumber]:
    """Return all numbers of a text; the source of each is its place."""
    return [
        AnswerNumber(
            start=found.start(),
            end=found.end(),
            text=found[0],
            status="traced",
            source=f"{found.start()} {found.end()}",
        )
        for found in _NUMBER.finditer(text)
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**€8.37**, *5* and ~~6~~ of [7 cats](http://x/8)", ["€8.37", "5", "6", "7"]),
        ("1. 1 cat\n2. 22\n   and 2\n\n> 5 in\n5 lines\n\n## 7 of 7 ##", ["1", "22", "2", "5", "5", "7", "7"]),
        ("| 1 | b |\n|---|---|\n| 1,234 | 234 |\n| `4` | 4 % |\n| a\\|5 | 5 |", ["1", "1,234", "234", "4 %"]),
        ("`5` 5\n\n```\n6\n```\n\n    7\n\n$$x = 8$$ and \\(9^2\\) 10", ["5", "10"]),
        ("![3 dogs](http://x/4) <http://y/5> &#54; \\$7 — `a.md`, page 8, line 9", ["7", "8", "9"]),
        ("- [ ] 5 tasks\r\n\x1b[31mand\u202e 6", ["5", "6"]),
    ],
)
def test_numbers_are_marked_where_they_stand_but_not_in_code_formulas_and_addresses(
    text: str, shown: list[str]
) -> None:
    found = _MARK.findall(to_html(text, known={"numbers": numbers_of(text)}))
    assert [unescape(number) for _, number in found] == shown


_PIECES = st.sampled_from(
    [
        *"**__``~~[]()|<>&\\$#->!\n\n\n  1234567890,.%€",
        "\n\n",
        "| 5 | 5 |\n|---|---|\n",
        "- ",
        "1. ",
        "$$",
        "```\n",
        "(http://x/5)",
    ]
)


@given(st.lists(_PIECES, max_size=60).map("".join))
def test_a_mark_changes_nothing_else_and_has_the_source_of_its_own_number(text: str) -> None:
    shown = to_html(text, known={"numbers": numbers_of(text)})
    assert _MARK.sub(r"\2", shown) == to_html(text)
    for place, number in _MARK.findall(shown):
        start, end = map(int, place.split())
        # Of a number behind a backslash only the digits are marked.
        assert unescape(number) in (text[start:end], text[start + 1 : end])


def test_a_number_that_is_not_at_its_place_is_not_marked() -> None:
    at = {"status": "traced", "source": "x"}
    wrong = [
        AnswerNumber(start=0, end=2, text="13", **at),
        AnswerNumber(start=-2, end=2, text="12", **at),
        AnswerNumber(start=0, end=2, text="12", status="guessed", source="x"),
    ]
    assert to_html("12", known={"numbers": wrong}) == to_html("12")


def test_a_number_whose_column_is_not_named_asks_to_compare_once() -> None:
    number = {"start": 0, "end": 2, "text": "12", "status": "traced", "strength": "row", "row": "A", "column": "b"}
    assert describe(AnswerNumber(**number)) == f"Found under A, column b. {COMPARE}"
    assert describe(AnswerNumber(**number, source="From `t`: A, b = 12")) == f"From `t`: A, b = 12. {COMPARE}"
    assert describe(AnswerNumber(**number, source=f"Found under A, column b. {COMPARE}")).count(COMPARE) == 1


def test_the_line_counts_every_number_with_a_source_as_traced() -> None:
    said = basis()
    assert summary(said) == "11 of 12 numbers traced, 1 not found."
    assert summary(said, named=True) == "11 of 12 numbers traced, 1 not found: €5."
    assert summary(AnswerBasis(basis="written", number_counts={"given": 1})) == "1 of 1 number traced."
    assert summary(AnswerBasis(basis="written")) == summary(None) == ""
    assert not re.search("verified|wrong|correct", " ".join(map(describe, said.numbers)))
    assert to_html(ANSWER, known={"numbers": said.numbers}).count('title="') == 12
