"""A number asked of a table: which calculation the question means (contract §9).

It reads no language, only words it knows: an operation, a column, perhaps a grouping column, values and limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentsvc_nb.safe.literal import escape
from agentsvc_nb.service.rules.search import tokens
from agentsvc_nb.service.rules.tables import Table
from agentsvc_nb.service.work.agents.offline import operations as ops
from agentsvc_nb.service.work.agents.offline.columns import parts
from agentsvc_nb.service.work.agents.offline.conditions import filters, fitting, limited
from agentsvc_nb.service.work.agents.offline.counting import count
from agentsvc_nb.service.work.agents.offline.grouping import first, group, repeated
from agentsvc_nb.service.work.agents.offline.leftovers import (
    explained,
    guessed,
    missing,
    no_group,
    unknown_words,
    unused,
)  # fmt: skip
from agentsvc_nb.service.work.agents.offline.measures import Measure, measure
from agentsvc_nb.service.work.agents.offline.mentions import without_title
from agentsvc_nb.service.work.agents.offline.plans import Plan
from agentsvc_nb.service.work.agents.offline.ratios import product, ratio
from agentsvc_nb.service.work.agents.offline.unclear import Unclear, no_column, no_value
from agentsvc_nb.service.work.agents.offline.values import named_values
from agentsvc_nb.service.work.agents.offline.words import stems


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
    if refused := ops.NOT.search(folded):
        why = f"I can't leave out rows (“{escape(refused[0])}”): name those that are wanted."
        return Unclear(table, why, made.fit)
    return _with_leftovers(made, text, folded, operations)


def _with_leftovers(made: Plan, text: str, folded: str, operations: Sequence[str]) -> Plan | Unclear:
    used = _used(made)
    known = explained(made.table, text, used)
    if name := missing(made.table, text):
        return replace(no_value(made.table, name, made.fit), explained=known)
    idle = [] if made.group is not None or "count" in operations else _idle(folded, operations, made.operation)
    left = [*idle, *unused(made.table, text, used)]
    return replace(made, unused=left, guessed=guessed(made.table, text, used), explained=known)


def _unspoken(text: str, folded: str, table: Table) -> list[str]:
    """The operation of a question that names none: a quotient, a product, or a column of the rows that it names."""
    if isinstance(ratio(table, text), Measure):
        return ["quotient"]
    if product(table, text):
        return ["sum"]
    found = measure(table, folded, list(table.numbers), limited(table, text), alone=False)
    if not isinstance(found, Measure) or found.fit < 1 or ops.NOT_ADDED & set(parts(found.name)):
        return []
    lost = missing(table, text)
    rest = [word for word in unknown_words(table, text) if word != lost]
    return ["sum"] if not rest and (lost or named_values(table, text, ()) or group(table, folded) is not None) else []


def _idle(folded: str, operations: Sequence[str], carried_out: str) -> list[str]:
    """The words of operations that were not carried out: `the highest average` of single rows is the highest."""
    named = [name for name in operations if name in ops.OPERATIONS and name not in (carried_out, "sum")]
    found = (ops.OPERATIONS[name].search(folded) for name in named)
    return [one[0] for one in found if one]


def _measured(text: str, folded: str, table: Table, operations: list[str], named: bool) -> Plan | Unclear | None:
    by = group(table, folded)
    columns = [index for index in table.numbers if index != by]
    words = unknown_words(table, text)
    titled = named or bool(set(stems(table.path)) & set(stems(text)))
    measured = ratio(table, text) or product(table, text)
    measured = measured or measure(table, folded, columns, limited(table, text), alone=titled and not words)
    if measured is None and titled and operations[0] == "share" and (where := filters(table, text, None, None)):
        return Plan(table, "share", fitting(table, where), filters=where, fit=1.0)
    if measured is None:
        return no_column(table, " ".join(words)) if named and words else None
    if isinstance(measured, Unclear):
        return measured
    if by is None and not isinstance(measured, Unclear) and (lost := no_group(table, folded)):
        return no_column(table, lost, measured.fit)
    return _reduction(text, folded, table, operations, measured, by)


def _used(made: Plan) -> set[int]:
    """The columns that have a part in the result, with the one that names rows when rows are named."""
    columns = {*(made.measure.columns if made.measure else ()), *(one.column for one in made.filters)}
    named = made.table.label if made.operation in ("min", "max") and made.group is None else None
    return columns | {index for index in (made.group, made.distinct, named) if index is not None}


def _reduction(
    question: str, folded: str, table: Table, named: list[str], measured: Measure, by: int | None
) -> Plan | Unclear:
    extreme = next((name for name in named if name in ("min", "max")), "")
    if extreme and by is None:
        by = repeated(table, folded, measured)
    operation = _operation(named, extreme, measured, folded, by)
    if measured.rate and operation == "sum":
        return Unclear(table, f"Values of {escape(measured.name)} do not add up: ask for their average.", measured.fit)
    where = filters(table, question, measured, by)
    if by is None and not extreme and operation != "share":
        by = next((one.column for one in where if one.values > 1), None)
    rows = fitting(table, where)
    held = [row for row in rows if measured.numbers.values[row] is not None]
    dropped = [row for row in rows if measured.numbers.values[row] is None]
    return Plan(
        table, operation, held, measured, where, by,
        extreme=extreme if by is not None else "", first=first(folded), fit=measured.fit, dropped=dropped,
    )  # fmt: skip


def _operation(named: Sequence[str], extreme: str, measured: Measure, folded: str, by: int | None) -> str:
    """What is done to the numbers. The rate of many rows is a quotient of sums, unless its average is asked for."""
    plain = [name for name in named if name not in ("min", "max")]
    if extreme and by is not None and not plain:
        # A rate is not added up: the best channel by conversion rate is that of the best mean.
        return "mean" if measured.rate or measured.numbers.unit == "%" else "sum"
    if extreme:
        return plain[0] if by is not None else extreme
    if measured.quotient and plain[0] == "sum" and ops.OVERALL.search(folded):
        return "quotient"
    return plain[0]
