"""`How many`: rows, different values, or a quantity that is added up; `which has the most`: rows by what they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentsvc_nb.service.rules.tables import Table
from agentsvc_nb.service.work.agents.offline import operations as ops
from agentsvc_nb.service.work.agents.offline.columns import addable, likeness, likest
from agentsvc_nb.service.work.agents.offline.conditions import filters, fitting, limited
from agentsvc_nb.service.work.agents.offline.grouping import first, group, is_row, repeats
from agentsvc_nb.service.work.agents.offline.measures import Measure, implied, measure, of_column
from agentsvc_nb.service.work.agents.offline.plans import Plan
from agentsvc_nb.service.work.agents.offline.unclear import Unclear, several
from agentsvc_nb.service.work.agents.offline.values import Filter
from agentsvc_nb.service.work.agents.offline.withheld import ambiguous
from agentsvc_nb.service.work.agents.offline.words import STOP, stem, stems


def count(question: str, folded: str, table: Table) -> Plan | Unclear | None:
    """`How many`: a quantity is added up; else the rows are counted, or the different values of a column."""
    found = ops.COUNTED.search(folded)
    counted = [word for word in ops.DISTINCT.sub(" ", found[1]).split() if word not in STOP] if found else []
    subject = {stem(word) for word in counted[:1]}
    columns = likest(table, subject, range(len(table.columns)))
    columns = likest(table, set(stems(question)), columns) or columns
    if len(columns) > 1:
        return several(table, columns, 0.6)
    column = columns[0] if columns else None
    fit = likeness(table.columns[column], subject) if column is not None else 0.0
    measured = of_column(table, column, fit) if column is not None and addable(table, column) else None
    if column is None and found:
        measured = implied(table, found[1])
    meant = measured or measure(table, folded, [*table.numbers], limited(table, question), alone=False)
    where = filters(table, question, meant if isinstance(meant, Measure) else None)
    made = Plan(table, "count", fitting(table, where), filters=where, group=group(table, folded), subject=column)
    return _quantity(made, measured) if measured else _rows_or_values(made, folded, counted, fit)


def _quantity(made: Plan, measured: Measure) -> Plan:
    held = [row for row in made.rows if measured.numbers.values[row] is not None]
    dropped = [row for row in made.rows if measured.numbers.values[row] is None]
    return replace(made, operation="sum", rows=held, measure=measured, fit=measured.fit, dropped=dropped)


def _rows_or_values(made: Plan, folded: str, counted: Sequence[str], fit: float) -> Plan | Unclear | None:
    column, different = made.subject, ops.DISTINCT.search(folded)
    titled = {stem(word) for word in counted[:1]} & _row_names(made.table)
    if column is not None and not ops.ROWS & set(counted) and (different or repeats(made.table, column)):
        values = replace(made, group=None, distinct=column, fit=fit)
        rows = replace(made, fit=1.0)
        # `How many campaigns` may mean the rows of campaigns.csv, some of which are of one campaign.
        same = len({made.table.rows[row][column] for row in made.rows}) == len(made.rows)
        return values if not titled or different or same or not made.filters else ambiguous([values, rows])
    if not (titled or column is not None or made.filters):
        return None
    return replace(made, fit=1.0 if titled else 0.6 if column is not None else 0.3)


def most_frequent(table: Table, folded: str, by: int, extreme: str, where: Sequence[Filter]) -> Plan | None:
    """`Which region has the most states?`: the rows of each are counted, where a row is a state."""
    found = ops.MOST_OF.search(folded)
    if not found or not repeats(table, by):
        return None
    noun, others = found["noun"] or "", [index for index in range(len(table.columns)) if index != by]
    columns = likest(table, {stem(noun)}, others)
    if noun and not is_row(table, noun) and (columns or stem(noun) not in _row_names(table)):
        return None
    return Plan(
        table, "count", fitting(table, where), filters=where, group=by, extreme=extreme, first=first(folded), fit=1.0,
        entity=by,
    )  # fmt: skip


def _row_names(table: Table) -> set[str]:
    """What the table's name, or common use, calls its rows."""
    return {*stems(table.path.rsplit("/", 1)[-1]), *map(stem, ops.ROWS)}
