"""The answer to a question about tables: its headline, the calculation as an expression and as SQL, its rows, and what
was left out; or what is asked back."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from agentsvc_nb.agents.offline.basis import AnswerPart, result, without_result
from agentsvc_nb.agents.offline.tables.grammar.readings import QuestionReading
from agentsvc_nb.agents.offline.tables.understanding import AskedBack, Understood
from agentsvc_nb.agents.offline.tables.wording import measure, question
from agentsvc_nb.agents.offline.writing import code
from agentsvc_nb.formats.plans.expressions import expression
from agentsvc_nb.formats.plans.plan import Compared, Criterion, Plan
from agentsvc_nb.formats.plans.profiles import Tables
from agentsvc_nb.formats.plans.results import Result, left_out, markdown, plain, shown
from agentsvc_nb.formats.plans.sql import sql
from agentsvc_nb.formats.safe_text import FOLDED, escape
from agentsvc_nb.wire.runs import Basis

HEADLINE_VALUES: Final = 5
VALUES_MAX: Final = 1000


def answered(understood: Understood, found: Result, tables: Tables) -> AnswerPart:
    """The result with all that stands behind it; or that nothing fits."""
    reading, table = understood.reading, tables[understood.reading.plan.table]
    line = expression(reading.plan, tables, found)
    joined = _joined(reading.plan, found, tables)
    told = " ".join(escape(one) for one in (*understood.told, *joined, *table.notes))
    notes = f"{told}\n\n" if told else ""
    how = f"{notes}{_block(sql(reading.plan, tables))}"
    values = values_of(reading, found)
    if not found.used or not values:
        out = f"{left_out(found)}\n\n" if found.left_out else ""
        return without_result("nothing", f"No row of {code(table.path)} fits.\n\n{code(line)}\n\n{out}{notes}")
    single = len(found.rows) == 1 and len(found.columns) == 1
    value = f" = {shown(found.rows[0][0], found.columns[0])}" if single else ""
    body = f"{left_out(found)}\n\n" if single and found.left_out else "" if single else f"{markdown(found)}\n"
    basis: Basis = "computed" if reading.plan.measures or reading.plan.limit is not None else "looked_up"
    return result(basis, _headline(reading, found), values[:VALUES_MAX], f"{code(line + value)}\n\n{body}{how}")


def _joined(plan: Plan, found: Result, tables: Tables) -> list[str]:
    """By what two tables were joined, and how many rows had a partner."""
    if plan.join is None:
        return []
    table, other = tables[plan.table], tables[plan.join.table]
    keys = " and ".join(own.name if own.name == key.name else f"{own.name} = {key.name}" for own, key in plan.join.keys)
    matched = found.total - sum(one.rows for one in found.left_out if one.reason == "unmatched")
    line = f"{table.path} joined to {other.path} by {keys}; {matched:,} of {found.total:,} rows matched."
    return [line, *other.notes]


def values_of(reading: QuestionReading, found: Result) -> list[str]:
    """What was asked: names or numbers, without separators or units; of a table, row by row."""
    places = reading.asked or range(len(found.columns))
    values = [
        plain(row[place], found.columns[place]) for row in found.rows for place in places if row[place] is not None
    ]
    return [value.removeprefix("-") for value in values] if reading.absolute else values


def _headline(reading: QuestionReading, found: Result) -> str:
    plan, columns = reading.plan, found.columns
    rows = found.rows[:HEADLINE_VALUES]
    more = ", …" if len(found.rows) > len(rows) or found.more else ""
    if reading.asked:
        names = ", ".join(shown(row[place], columns[place]) for row in rows for place in reading.asked)
        last = columns[-1]
        title = measure(plan.measures[0]) if plan.measures else last.title
        amount = f" ({title}: {shown(rows[0][-1], last)})" if len(found.rows) == 1 else f" (by {title})"
        return f"{names}{more}{amount}"
    if not plan.measures:
        lines = (", ".join(map(shown, row, columns)) for row in rows)
        listed = dict.fromkeys(lines)
        return f"{', '.join(column.title for column in columns)}: {'; '.join(listed)}{more}"
    title = " and ".join(map(measure, plan.measures))
    title = title[0].upper() + title[1:]
    if not plan.groups:
        values = ", ".join(shown(cell, column) for cell, column in zip(found.rows[0], columns, strict=True))
        return f"{title}: {_signed(reading, found, values)}"
    by = " and ".join(column.title for column in columns[: len(plan.groups)])
    first = "; ".join(f"{', '.join(map(shown, row[:-1], columns))} {shown(row[-1], columns[-1])}" for row in rows[:3])
    return f"{title} by {by}: {first}{', …' if len(found.rows) > 3 else ''}"


def _signed(reading: QuestionReading, found: Result, values: str) -> str:
    """A difference without its sign, and which of the two is larger."""
    [one] = reading.plan.measures[:1]
    number = found.rows[0][0]
    if not reading.absolute or not isinstance(one, Compared) or not isinstance(number, Decimal):
        return values
    side = one.left if number > 0 else one.right
    larger = f" (larger: {side.where.right})" if number and isinstance(side.where, Criterion) else ""
    return f"{values.removeprefix('-')}{larger}"


def _block(text: str) -> str:
    """A block that is shown folded where that can be done (`formats.markdown`)."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{FOLDED}\n{text}\n{fence}\n\n"


def asked_back(back: AskedBack) -> AnswerPart:
    """What was not understood, and questions that would be."""
    said = f"{escape(back.reason)}\n\n"
    readings = list(dict.fromkeys(filter(None, (question(one.plan) for one in back.readings))))
    if readings:
        said += "Ask for one of these:\n\n" + "".join(f"- {code(one)}\n" for one in readings) + "\n"
    return without_result("asked_back", said)
