"""Conditions on the rows of tables: a tree of comparisons.

A comparison with an empty cell is neither true nor false, and neither is its opposite: such rows are left out, and
counted as such. `Empty` alone is always true or false; a plan that wants the rows without a value says so with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

from pydantic import Field, PlainSerializer, PlainValidator

from agentsvc_nb.formats.plans.profiles import Kind

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
