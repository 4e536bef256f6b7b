"""A calculation over one table or two, as data that know no engine: conditions on rows, and the plan itself.

A comparison with an empty cell is neither true nor false, and neither is its opposite: such rows are left out, and
counted as such. `Empty` alone is always true or false; a plan that wants the rows without a value says so with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Final, Literal

from pydantic import Field, PlainSerializer, PlainValidator, TypeAdapter

from agentsvc_nb.documents.plans.profiles import Kind

Operator = Literal["=", "!=", "<", "<=", ">", ">="]
DatePartName = Literal["year", "quarter", "month", "week", "day", "weekday", "hour"]

_READERS: Final[dict[str, Any]] = {
    "number": Decimal,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "time": time.fromisoformat,
}


def _read(given: Any) -> Any:
    """A value out of JSON: a text, true or false, or `{kind: text}`."""
    if isinstance(given, dict) and len(given) == 1:
        kind, text = next(iter(given.items()))
        if kind in _READERS and isinstance(text, str):
            try:
                return _READERS[kind](text)
            except ArithmeticError as error:
                raise ValueError(f"{text!r} is no number") from error
    if isinstance(given, str | bool | Decimal | date | time):
        return given
    raise ValueError("a value is a text, a boolean, or an object of its kind and its text")


def _write(value: Value) -> Any:
    if isinstance(value, str | bool):
        return value
    return {kind_of(value): str(value) if isinstance(value, Decimal) else value.isoformat()}


def kind_of(value: Value) -> Kind:
    match value:
        case bool():
            return "boolean"
        case str():
            return "text"
        case Decimal():
            return "number"
        case datetime():
            return "datetime"
        case date():
            return "date"
        case time():
            return "time"


Value = Annotated[str | Decimal | bool | date | datetime | time, PlainValidator(_read), PlainSerializer(_write)]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of one of the plan's tables."""

    table: str
    name: str
    is_a: Literal["column"] = "column"


@dataclass(frozen=True, slots=True)
class DatePart:
    """A part of a column's dates, as a number; weekdays count from Monday, 1, and weeks are those of ISO 8601."""

    column: Column
    part: DatePartName
    is_a: Literal["part"] = "part"


@dataclass(frozen=True, slots=True)
class Criterion:
    """A column against a value or another column. A datetime is compared with a date as the day that it is on."""

    left: Subject
    operator: Operator
    right: Value | Column
    is_a: Literal["criterion"] = "criterion"


@dataclass(frozen=True, slots=True)
class Between:
    """Both ends belong to the range."""

    subject: Subject
    low: Value
    high: Value
    is_a: Literal["between"] = "between"


@dataclass(frozen=True, slots=True)
class OneOf:
    subject: Subject
    values: tuple[Value, ...]
    is_a: Literal["one_of"] = "one_of"


@dataclass(frozen=True, slots=True)
class Contains:
    """Small and capital letters are the same."""

    column: Column
    text: str
    is_a: Literal["contains"] = "contains"


@dataclass(frozen=True, slots=True)
class Empty:
    column: Column
    is_a: Literal["empty"] = "empty"


@dataclass(frozen=True, slots=True)
class Not:
    condition: Condition
    is_a: Literal["not"] = "not"


@dataclass(frozen=True, slots=True)
class AllOf:
    conditions: tuple[Condition, ...]
    is_a: Literal["all_of"] = "all_of"


@dataclass(frozen=True, slots=True)
class AnyOf:
    conditions: tuple[Condition, ...]
    is_a: Literal["any_of"] = "any_of"


Subject = Annotated[Column | DatePart, Field(discriminator="is_a")]
Condition = Annotated[Criterion | Between | OneOf | Contains | Empty | Not | AllOf | AnyOf, Field(discriminator="is_a")]


def column_of(subject: Subject) -> Column:
    return subject.column if isinstance(subject, DatePart) else subject


def leaves(condition: Condition | None) -> Iterator[Criterion | Between | OneOf | Contains | Empty]:
    """The comparisons of a tree, from left to right."""
    match condition:
        case None:
            return
        case Not():
            yield from leaves(condition.condition)
        case AllOf() | AnyOf():
            for one in condition.conditions:
                yield from leaves(one)
        case _:
            yield condition


def columns_of(condition: Condition | None) -> list[Column]:
    """The columns of a tree, each once."""
    found: list[Column] = []
    for leaf in leaves(condition):
        match leaf:
            case Criterion():
                found.append(column_of(leaf.left))
                if isinstance(leaf.right, Column):
                    found.append(leaf.right)
            case Between() | OneOf():
                found.append(column_of(leaf.subject))
            case Contains() | Empty():
                found.append(leaf.column)
    return list(dict.fromkeys(found))


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
class Kept:
    """Keeps the groups of which the column of the result at `place` compares so with a number."""

    place: int
    operator: Operator
    number: Annotated[Decimal, PlainSerializer(str)]


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
    keep: tuple[Kept, ...] = ()


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
