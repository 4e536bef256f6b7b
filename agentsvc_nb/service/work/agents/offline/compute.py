"""A number asked of a table: which calculation the question means (contract §9).

It reads no language, only words it knows: an operation, a column, perhaps a grouping column, values and limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentsvc_nb.service.rules.search import tokens
from agentsvc_nb.service.work.agents.offline import operations as ops
from agentsvc_nb.service.work.agents.offline.columns import Filter, compared, likeness, likest, limited, named_values
from agentsvc_nb.service.work.agents.offline.leftovers import guessed, no_group, unknown_words, unused
from agentsvc_nb.service.work.agents.offline.markdown import escape
from agentsvc_nb.service.work.agents.offline.measures import Measure, measure, of_column
from agentsvc_nb.service.work.agents.offline.mentions import without_title
from agentsvc_nb.service.work.agents.offline.ratios import ratio
from agentsvc_nb.service.work.agents.offline.tables import Table
from agentsvc_nb.service.work.agents.offline.unclear import Unclear, no_column, several
from agentsvc_nb.service.work.agents.offline.words import stem, stems


@dataclass(frozen=True)
class Plan:
    """One calculation on one table: `operation` over `rows` (indices from 0) of `measure`, or of the rows themselves.

    With `group` it is made for each value of that column. `extreme` (`min`, `max`) then asks for the first group;
    `first` is how many rows or groups are wanted, 0 for all. `fit` is how well the table suits the question. `dropped`
    are the rows that meet the conditions but hold no number; `unused` are words that name a column and had no part.
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
    dropped: Sequence[int] = ()
    unused: Sequence[str] = ()
    guessed: Sequence[tuple[str, str]] = ()
    """Words that were taken for slips of the pen, each with the column that was read."""


def plan(question: str, table: Table, *, named: bool = False) -> Plan | Unclear | None:
    """The calculation that the question asks of the table, why there is none, or None when it asks for no calculation.

    The question comes without the names of files (`mentions`); `named` says that it named this table.
    """
    text = without_title(question, table)
    folded = " ".join(tokens(text))
    operations = [name for name, words in ops.OPERATIONS.items() if words.search(folded)]
    if not operations:
        return None
    made = _count(text, folded, table) if "count" in operations else _measured(text, folded, table, operations, named)
    if not isinstance(made, Plan):
        return made
    if refused := ops.NOT.search(folded):
        why = f"I can't leave out rows (“{escape(refused[0])}”): name those that are wanted."
        return Unclear(table, why, made.fit)
    idle = [] if made.group is not None or "count" in operations else _idle(folded, operations, made.operation)
    used = _used(made)
    return replace(made, unused=[*idle, *unused(table, text, used)], guessed=guessed(table, text, used))


def _idle(folded: str, operations: list[str], carried_out: str) -> list[str]:
    """The words of operations that were not carried out: `the highest average` of single rows is the highest."""
    found = (ops.OPERATIONS[name].search(folded) for name in operations if name not in (carried_out, "sum"))
    return [one[0] for one in found if one]


def _measured(text: str, folded: str, table: Table, operations: list[str], named: bool) -> Plan | Unclear | None:
    group = _group(table, folded)
    columns = [index for index in table.numbers if index != group]
    words = unknown_words(table, text)
    titled = named or bool(set(stems(table.path)) & set(stems(text)))
    measured = ratio(table, text) or measure(table, folded, columns, limited(table, text), alone=titled and not words)
    if measured is None:
        return no_column(table, " ".join(words)) if named and words else None
    if isinstance(measured, Unclear):
        return measured
    if group is None and not isinstance(measured, Unclear) and (lost := no_group(table, folded)):
        return no_column(table, lost, measured.fit)
    return _reduction(text, folded, table, operations, measured, group)


