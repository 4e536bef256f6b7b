"""Planning: which calculation on a table a question means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentsvc_nb.agents.offline.questions import without_title
from agentsvc_nb.agents.offline.tables import operations as ops
from agentsvc_nb.agents.offline.tables.columns import Filter, addable, likeness, likest, never_added, parts
from agentsvc_nb.agents.offline.tables.conditions import filters, fitting, limited
from agentsvc_nb.agents.offline.tables.coverage import (
    ambiguous,
    explained,
    guessed,
    missing,
    no_group,
    unknown_words,
    unused,
    withheld,
)
from agentsvc_nb.agents.offline.tables.grouping import entity, first, group, is_row, naming, repeats
from agentsvc_nb.agents.offline.tables.measures import (
    Measure,
    Plan,
    Unclear,
    implied,
    measure,
    no_column,
    no_value,
    of_column,
    product,
    ratio,
    several,
)
from agentsvc_nb.agents.offline.tables.results import leaders
from agentsvc_nb.agents.offline.words import STOP, stem, stems
from agentsvc_nb.formats.queries import tokens
from agentsvc_nb.formats.safe_text import escape
from agentsvc_nb.formats.tables.plain import Table


def count(question: str, folded: str, table: Table) -> Plan | Unclear | None:
    """The plan for `how many`: a column of amounts is added up; else rows are counted, or a column's different values.
    None when nothing to count is named."""
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
        # `How many campaigns` may also mean the rows of campaigns.csv, of which several may be of one campaign.
        same = len({made.table.rows[row][column] for row in made.rows}) == len(made.rows)
        return values if not titled or different or same or not made.filters else ambiguous([values, rows])
    if not (titled or column is not None or made.filters):
        return None
    return replace(made, fit=1.0 if titled else 0.6 if column is not None else 0.3)


def most_frequent(table: Table, folded: str, by: int, extreme: str, where: Sequence[Filter]) -> Plan | None:
    """The plan for `Which region has the most states?`, where each row is a state: the rows of each region are
    counted."""
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
    """The stems by which the table's rows may be called: words of its file name, and common ones."""
    return {*stems(table.path.rsplit("/", 1)[-1]), *map(stem, ops.ROWS)}


def plan(question: str, table: Table, *, named: bool = False) -> Plan | Unclear | None:
    """The calculation that the question asks of the table, why there is none, or None when it asks for no calculation.

    The question comes without the names of files (`mentions`); `named` says that it named this table.
    """
    text = without_title(question, table)
    folded = " ".join(tokens(text))
    operations = ops.named(folded) or _unspoken(text, folded, table)
    if not operations:
        return None
    made = count(text, folded, table) if "count" in operations else _measured(text, folded, table, operations, named)
    if made is None:
        return None
    if isinstance(made, Unclear):
        return replace(made, explained=explained(table, text, range(len(table.columns))))
    return _understood(made, text, operations)


def _understood(made: Plan, text: str, operations: Sequence[str]) -> Plan | Unclear:
    """The calculation if it used every word of the question; else why there is no result."""
    known = explained(made.table, text, _used(made))
    if name := missing(made.table, text):
        return replace(no_value(made.table, name, made.fit), explained=known)
    made = replace(made, guessed=guessed(made.table, text, _used(made)), explained=known)
    left = unused(made, text)
    if not left:
        return _one_meaning(made, text)
    others = [name for name in operations if name in ops.REDUCING and made.operation in ops.REDUCING]
    readings = [replace(made, operation=name) for name in others if made.group is None] or [made]
    return withheld(readings, left)


def _one_meaning(made: Plan, text: str) -> Plan | Unclear:
    """The plan, or `Unclear` when it has two readings: `the highest revenue` of channels with several rows may be that
    of one row, or of a channel's rows together. It is clear when both name the same channel."""
    folded = " ".join(tokens(text))
    if not made.extreme or made.measure is None or ops.SUMMED.search(folded):
        return made
    if group(made.table, folded) is not None:
        # `The highest price per category` asks for the highest of each category, unless totals are meant.
        each = replace(made, operation=made.extreme, extreme="")
        return ambiguous([each, made]) if made.operation == "sum" else each
    single = replace(made, operation=made.extreme, group=None, extreme="", entity=made.group)
    return made if set(leaders(made)) == set(leaders(single)) else ambiguous([made, single])


def _unspoken(text: str, folded: str, table: Table) -> list[str]:
    """The operation of a question that names none: a quotient, a product, or the sum of a column over the rows or
    groups that it names."""
    if isinstance(ratio(table, text), Measure):
        return ["quotient"]
    if product(table, text):
        return ["sum"]
    found = measure(table, folded, list(table.numbers), limited(table, text), alone=False)
    if not isinstance(found, Measure) or found.fit < 1 or found.column is None or not addable(table, found.column):
        return []
    lost = missing(table, text)
    others = [one for one in filters(table, text, found) if one.column != found.column]
    return ["sum"] if lost or others or group(table, folded) is not None else []


