"""DuckDB's SQL: names and values as text that says exactly these, arithmetic that stays exact, and the tables, columns
and conditions of a plan."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Final

from agentsvc_nb.documents.plans.currencies import currency_of
from agentsvc_nb.documents.plans.plan import (
    AllOf,
    AnyOf,
    Between,
    Column,
    Condition,
    Contains,
    Criterion,
    DatePart,
    Empty,
    Not,
    OneOf,
    Plan,
    Subject,
    Value,
    column_of,
    kind_of,
)
from agentsvc_nb.documents.plans.profiles import (
    DECIMALS_MAX,
    ColumnProfile,
    Kind,
    PlanError,
    TableProfile,
    Tables,
    table_of,
)
from agentsvc_nb.documents.plans.roles import is_amount
from agentsvc_nb.documents.tables.numbers import currency_code

DIGITS: Final = 38
"""Digits of the engine's decimals."""
_WHOLE_DIGITS_MIN: Final = 12
_TYPES: Final[dict[Kind, str]] = {
    "text": "VARCHAR",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "time": "TIME",
    "boolean": "BOOLEAN",
}


@dataclass(frozen=True, slots=True)
class Term:
    """An expression of SQL and what its values are. `scale` is the number of decimals that the engine computes, None
    for floating point; `decimals` is how many are shown, of a `quotient` up to two more."""

    sql: str
    kind: Kind
    unit: str = ""
    scale: int | None = 0
    decimals: int = 0
    quotient: bool = False
    currency: str = ""
    """What its amounts are in, also where only the header says so."""
    amount: bool = False
    """Whether they are of money, in whatever currency."""


def quoted(name: str) -> str:
    """A name in SQL. Raises `PlanError` for half a pair of surrogates."""
    return '"' + _encodable(name).replace('"', '""') + '"'


def text(value: str) -> str:
    """A text in SQL. Raises `PlanError` for half a pair of surrogates."""
    return "'" + _encodable(value).replace("'", "''") + "'"


