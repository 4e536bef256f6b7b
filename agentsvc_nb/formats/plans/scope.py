"""Where SQL of a plan finds its tables: their aliases, their columns, and its conditions."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.formats.plans.conditions import (
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
    Subject,
    Value,
    column_of,
    kind_of,
)
from agentsvc_nb.formats.plans.dialect import Term, engine_names, literal, quoted, text
from agentsvc_nb.formats.plans.plan import Plan
from agentsvc_nb.formats.plans.profiles import ColumnProfile, Kind, PlanError, TableProfile, Tables, table_of

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
        return Term(self.sql(column), profile.kind, profile.unit, profile.decimals, profile.decimals or 0, floating)

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