def _measured(text: str, folded: str, table: Table, operations: list[str], named: bool) -> Plan | Unclear | None:
    """The plan for operations on numbers; `Unclear` when a column is missing or ambiguous, None when none is meant."""
    by, wanted = group(table, folded), entity(table, folded)
    extreme = next((name for name in operations if name in ("min", "max")), "")
    titled = named or bool(set(stems(table.path)) & set(stems(text)))
    words = unknown_words(table, text) if titled else []
    alone, limits = titled and not words, limited(table, text)
    columns = [index for index in table.numbers if index != by]
    others = [index for index in columns if index != wanted or not extreme]
    measured = ratio(table, text) or product(table, text) or measure(table, folded, others, limits, alone=alone)
    if measured is None and extreme and wanted is not None:
        counted = most_frequent(table, folded, wanted, extreme, filters(table, text, None))
        if counted:
            return counted
        measured = measure(table, folded, columns, limits, alone=alone)
    if measured is None and titled and operations[0] == "share" and (where := filters(table, text, None)):
        return Plan(table, "share", fitting(table, where), filters=where, fit=1.0)
    if measured is None:
        return no_column(table, " ".join(words)) if named and words else None
    if isinstance(measured, Unclear):
        return measured
    if by is None and (lost := no_group(table, folded)):
        return no_column(table, lost, measured.fit)
    return _reduction(text, folded, table, operations, measured, by, wanted if wanted != measured.column else None)


def _used(made: Plan) -> set[int]:
    """The columns that the result depends on, with the column that names its rows."""
    columns = {*(made.measure.columns if made.measure else ()), *(one.column for one in made.filters)}
    named = made.entity if made.operation in ("min", "max") and made.group is None else None
    return columns | {index for index in (made.group, made.distinct, named, made.subject) if index is not None}


def _reduction(
    question: str, folded: str, table: Table, named: list[str], measured: Measure, by: int | None, wanted: int | None
) -> Plan | Unclear:
    """The plan for a known measure, grouped by the column `by`; `wanted` is the column that names the result."""
    extreme = next((name for name in named if name in ("min", "max")), "")
    turned = bool(extreme and measured.column is not None and ops.RANKS & set(parts(measured.name)))
    turned = turned and min(measured.numbers.known, default=0) == 1
    if turned:
        extreme = "min" if extreme == "max" else "max"
    if extreme and by is None and wanted is not None and repeats(table, wanted):
        by = wanted
    operation = _operation(table, named, extreme, measured, folded, by)
    if operation == "sum" and (measured.rate or never_added(measured.name, measured.numbers.unit)):
        return Unclear(table, f"Values of {escape(measured.name)} do not add up: ask for their average.", measured.fit)
    where = filters(table, question, measured)
    if by is None and not extreme and operation != "share" and not ops.OPERATIONS["sum"].search(folded):
        by = next((one.column for one in where if one.values > 1), None)
    rows = fitting(table, where)
    held = [row for row in rows if measured.numbers.values[row] is not None]
    dropped = [row for row in rows if measured.numbers.values[row] is None]
    return Plan(
        table, operation, held, measured, where, by, extreme=extreme if by is not None else "", first=first(folded),
        fit=measured.fit, dropped=dropped, entity=naming(table) if wanted is None else wanted,
        turned=turned, names=wanted is not None or by is not None or _wants_name(folded, measured),
    )  # fmt: skip


def _wants_name(folded: str, measured: Measure) -> bool:
    """Whether the row with the highest or lowest number is asked for, not the number: `who`, `which product`, or no
    word of the measure (`the cheapest`)."""
    own = {stem(part) for part in parts(measured.name)}
    nouns = (found[1].split()[0] for found in ops.WHICH.finditer(folded))
    named = any(noun not in STOP and not ops.is_operation(noun) and stem(noun) not in own for noun in nouns)
    return named or ops.ASKED.search(folded) is not None or not own & {stem(word) for word in folded.split()}


def _operation(table: Table, named: Sequence[str], extreme: str, measured: Measure, folded: str, by: int | None) -> str:
    """The operation on the numbers. The overall rate of many rows is a quotient of sums, not a sum of rates."""
    plain = [name for name in named if name not in ("min", "max")]
    if extreme and by is not None and not plain:
        # A rate is not added up: the best channel by conversion rate is the one with the best mean.
        added = not measured.rate and (measured.column is None or addable(table, measured.column))
        return "sum" if added else "mean"
    if extreme:
        return plain[0] if by is not None else extreme
    if measured.quotient and plain[0] == "sum" and ops.OVERALL.search(folded):
        return "quotient"
    return plain[0]
