"""What an answer looks like: numbers, tables, tasks, kinds of files, and prices as people read them."""

from __future__ import annotations

import re

import pytest

from agentsvc_nb.client import cards
from agentsvc_nb.notebook.display.render import price
from agentsvc_nb.notebook.display.results import grid
from agentsvc_nb.wire.text import is_number


def test_amounts_are_numbers_and_other_texts_are_not() -> None:
    amounts = ["5", "-3.5", "1,234.50 €", "$ 12", "12 %", "48 kB", "0.42 cents", "1 234,5", "1'000"]
    assert [text for text in amounts if not is_number(text)] == []
    others = ["", "12 March", "2026-11-21", "v1.2", "A4", "1 of 2", "5" * 50, "€"]
    assert [text for text in others if is_number(text)] == []


def test_numbers_have_separators_and_years_and_ids_have_none() -> None:
    names = ["views", "share", "orderId", "since", "year of birth", "paid"]
    rows: list[list[object]] = [
        [1234567, 1234.5, 1234567, 2019, 1890, True],
        [None, 0.1 + 0.2, 7654321, 2024, 1910, False],
    ]
    records = [dict(zip(names, row, strict=True)) for row in rows]
    for bundle in (grid("t", names, rows), cards.table("t", names, records, 2)):
        head, first, second = (re.split(r"\s{2,}", line.strip()) for line in bundle["text/plain"].splitlines()[1:])
        assert head == names
        assert first == ["1,234,567", "1,234.5", "1234567", "2019", "1890", "True"]
        assert second == ["0.3", "7654321", "2024", "1910", "False"]
        cells = bundle["text/html"].rpartition("<thead>")[2].split("text-align:")[1:]
        sides = [cell.partition(";")[0] for cell in cells]
        assert sides == ["right", "right", "right", "right", "right", "left"] * 3


@pytest.mark.parametrize(
    ("model", "own", "said"),
    [("offline", True, "free"), ("offline", False, "0.06 cents"), ("openai:x", True, "0.06 cents")],
)
def test_what_nobody_is_charged_for_is_free(model: str | None, own: bool, said: str) -> None:
    assert price(60_000, model, own) == said
