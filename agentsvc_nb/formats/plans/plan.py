"""A calculation over one table or two, as data that know no engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from agentsvc_nb.formats.plans.conditions import Column, Condition

Operation = Literal["count", "distinct", "sum", "mean", "median", "quantile", "min", "max", "stddev"]
Period = Literal["day", "week", "month", "quarter", "year"]


@dataclass(frozen=True, slots=True)
class Formula:
    """Two columns, computed row by row; a division by zero has no value."""

    left: Column
    operator: Literal["+", "-", "*", "/"]
    right: Column
    is_a: Literal["formula"] = "formula"


Operand = Annotated[Column | Formula, Field(discriminator="is_a")]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One value of many rows. `count` without an operand counts rows, with one its values; empty cells have no part in
    any other. `where` narrows the rows further than the plan does; `quantile` is between 0 and 1, and interpolated."""

    operation: Operation
    operand: Operand | None = None
    where: Condition | None = None
    quantile: Decimal | None = None
    is_a: Literal["aggregate"] = "aggregate"


@dataclass(frozen=True, slots=True)
class Correlation:
    """Pearson's coefficient, of the rows that have both values."""

    left: Column
    right: Column
    is_a: Literal["correlation"] = "correlation"


@dataclass(frozen=True, slots=True)
class Compared:
    """Two aggregates against each other: `difference` (left - right), `ratio` (left / right), `percent` (the ratio in
    per cent), `change` (the difference in per cent of the right one)."""

    operation: Literal["difference", "ratio", "percent", "change"]
    left: Aggregate
    right: Aggregate
    is_a: Literal["compared"] = "compared"


@dataclass(frozen=True, slots=True)
class Along:
    """An aggregate of a group against those of the other groups: `share` (of the sum of all, in per cent), `running`
    (the sum up to this period), `difference` and `change` (per cent) to the period right before this one, with no
    value where that has no rows."""

    operation: Literal["share", "running", "difference", "change"]
    of: Aggregate
    is_a: Literal["along"] = "along"


Measure = Annotated[Aggregate | Correlation | Compared | Along, Field(discriminator="is_a")]


@dataclass(frozen=True, slots=True)
class Group:
    """A column whose values make groups, or the periods or weekdays (from Monday, 1) of its dates. Rows without a value
    are a group of their own."""

    column: Column
    by: Period | Literal["", "weekday"] = ""


@dataclass(frozen=True, slots=True)
class Join:
    """Each row of the plan's table with the one row of another table that has the same keys. A table with several such
    rows is refused when the plan is computed: sums would count rows twice."""

    table: str
    keys: tuple[tuple[Column, Column], ...]
    """Columns of the plan's table, each with that of the other."""


@dataclass(frozen=True, slots=True)
class Order:
    """By a column of the result, at `place` (from 0): groups come before measures."""

    place: int
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What to compute, of which rows of `table`: measures (for each group, if there are groups), or for a look-up the
    columns `select`. Groups alone give their values. `limit` keeps the first by `order`, and with the last of them all
    that are equal to it; what has no value there is never among the first."""

    table: str
    measures: tuple[Measure, ...] = ()
    groups: tuple[Group, ...] = ()
    where: Condition | None = None
    select: tuple[Column, ...] = ()
    order: tuple[Order, ...] = ()
    limit: int | None = None
    join: Join | None = None


@cache
def _plans() -> TypeAdapter[Plan]:
    """Made when it is first needed: it takes a tenth of a second."""
    return TypeAdapter(Plan)


def to_json(plan: Plan) -> str:
    return _plans().dump_json(plan).decode()


def from_json(text: str) -> Plan:
    """Raises `ValueError` for what is no plan."""
    return _plans().validate_json(text)


def aggregates(measures: Sequence[Measure]) -> list[Aggregate]:
    """The aggregates that measures are made of, each once."""
    found: list[Aggregate] = []
    for measure in measures:
        match measure:
            case Aggregate():
                found.append(measure)
            case Compared():
                found += [measure.left, measure.right]
            case Along():
                found.append(measure.of)
    return list(dict.fromkeys(found))


def columns_of_operand(operand: Operand | None) -> list[Column]:
    match operand:
        case Formula():
            return [operand.left, operand.right]
        case None:
            return []
        case _:
            return [operand]
