"""A number asked of a table: which calculation the question means (contract §9).

It reads no language, only words it knows: an operation, a column, perhaps a grouping column, values and limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentsvc_nb.service.rules.search import tokens
from agentsvc_nb.service.work.agents.offline import operations as ops
from agentsvc_nb.service.work.agents.offline.columns import Filter, best, compared, named_values
from agentsvc_nb.service.work.agents.offline.measures import Measure, measure, of_column
from agentsvc_nb.service.work.agents.offline.tables import Table
from agentsvc_nb.service.work.agents.offline.words import stem, stems


@dataclass(frozen=True)
class Plan:
    """One calculation on one table: `operation` over `rows` (indices from 0) of `measure`, or of the rows themselves.

    With `group` it is made for each value of that column. `extreme` (`min`, `max`) then asks for the first group;
    `first` is how many rows or groups are wanted, 0 for all. `fit` is how well the table suits the question.
    """

    table: Table
    operation: str
    rows: Sequence[int]
    measure: Measure | None = None
    filters: Sequence[Filter] = ()
    group: int | None = None
    distinct: int | None = None
    extreme: str = ""
    first: int = 0
    fit: float = 0.0


def plan(question: str, table: Table) -> Plan | None:
    """The calculation that the question asks of the table, or None when it asks none that can be understood."""
    folded = " ".join(tokens(question))
    named = [name for name, words in ops.OPERATIONS.items() if words.search(folded)]
    if "count" in named:
        return _count(question, folded, table)
    group = _group(table, folded)
    measured = measure(table, folded, group) if named else None
    return _reduction(question, folded, table, named, measured, group) if measured else None


def _reduction(
    question: str, folded: str, table: Table, named: list[str], measured: Measure, group: int | None
) -> Plan | None:
    extreme = next((name for name in named if name in ("min", "max")), "")
    plain = [name for name in named if name not in ("min", "max")]
    if extreme and group is None:
        group = _repeated(table, folded, measured)
    operation = extreme or plain[0]
    if extreme and group is not None:
        # A rate is not added up: the best channel by conversion rate is that of the best mean.
        operation = plain[0] if plain else "mean" if measured.numbers.unit == "%" else "sum"
    filters = _filters(table, question, measured, group)
    if group is None and not extreme:
        group = next((one.column for one in filters if one.values > 1), None)
    rows = [row for row in _rows(table, filters) if measured.numbers.values[row] is not None]
    return Plan(
        table, operation, rows, measured, filters, group,
        extreme=extreme if group is not None else "", first=_first(folded), fit=measured.fit,
    )  # fmt: skip


def _count(question: str, folded: str, table: Table) -> Plan | None:
    """`How many`: a quantity is added up; else the rows are counted, or the different values of a column."""
    found = ops.COUNTED.search(folded)
    subject = {stem(word) for word in ops.DISTINCT.sub(" ", found[1]).split()[:1]} if found else set()
    column = best(table, subject, range(len(table.columns)))
    measured = of_column(table, *column) if column and column[0] in table.numbers else None
    group = _group(table, folded)
    filters = _filters(table, question, measured or measure(table, folded, group), group)
    rows = _rows(table, filters)
    if measured:
        return Plan(table, "sum", rows, measured, filters, group, fit=measured.fit)
    if column and not filters and (ops.DISTINCT.search(folded) or _repeats(table, column[0])):
        return Plan(table, "count", rows, filters=filters, distinct=column[0], fit=column[1])
    titled = subject & {
        *stems(table.path.rsplit("/", 1)[-1]),
        *map(stem, ("rows", "lines", "zeilen", "lignes", "filas")),
    }
    if not (titled or column or filters):
        return None
    return Plan(table, "count", rows, filters=filters, group=group, fit=1.0 if titled else 0.6 if column else 0.3)


def _filters(table: Table, question: str, measured: Measure | None, group: int | None) -> list[Filter]:
    column = measured.column if measured else None
    named = named_values(table, question, {index for index in (column, group) if index is not None})
    limit = compared(table, question, column)
    return [*named, limit] if limit else named


def _rows(table: Table, filters: Sequence[Filter]) -> list[int]:
    return [row for row in range(len(table.rows)) if all(row in one.rows for one in filters)]


def _first(folded: str) -> int:
    found = ops.TOP.search(folded)
    return int(next(part for part in found.groups() if part)) if found else 0


def _group(table: Table, folded: str) -> int | None:
    """The column after `per`, `by` or `for each`, unless it is one of numbers."""
    for found in ops.GROUP.finditer(folded):
        column = _like(table, found[1])
        if column is not None and column not in table.numbers:
            return column
    return None


def _repeated(table: Table, folded: str, measured: Measure) -> int | None:
    """`Which channel has the highest revenue?` asks for totals when a channel has several rows."""
    found = ops.WHICH.search(folded)
    column = _like(table, found[1]) if found else None
    if column is None or column in table.numbers or column == measured.column:
        return None
    return column if _repeats(table, column) else None


def _repeats(table: Table, column: int) -> bool:
    cells = [cell for cell in table.cells(column) if cell]
    return len(set(cells)) < len(cells)


def _like(table: Table, words: str) -> int | None:
    found = best(table, {stem(word) for word in words.split()}, range(len(table.columns)))
    return found[0] if found else None