def _encodable(name: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise PlanError("invalid_text", f"{name!r} is no text: it has half a pair of surrogates.") from error
    return name


def literal(value: Value) -> str:
    """A value in SQL. Raises `PlanError` for one that the engine can't hold exactly."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return text(value)
        case Decimal():
            return _number(value)
        case datetime() | time() if value.tzinfo is not None:
            raise PlanError("invalid_value", f"{value} has a time zone, which tables do not.")
        case datetime():
            return f"TIMESTAMP '{value.isoformat(' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case time():
            return f"TIME '{value.isoformat()}'"


def _number(value: Decimal) -> str:
    written = f"{value:f}" if value.is_finite() and value.adjusted() < DIGITS else ""
    whole, _, decimals = written.lstrip("-").partition(".")
    decimals = decimals.rstrip("0")
    if not written or len(decimals) > DECIMALS_MAX or len(whole) > DIGITS - DECIMALS_MAX:
        raise PlanError("invalid_value", f"{value} has more digits than tables can be asked for.")
    sign = "-" if value < 0 else ""
    number = f"{sign}{whole}.{decimals}" if decimals else f"{sign}{whole}"
    return f"({number})" if sign else number


def engine_names(table: TableProfile) -> tuple[str, ...]:
    """The names of the columns in SQL: the engine takes small and capital letters for the same, has a `rowid` of its
    own, and takes no empty name."""
    taken = {"rowid"}
    names = []
    for place, column in enumerate(table.columns, 1):
        base = column.name or f"column {place}"
        name, number = base, 1
        while name.casefold() in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name.casefold())
        names.append(name)
    return tuple(names)


def engine_type(column: ColumnProfile) -> str:
    if column.kind != "number":
        return _TYPES[column.kind]
    return "DOUBLE" if column.decimals is None else f"DECIMAL({DIGITS},{column.decimals})"


def definition(table: TableProfile) -> str:
    """The statement that makes the table, empty, for plans to ask."""
    names = engine_names(table)
    columns = (f"{quoted(name)} {engine_type(column)}" for name, column in zip(names, table.columns, strict=True))
    return f"CREATE TABLE {quoted(table.name)} ({', '.join(columns)})"


def divided(above: Term, below: Term, *, percent: bool = False) -> Term:
    """A quotient without a value where the divisor is 0: exact to at least 12 decimals, the last rounded half to even;
    in floating point only if a part is, or has so many decimals that no exact one fits."""
    top = f"100 * {above.sql}" if percent else above.sql
    unit = "%" if percent else _ratio_unit(above, below)
    decimals = 0 if percent else above.decimals
    scale = None if above.scale is None or below.scale is None else max(DECIMALS_MAX, above.scale)
    if scale is None or scale + (below.scale or 0) > DIGITS - _WHOLE_DIGITS_MIN:
        sql = f"(CAST({top} AS DOUBLE) / nullif(CAST({below.sql} AS DOUBLE), 0))"
        return Term(sql, "number", unit, None, decimals, True)
    # The engine divides if (digits before the decimal point above) + (scale below) + (scale) fit into its decimals.
    width = DIGITS - (below.scale or 0) - scale + (above.scale or 0)
    upper = f"CAST({top} AS DECIMAL({width},{above.scale}))"
    lower = f"CAST(nullif({below.sql}, 0) AS DECIMAL({DIGITS},{below.scale}))"
    return Term(f"decimal_division({upper}, {lower}, {scale})", "number", unit, scale, decimals, True)


def _ratio_unit(above: Term, below: Term) -> str:
    """None for two amounts of money: that of two currencies is objected to (`checks`)."""
    if currency_code(above.unit) == currency_code(below.unit) or (above.amount and below.amount):
        return ""
    return f"{above.unit}/{below.unit}" if below.unit else above.unit


def subtracted(left: Term, right: Term) -> Term:
    scale = None if left.scale is None or right.scale is None else max(left.scale, right.scale)
    unit = common_unit(left, right)
    decimals = max(left.decimals, right.decimals)
    return Term(f"({left.sql} - {right.sql})", "number", unit, scale, decimals, left.quotient or right.quotient)


def common_unit(left: Term, right: Term) -> str:
    """The unit of a sum or a difference; one of two in the same currency may have it in its header only."""
    if currency_code(left.unit) == currency_code(right.unit):
        return left.unit
    return left.unit or right.unit if left.currency == right.currency != "" else ""


_PARTS: Final = {
    "year": "year",
    "quarter": "quarter",
    "month": "month",
    "week": "week",
    "day": "day",
    "weekday": "isodow",
    "hour": "hour",
}


_COMPARED: Final[dict[Kind, tuple[Kind, ...]]] = {"date": ("date", "datetime"), "datetime": ("date", "datetime")}
"""Kinds that are compared with others than their own."""


class Scope:
    """The plan's table is `t`, the one that is joined `u`. Raises `PlanError` for tables and columns that are not
    there."""

    def __init__(self, plan: Plan, tables: Tables) -> None:
        self.join = plan.join
        self._aliases = {plan.table: "t"}
        if plan.join is not None:
            if plan.join.table == plan.table or not plan.join.keys:
                raise PlanError("invalid_join", "A join needs another table, and a key.")
            self._aliases[plan.join.table] = "u"
        self._tables = {name: table_of(tables, name) for name in self._aliases}
        self.table: TableProfile = self._tables[plan.table]

    def source(self, join: str = "JOIN") -> str:
        """The clause `FROM`."""
        made = f"{quoted(self.table.name)} AS t"
        if self.join is not None:
            keys = " AND ".join(self._key(own, other) for own, other in self.join.keys)
            made += f" {join} {quoted(self.join.table)} AS u ON {keys}"
        return f"FROM {made}"

    def _key(self, own: Column, other: Column) -> str:
        left, right = self.profile(own).kind, self.profile(other).kind
        if left != right:
            raise PlanError("wrong_kind", f"A key of {left} is never one of {right}: {own.name!r} and {other.name!r}.")
        return f"{self.sql(own)} = {self.sql(other)}"

    def profile(self, column: Column) -> ColumnProfile:
        return self._table(column).column(column.name)

    def _table(self, column: Column) -> TableProfile:
        if column.table not in self._tables:
            raise PlanError("unknown_table", f"The plan does not read a table {column.table!r}.")
        return self._tables[column.table]

    def sql(self, column: Column) -> str:
        table = self._table(column)
        return f"{self._aliases[column.table]}.{quoted(engine_names(table)[table.place(column.name)])}"

    def term(self, column: Column) -> Term:
        profile = self.profile(column)
        floating = profile.decimals is None
        currency, scale = currency_of(profile), profile.decimals
        amount = bool(currency) or (is_amount(profile) and not profile.unit)
        return Term(
            self.sql(column), profile.kind, profile.unit, scale, scale or 0, floating, currency=currency, amount=amount
        )

    def condition(self, condition: Condition) -> str:
        match condition:
            case Criterion():
                return self._comparison(condition)
            case Between():
                low = self._comparison(Criterion(condition.subject, ">=", condition.low))
                return f"({low} AND {self._comparison(Criterion(condition.subject, '<=', condition.high))})"
            case OneOf():
                return self._one_of(condition)
            case Contains():
                self._subject(condition.column, condition.text)
                return f"contains(lower({self.sql(condition.column)}), lower({text(condition.text)}))"
            case Empty():
                return f"{self.sql(condition.column)} IS NULL"
            case Not():
                return f"NOT ({self.condition(condition.condition)})"
            case AllOf():
                return self._joined(condition.conditions, " AND ", "true")
            case AnyOf():
                return self._joined(condition.conditions, " OR ", "false")

    def _joined(self, conditions: tuple[Condition, ...], word: str, none: str) -> str:
        return f"({word.join(map(self.condition, conditions))})" if conditions else none

    def _comparison(self, one: Criterion) -> str:
        operator = "<>" if one.operator == "!=" else one.operator
        if isinstance(one.right, Column):
            left, right = self.profile(column_of(one.left)).kind, self.profile(one.right).kind
            if isinstance(one.left, DatePart) or right not in _COMPARED.get(left, (left,)):
                raise PlanError("wrong_kind", f"Columns of {left} and of {right} can't be compared.")
            return f"{self._subject(one.left)} {operator} {self.sql(one.right)}"
        return f"{self._subject(one.left, one.right)} {operator} {literal(one.right)}"

    def _one_of(self, one: OneOf) -> str:
        """Dates and datetimes do not stand in one list: each is compared in its own way."""
        if not one.values:
            return f"({self._subject(one.subject)} IS NULL AND NULL)"
        if len({type(value) for value in one.values}) == 1:
            values = ", ".join(map(literal, one.values))
            return f"{self._subject(one.subject, one.values[0])} IN ({values})"
        return self._joined(tuple(Criterion(one.subject, "=", value) for value in one.values), " OR ", "false")

    def _subject(self, subject: Subject, against: Value | None = None) -> str:
        column = column_of(subject)
        kind, sql = self.profile(column).kind, self.sql(column)
        if isinstance(subject, DatePart):
            if kind not in (("time", "datetime") if subject.part == "hour" else ("date", "datetime")):
                raise PlanError("wrong_kind", f"{column.name!r} is a column of {kind}: it has no {subject.part}.")
            kind, sql = "number", f"{_PARTS[subject.part]}({sql})"
        if against is None:
            return sql
        if kind_of(against) not in _COMPARED.get(kind, (kind,)):
            raise PlanError("wrong_kind", f"{column.name!r} is a column of {kind}: {against!r} is none.")
        return f"CAST({sql} AS DATE)" if (kind, kind_of(against)) == ("datetime", "date") else sql