def _used(made: Plan) -> set[int]:
    """The columns that have a part in the result, with the one that names rows when rows are named."""
    columns = {*(made.measure.columns if made.measure else ()), *(one.column for one in made.filters)}
    named = made.table.label if made.operation in ("min", "max") and made.group is None else None
    return columns | {index for index in (made.group, made.distinct, named) if index is not None}


def _reduction(
    question: str, folded: str, table: Table, named: list[str], measured: Measure, group: int | None
) -> Plan | Unclear:
    extreme = next((name for name in named if name in ("min", "max")), "")
    plain = [name for name in named if name not in ("min", "max")]
    if extreme and group is None:
        group = _repeated(table, folded, measured)
    operation = extreme or plain[0]
    if extreme and group is not None:
        # A rate is not added up: the best channel by conversion rate is that of the best mean.
        operation = plain[0] if plain else "mean" if measured.rate or measured.numbers.unit == "%" else "sum"
    if measured.rate and operation == "sum":
        return Unclear(table, f"Values of {escape(measured.name)} do not add up: ask for their average.", measured.fit)
    filters = _filters(table, question, measured, group)
    if group is None and not extreme:
        group = next((one.column for one in filters if one.values > 1), None)
    fitting = _rows(table, filters)
    rows = [row for row in fitting if measured.numbers.values[row] is not None]
    dropped = [row for row in fitting if measured.numbers.values[row] is None]
    return Plan(
        table, operation, rows, measured, filters, group,
        extreme=extreme if group is not None else "", first=_first(folded), fit=measured.fit, dropped=dropped,
    )  # fmt: skip


def _count(question: str, folded: str, table: Table) -> Plan | Unclear | None:
    """`How many`: a quantity is added up; else the rows are counted, or the different values of a column."""
    found = ops.COUNTED.search(folded)
    subject = {stem(word) for word in ops.DISTINCT.sub(" ", found[1]).split()[:1]} if found else set()
    columns = likest(table, subject, range(len(table.columns)))
    columns = likest(table, set(stems(question)), columns) or columns
    if len(columns) > 1:
        return several(table, columns, 0.6)
    column = columns[0] if columns else None
    fit = likeness(table.columns[column], subject) if column is not None else 0.0
    measured = of_column(table, column, fit) if column is not None and column in table.numbers else None
    group = _group(table, folded)
    implied = measured or measure(table, folded, [*table.numbers], limited(table, question), alone=False)
    filters = _filters(table, question, implied if isinstance(implied, Measure) else None, group)
    rows = _rows(table, filters)
    if measured:
        held = [row for row in rows if measured.numbers.values[row] is not None]
        dropped = [row for row in rows if measured.numbers.values[row] is None]
        return Plan(table, "sum", held, measured, filters, group, fit=measured.fit, dropped=dropped)
    if column is not None and not filters and (ops.DISTINCT.search(folded) or _repeats(table, column)):
        return Plan(table, "count", rows, filters=filters, distinct=column, fit=fit)
    titled = subject & {
        *stems(table.path.rsplit("/", 1)[-1]),
        *map(stem, ("rows", "lines", "zeilen", "lignes", "filas")),
    }
    if not (titled or columns or filters):
        return None
    return Plan(table, "count", rows, filters=filters, group=group, fit=1.0 if titled else 0.6 if columns else 0.3)


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
    found = ops.WHICH.search(folded) or ops.LEADERS.search(folded)
    column = _like(table, found[1]) if found else None
    if column is None or column in table.numbers or column == measured.column:
        return None
    return column if _repeats(table, column) else None


def _repeats(table: Table, column: int) -> bool:
    cells = [cell for cell in table.cells(column) if cell]
    return len(set(cells)) < len(cells)


def _like(table: Table, words: str) -> int | None:
    """The column that the first of the words name."""
    asked = [stem(word) for word in words.split()]
    tries = (likest(table, set(asked[:count]), range(len(table.columns))) for count in range(1, len(asked) + 1))
    return next((found[0] for found in tries if found), None)
