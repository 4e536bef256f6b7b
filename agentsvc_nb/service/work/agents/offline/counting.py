"""`How many`: rows, different values, or a quantity that is added up."""

from __future__ import annotations

from agentsvc_nb.service.rules.tables import Table
from agentsvc_nb.service.work.agents.offline import operations as ops
from agentsvc_nb.service.work.agents.offline.columns import likeness, likest
from agentsvc_nb.service.work.agents.offline.conditions import filters, fitting, limited
from agentsvc_nb.service.work.agents.offline.grouping import group, repeats
from agentsvc_nb.service.work.agents.offline.measures import Measure, implied, measure, of_column
from agentsvc_nb.service.work.agents.offline.plans import Plan
from agentsvc_nb.service.work.agents.offline.unclear import Unclear, several
from agentsvc_nb.service.work.agents.offline.words import stem, stems


def count(question: str, folded: str, table: Table) -> Plan | Unclear | None:
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
    if column is None and found:
        measured = implied(table, found[1])
    by = group(table, folded)
    meant = measured or measure(table, folded, [*table.numbers], limited(table, question), alone=False)
    where = filters(table, question, meant if isinstance(meant, Measure) else None, by)
    rows = fitting(table, where)
    if measured:
        held = [row for row in rows if measured.numbers.values[row] is not None]
        dropped = [row for row in rows if measured.numbers.values[row] is None]
        return Plan(table, "sum", held, measured, where, by, fit=measured.fit, dropped=dropped)
    if column is not None and not where and (ops.DISTINCT.search(folded) or repeats(table, column)):
        return Plan(table, "count", rows, filters=where, distinct=column, fit=fit)
    titled = subject & {*stems(table.path.rsplit("/", 1)[-1]), *map(stem, ops.ROWS)}
    if not (titled or columns or where):
        return None
    return Plan(table, "count", rows, filters=where, group=by, fit=1.0 if titled else 0.6 if columns else 0.3)
