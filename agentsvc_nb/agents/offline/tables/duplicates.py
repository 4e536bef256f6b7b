"""Answers to questions about tables themselves (`structure`): their columns, and rows that stand there twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final

from agentsvc_nb.agents.offline.tables.structure import Columns, Duplicates, NotRead
from agentsvc_nb.agents.offline.writing import AnswerPart, block, code, result, without_result
from agentsvc_nb.documents.plans.expressions import expression, title
from agentsvc_nb.documents.plans.plan import Aggregate, AllOf, Column, Condition, Empty, Group, Kept, Not, Order, Plan
from agentsvc_nb.documents.plans.profiles import TableProfile
from agentsvc_nb.documents.plans.results import Result, markdown
from agentsvc_nb.documents.plans.roles import is_identifier
from agentsvc_nb.documents.plans.sql import sql
from agentsvc_nb.documents.safe_text import escape
from agentsvc_nb.documents.safe_text import table as shown_table

_KINDS: Final = {"text": "text", "number": "number", "date": "date", "datetime": "date and time", "time": "time",
                 "boolean": "yes or no"}  # fmt: skip
TABLES_MAX: Final = 8
"""Tables that are shown for a question that names none."""


def columns_of_tables(asked: Columns) -> list[AnswerPart]:
    return [_columns(table, asked.counted) for table in asked.tables[:TABLES_MAX]]


def _columns(of: TableProfile, counted: bool) -> AnswerPart:
    names = [column.name for column in of.columns]
    rows = [[column.name, _KINDS[column.kind] + (f" in {column.unit}" if column.unit else "")] for column in of.columns]
    listed = f"{shown_table(['column', 'kind'], rows)}\n{of.rows:,} rows.\n\n"
    if counted:
        return result("looked_up", f"Number of columns of {title(of)}: {len(names)}", [str(len(names))], listed)
    return result("looked_up", f"Columns of {title(of)}: {', '.join(names)}", names, listed)


def plan_of(asked: Duplicates) -> Plan:
    """The values that stand in several rows, with how many rows these are, the most first. A row without a value in a
    column that was named is equal to no other."""
    table, names = asked.table, asked.by or tuple(column.name for column in asked.table.columns)
    columns = [Column(table.name, name) for name in names]
    filled = tuple(Not(Empty(one)) for one in columns if asked.by and table.column(one.name).empty)
    where: Condition | None = AllOf(filled) if len(filled) > 1 else next(iter(filled), None)
    return Plan(
        table.name,
        (Aggregate("count"),),
        tuple(map(Group, columns)),
        where,
        order=(Order(len(columns), descending=True),),
        keep=(Kept(len(columns), ">", Decimal(1)),),
    )


def duplicates(asked: Duplicates, found: Result) -> AnswerPart:
    """How many rows repeat an earlier one, and which."""
    if found.more:
        many = f"More than {len(found.rows):,} different ones stand in several rows, too many to count here."
        return without_result("asked_back", f"{many} Name the columns to compare.\n\n")
    plan, tables = plan_of(asked), {asked.table.name: asked.table}
    counts = [int(row[-1]) for row in found.rows if isinstance(row[-1], Decimal)]
    again = sum(counts) - len(counts)
    rest = f"{code(expression(plan, tables, found))}\n\n{markdown(found) if counts else ''}\n"
    told = " ".join(escape(one) for one in (*asked.told, *_told(asked)))
    how = f"{told}\n\n{block(sql(plan, tables))}"
    made = result("computed", _headline(asked, again, counts), [str(again)], rest + how)
    return replace(made, found=found) if counts else made


def _headline(asked: Duplicates, again: int, counts: Sequence[int]) -> str:
    of = title(asked.table)
    what = " and ".join(asked.by)
    if not counts:
        return f"No row of {of} repeats {f'the {what} of' if what else ''} another row".replace("  ", " ")
    rows = f"{again:,} {'row repeats' if again == 1 else 'rows repeat'}"
    several = f"{len(counts):,} different {'one stands' if len(counts) == 1 else 'ones stand'} in several rows"
    earlier = f"the {what} of an earlier row" if what else "an earlier row"
    return f"{rows} {earlier} of {of} ({several})"


def _told(asked: Duplicates) -> list[str]:
    """By what rows are compared, and what may be meant instead."""
    table = asked.table
    empty = [f"Rows without a value in {name} are not compared." for name in asked.by if table.column(name).empty]
    if asked.by:
        return empty
    apart = next((column.name for column in table.columns if is_identifier(column, table)), "")
    other = next((column.name for column in table.columns if column.name != apart and column.kind == "text"), "")
    lines = ["Rows are compared as a whole, with all their columns."]
    if apart:
        lines = [f"{apart} is different in each row, so that no two rows can be equal as a whole."]
    return [*lines, f'Other questions compare some columns: duplicates by "{other}".'] if other else lines


def several(found: Sequence[Duplicates]) -> str:
    """Why nothing is compared: each table has the columns that were named."""
    files = ", ".join(code(title(one.table)) for one in found)
    return f"Several tables have these columns ({files}): name the file that is meant.\n\n"


def not_read(asked: NotRead) -> AnswerPart:
    lost = ", ".join(asked.lost)
    return without_result(
        "asked_back", f"{escape(f'Asked of columns or duplicate rows, these words were not understood: {lost}.')}\n\n"
    )
