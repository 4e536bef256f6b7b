"""Computes a plan, in a process that has the engine: the service's own never imports it. One statement gives the
result, one more how many rows it used, and how many were left out and why."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from itertools import islice
from typing import Any, Final, Protocol

from agentsvc_nb.documents.plans.dialect import Scope
from agentsvc_nb.documents.plans.plan import (
    Column,
    Condition,
    Correlation,
    Formula,
    Operand,
    Plan,
    Value,
    aggregates,
    columns_of,
    columns_of_operand,
)
from agentsvc_nb.documents.plans.profiles import PlanError, Tables
from agentsvc_nb.documents.plans.results import LeftOut, Result
from agentsvc_nb.documents.plans.sql import statement
from agentsvc_nb.documents.tables.model import MONTHS

ROWS_MAX: Final = 10_000


class TableEngine(Protocol):
    """A connection of DuckDB."""

    def execute(self, query: str, /) -> Any: ...


def compute(engine: TableEngine, plan: Plan, tables: Tables) -> Result:
    """The result, with at most `ROWS_MAX` rows, of tables made by `dialect.definition`. Raises `PlanError` for a plan
    that can't be computed, and the engine's own errors, for numbers too large for it."""
    made, counted = statement(plan, tables), account(plan, tables)
    total, used, left_out = counted.read(engine.execute(counted.sql).fetchone())
    found = engine.execute(made.sql)
    rows = [_row(row) for row in islice(iter(found.fetchone, None), ROWS_MAX + 1)]
    kept = _by_months(rows[:ROWS_MAX], plan)
    return Result(made.columns, tuple(kept), total, used, left_out, len(rows) > ROWS_MAX)


_Row = tuple[Value | None, ...]


def _by_months(rows: list[_Row], plan: Plan) -> list[_Row]:
    """Groups that are called by months in the order of the year, unless another was asked for."""
    if not plan.groups or plan.groups[0].by or plan.order or plan.limit is not None:
        return rows
    months = [MONTHS.get(cell.strip(" .").casefold(), 0) if isinstance(cell := row[0], str) else 13 for row in rows]
    if 0 in months or months.count(13) == len(months):
        return rows
    return [row for _, row in sorted(zip(months, rows, strict=True), key=lambda one: one[0])]


def _row(row: Sequence[Any]) -> _Row:
    return tuple(map(value_of, row))


def value_of(cell: Any) -> Value | None:
    """A cell of the engine. Raises `TypeError` for one of a type that plans do not have."""
    if isinstance(cell, float):
        return Decimal(repr(cell)) if math.isfinite(cell) else None
    if isinstance(cell, int) and not isinstance(cell, bool):
        return Decimal(cell)
    if cell is None or isinstance(cell, str | Decimal | bool | date | time):
        return cell
    raise TypeError(f"the engine gave a {type(cell).__name__}")


@dataclass(frozen=True, slots=True)
class Account:
    """`sql` gives one row: the table's rows, those with a match in the joined table, the pairs of the join, the rows
    used, and for each of `reasons` the rows left out."""

    sql: str
    reasons: tuple[LeftOut, ...]

    def read(self, row: Sequence[int]) -> tuple[int, int, tuple[LeftOut, ...]]:
        """Total and used rows, and those left out. Raises `PlanError` when a key of the join stands in several rows of
        the other table."""
        total, matched, pairs, used, *counts = row
        if pairs > matched:
            raise PlanError("join_multiplies", "A key of the join stands in several rows of the other table.")
        out = [LeftOut(one.reason, one.column, rows) for one, rows in zip(self.reasons, counts, strict=True) if rows]
        if total > matched:
            out.insert(0, LeftOut("unmatched", "", total - matched))
        return total, used, tuple(out)


def account(plan: Plan, tables: Tables) -> Account:
    """Raises `PlanError` for tables and columns that are not there."""
    scope = Scope(plan, tables)
    matched = "true" if plan.join is None else "u.rowid IS NOT NULL"
    fits = f"{matched} AND {scope.condition(plan.where)}" if plan.where is not None else matched
    entering: list[str] = []
    reasons: dict[LeftOut, str] = {}
    for column in columns_of(plan.where):
        undecided = f"{matched} AND ({scope.condition(plan.where)}) IS NULL" if plan.where is not None else "false"
        reasons[LeftOut("undecided", column.name, 0)] = f"{undecided} AND {scope.sql(column)} IS NULL"
    for columns, where, divisor in _computed(plan):
        here = f"{fits} AND {scope.condition(where)}" if where is not None else fits
        known = [f"{scope.sql(column)} IS NOT NULL" for column in columns]
        if divisor is not None:
            known.append(f"{scope.sql(divisor)} <> 0")
            _add(reasons, LeftOut("zero", divisor.name, 0), f"{here} AND {scope.sql(divisor)} = 0")
        for column in columns:
            _add(reasons, LeftOut("empty", column.name, 0), f"{here} AND {scope.sql(column)} IS NULL")
        entering.append(" AND ".join([here, *known]))
    used = " OR ".join(f"({one})" for one in entering) or fits
    if len(entering) > 1:
        reasons = _parted(reasons, used)
    rows = "count(*)" if plan.join is None else "count(DISTINCT t.rowid)"
    counts = [rows, f"{rows} FILTER (WHERE {matched})"]
    counts += [f"count(*) FILTER (WHERE {one})" for one in (matched, used, *reasons.values())]
    return Account(f"SELECT {', '.join(counts)}\n{scope.source('LEFT JOIN')}", tuple(reasons))


def _parted(reasons: Mapping[LeftOut, str], used: str) -> dict[LeftOut, str]:
    """Of rows without a value in a column those apart that are used all the same, for what is computed of others."""
    found: dict[LeftOut, str] = {}
    for one, condition in reasons.items():
        if one.reason != "empty":
            found[one] = condition
            continue
        found[one] = f"({condition}) AND coalesce({used}, false) = false"
        found[LeftOut("partly", one.column, 0)] = f"({condition}) AND ({used})"
    return found


def _add(reasons: dict[LeftOut, str], reason: LeftOut, condition: str) -> None:
    reasons[reason] = f"({reasons[reason]}) OR ({condition})" if reason in reasons else condition


def _computed(plan: Plan) -> list[tuple[list[Column], Condition | None, Column | None]]:
    """Of each measure the columns that must have a value, its own condition, and the column that must not be 0."""
    found: list[tuple[list[Column], Condition | None, Column | None]] = []
    for measure in plan.measures:
        if isinstance(measure, Correlation):
            found.append(([measure.left, measure.right], None, None))
        for one in aggregates([measure]):
            found.append((columns_of_operand(one.operand), one.where, _divisor(one.operand)))
    return found


def _divisor(operand: Operand | None) -> Column | None:
    return operand.right if isinstance(operand, Formula) and operand.operator == "/" else None
