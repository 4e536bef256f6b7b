"""What a calculation is grouped by, and how many groups or rows are wanted."""

from __future__ import annotations

from agentsvc_nb.service.rules.tables import Table
from agentsvc_nb.service.work.agents.offline import operations as ops
from agentsvc_nb.service.work.agents.offline.columns import likest
from agentsvc_nb.service.work.agents.offline.measures import Measure
from agentsvc_nb.service.work.agents.offline.words import stem


def first(folded: str) -> int:
    found = ops.TOP.search(folded)
    return int(next(part for part in found.groups() if part)) if found else 0


def group(table: Table, folded: str) -> int | None:
    """The column after `per`, `by` or `for each`, unless it is one of numbers."""
    for found in ops.GROUP.finditer(folded):
        column = _like(table, found[1])
        if column is not None and column not in table.numbers:
            return column
    return None


def repeated(table: Table, folded: str, measured: Measure) -> int | None:
    """`Which channel has the highest revenue?` asks for totals when a channel has several rows."""
    found = ops.WHICH.search(folded) or ops.LEADERS.search(folded)
    column = _like(table, found[1]) if found else None
    if column is None or column in table.numbers or column == measured.column:
        return None
    return column if repeats(table, column) else None


def repeats(table: Table, column: int) -> bool:
    cells = [cell for cell in table.cells(column) if cell]
    return len(set(cells)) < len(cells)


def _like(table: Table, words: str) -> int | None:
    """The column that the first of the words name."""
    asked = [stem(word) for word in words.split()]
    tries = (likest(table, set(asked[:count]), range(len(table.columns))) for count in range(1, len(asked) + 1))
    return next((found[0] for found in tries if found), None)
