"""The rows that a question means by naming values of text columns."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.service.rules.tables import Table
from agentsvc_nb.service.work.agents.offline.columns import parts
from agentsvc_nb.service.work.agents.offline.words import STOP, stem, stems

_VALUE_CHARS: Final = 60


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on a column, as shown, and the rows (indices from 0) that meet it."""

    column: int
    shown: str
    rows: frozenset[int]
    values: int = 1
    """How many values were named: `tents and bags` are compared."""
    unknown: frozenset[int] = frozenset()
    """Rows of which it can't be said, since they hold no number."""


def named_values(table: Table, question: str, but: Collection[int]) -> list[Filter]:
    """Conditions that the question makes by naming values of text columns: `where category is Tents`, or `of tents`."""
    asked, lowered = stems(question), question.lower()
    found = (_named(table, index, asked, lowered) for index in range(len(table.columns)) if index not in table.numbers)
    return [one for one in found if one is not None and one.column not in but]


def _named(table: Table, column: int, asked: list[str], lowered: str) -> Filter | None:
    cells = table.cells(column)
    title = {stem(part) for part in parts(table.columns[column])}
    texts = {cell for cell in cells if cell and len(cell) <= _VALUE_CHARS}
    # Most cells of a large table are refused by their first letters, which is quicker than to fold them.
    texts = {cell for cell in texts if not cell.isascii() or cell[:3].lower() in lowered}
    named = [text for text in texts if _mentions(asked, stems(text), title)]
    longest = max((len(stems(text)) for text in named), default=0)
    values = sorted(text for text in named if len(stems(text)) == longest)
    if not values or len(values) == len(set(cells)) > 1:
        return None
    rows = frozenset(row for row, cell in enumerate(cells) if cell in values)
    listed = ", ".join(f'"{value}"' for value in values)
    return Filter(column, f"{table.columns[column]} {'=' if len(values) == 1 else 'in'} {listed}", rows, len(values))


def _mentions(asked: list[str], value: list[str], title: Collection[str]) -> bool:
    meaning = [word for word in value if word not in title and word not in STOP and (len(word) > 1 or word.isdigit())]
    size = len(value)
    return bool(meaning) and any(asked[at : at + size] == value for at in range(len(asked) - size + 1))
