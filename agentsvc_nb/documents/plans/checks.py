"""What speaks against giving a plan's result as an answer, although it can be computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from agentsvc_nb.documents.plans.currencies import currency_of, differ
from agentsvc_nb.documents.plans.plan import (
    Aggregate,
    Along,
    Column,
    Compared,
    Criterion,
    Formula,
    Plan,
    aggregates,
    columns_of,
    leaves,
)
from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile, Tables, table_of
from agentsvc_nb.documents.plans.roles import (
    is_amount,
    is_currency,
    is_identifier,
    is_per_unit,
    is_rank,
    is_ratio,
    names_currency,
)
from agentsvc_nb.documents.tables.numbers import currency_code

Code = Literal[
    "mean_of_ratios",
    "sum_of_ratios",
    "percent_in_formula",
    "units_differ",
    "currencies_differ",
    "parts_do_not_add_up",
    "identifier_grouped",
    "identifier_measured",
    "rank_measured",
    "identifier_ordered",
    "rank_ordered",
    "date_ordered",
    "join_multiplies",
    "column_twice",
]


@dataclass(frozen=True, slots=True)
class Objection:
    """A reason to ask back, in a sentence that says what to do instead."""

    code: Code
    column: str
    message: str


def objections(plan: Plan, tables: Tables) -> list[Objection]:
    """All of them, in the order of the plan; the caller decides which of them hold. Raises `PlanError` for tables and
    columns that are not there."""
    found = [*_of_join(plan, tables), *_of_groups(plan, tables), *_of_measures(plan, tables), *_of_order(plan, tables)]
    return list(dict.fromkeys([*found, *_of_conditions(plan, tables), *_of_twins(plan, tables)]))


def _found(column: Column, tables: Tables) -> tuple[ColumnProfile, TableProfile]:
    table = table_of(tables, column.table)
    return table.column(column.name), table


def _of_twins(plan: Plan, tables: Tables) -> Iterator[Objection]:
    """Of two columns with one header the second is called `X (2)`: who says X may mean either."""
    measured = [column for one in aggregates(plan.measures) for column in (*_columns(one), *columns_of(one.where))]
    for column in (*plan.select, *(group.column for group in plan.groups), *measured, *columns_of(plan.where)):
        table = table_of(tables, column.table)
        if any(one.name == f"{column.name} (2)" for one in table.columns):
            message = f"Several columns are called {column.name}: give each another name, or ask for {column.name} (2)."
            yield Objection("column_twice", column.name, message)


def _of_conditions(plan: Plan, tables: Tables) -> Iterator[Objection]:
    """Amounts of two currencies against each other, row by row."""
    for one in leaves(plan.where):
        if isinstance(one, Criterion) and isinstance(one.left, Column) and isinstance(one.right, Column):
            left, right = (_found(column, tables)[0] for column in (one.left, one.right))
            if _in_other_money(left, right):
                yield _of_money(left, right)


def _of_groups(plan: Plan, tables: Tables) -> Iterator[Objection]:
    for group in plan.groups:
        column, table = _found(group.column, tables)
        if not group.by and is_identifier(column, table):
            yield Objection(
                "identifier_grouped",
                column.name,
                f"{column.name} is different in each row: each group would be a single row. Name another column.",
            )


def _of_measures(plan: Plan, tables: Tables) -> Iterator[Objection]:
    for one in aggregates(plan.measures):
        yield from _of_aggregate(one, tables)
        yield from _of_currencies(one, plan, tables)
    for measure in plan.measures:
        if isinstance(measure, Along) and measure.operation in ("share", "running"):
            yield from _of_parts(measure.of)
        if isinstance(measure, Compared):
            yield from _of_units(measure, tables)


def _of_parts(one: Aggregate) -> Iterator[Objection]:
    if one.operation not in ("count", "sum"):
        message = f"The {one.operation} of each group does not add up to a whole: take counts or sums."
        yield Objection("parts_do_not_add_up", "", message)


def _of_units(measure: Compared, tables: Tables) -> Iterator[Objection]:
    left, right = ([_found(column, tables)[0] for column in _amounts(one)] for one in (measure.left, measure.right))
    if apart := next(((one, other) for one in left for other in right if _in_other_money(one, other)), None):
        yield _of_money(*apart)
        return
    units = [{currency_code(one.unit) for one in columns} or {""} for columns in (left, right)]
    codes = [{currency_of(one) for one in columns} for columns in (left, right)]
    if measure.operation != "ratio" and units[0] != units[1] and (codes[0] != codes[1] or "" in codes[0]):
        shown = " and ".join(" ".join(sorted(one)) or "no unit" for one in units)
        yield Objection("units_differ", "", f"The two have different units ({shown}): ask for their ratio.")


def _in_other_money(one: ColumnProfile, other: ColumnProfile) -> bool:
    return differ(currency_of(one), currency_of(other))


def _of_money(one: ColumnProfile, other: ColumnProfile) -> Objection:
    message = (
        f"{one.name} is in {currency_of(one)} and {other.name} in {currency_of(other)}: "
        "they compare only in one currency, and the table has no rate of exchange."
    )
    return Objection("currencies_differ", one.name, message)


def _amounts(one: Aggregate) -> list[Column]:
    return [] if one.operation in ("count", "distinct") else _columns(one)


def _columns(one: Aggregate) -> list[Column]:
    if isinstance(one.operand, Formula):
        return [one.operand.left, one.operand.right]
    return [one.operand] if one.operand is not None else []


def _of_aggregate(one: Aggregate, tables: Tables) -> Iterator[Objection]:
    if one.operation in ("count", "distinct"):
        return
    if isinstance(one.operand, Formula):
        yield from _of_formula(one, one.operand, tables)
        return
    for column, table in (_found(column, tables) for column in _columns(one)):
        if is_identifier(column, table):
            message = f"{column.name} says which row is meant, and is nothing to take the {one.operation} of."
            yield Objection("identifier_measured", column.name, message)
        elif is_rank(column):
            message = f"{column.name} is a place, where 1 comes first: say whether the first or the last is meant."
            yield Objection("rank_measured", column.name, message)
        elif (is_ratio(column) and one.operation in ("sum", "mean")) or (
            is_per_unit(column) and one.operation == "sum"
        ):
            yield _of_ratios(one, column.name)


def _of_currencies(one: Aggregate, plan: Plan, tables: Tables) -> Iterator[Objection]:
    """Amounts of several currencies together, unless the plan tells the currencies apart."""
    told_apart = {group.column for group in plan.groups} | {*columns_of(plan.where), *columns_of(one.where)}
    for amount in _amounts(one):
        column, table = _found(amount, tables)
        for other in table.columns if is_amount(column) and not names_currency(column) else ():
            if is_currency(other) and other.distinct > 1 and Column(amount.table, other.name) not in told_apart:
                message = (
                    f"{column.name} has several currencies ({other.name}): ask for one of them, or by {other.name}."
                )
                yield Objection("currencies_differ", column.name, message)


def _of_ratios(one: Aggregate, name: str) -> Objection:
    if one.operation == "sum":
        return Objection("sum_of_ratios", name, f"{name} is a ratio of each row: ratios have no sum.")
    message = (
        f"{name} is a ratio of each row: their mean is not the ratio of the sums. Ask for that of two columns, or for "
        "the unweighted mean."
    )
    return Objection("mean_of_ratios", name, message)


def _of_formula(one: Aggregate, formula: Formula, tables: Tables) -> Iterator[Objection]:
    left, right = (_found(column, tables)[0] for column in (formula.left, formula.right))
    name = f"{left.name} {formula.operator} {right.name}"
    if formula.operator == "/" and one.operation in ("sum", "mean"):
        yield _of_ratios(one, name)
    if formula.operator != "*" and _in_other_money(left, right):
        yield _of_money(left, right)
    elif formula.operator in ("*", "+", "-") and (left.unit == "%") != (right.unit == "%"):
        yield Objection("percent_in_formula", name, f"{name} would compute with per cents as with whole numbers.")
    elif formula.operator in ("+", "-") and _apart(left, right):
        shown = f"{left.unit or 'no unit'} and {right.unit or 'no unit'}"
        yield Objection("units_differ", name, f"The columns of {name} have different units ({shown}).")


def _apart(left: ColumnProfile, right: ColumnProfile) -> bool:
    """Whether they have different units; of two in one currency, one may have it in its name only."""
    one = currency_of(left)
    return currency_code(left.unit) != currency_code(right.unit) and not (one and one == currency_of(right))


def _of_order(plan: Plan, tables: Tables) -> Iterator[Objection]:
    """A superlative takes the first of an order; an order alone asks nothing of the column."""
    shown = [*(group.column for group in plan.groups), *([None] * len(plan.measures)), *plan.select]
    for order in plan.order if plan.limit is not None else ():
        column = shown[order.place] if order.place < len(shown) else None
        if column is None:
            continue
        profile, table = _found(column, tables)
        if is_identifier(profile, table):
            message = f"{profile.name} says which row is meant: the first by it is not the largest of anything."
            yield Objection("identifier_ordered", profile.name, message)
        elif is_rank(profile):
            message = f"{profile.name} is a place, where 1 comes first: say whether the first or the last is meant."
            yield Objection("rank_ordered", profile.name, message)
        elif profile.kind in ("date", "datetime", "time"):
            message = f"{profile.name} is a {profile.kind}: say whether the earliest or the latest is meant."
            yield Objection("date_ordered", profile.name, message)


def _of_join(plan: Plan, tables: Tables) -> Iterator[Objection]:
    if plan.join is None:
        return
    for _, other in plan.join.keys:
        column, table = _found(other, tables)
        if len(plan.join.keys) == 1 and column.distinct < table.rows - column.empty:
            message = f"Values of {column.name} stand in several rows of {table.path}: sums would count rows twice."
            yield Objection("join_multiplies", column.name, message)
