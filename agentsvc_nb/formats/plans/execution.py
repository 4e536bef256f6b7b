"""Computes a plan, in a process that has the engine: the service's own never imports it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, time
from decimal import Decimal
from itertools import islice
from typing import Any, Final, Protocol

from agentsvc_nb.formats.plans.accounts import account
from agentsvc_nb.formats.plans.conditions import Value
from agentsvc_nb.formats.plans.plan import Plan
from agentsvc_nb.formats.plans.profiles import Tables
from agentsvc_nb.formats.plans.results import Result
from agentsvc_nb.formats.plans.sql import statement

ROWS_MAX: Final = 10_000


class Engine(Protocol):
    """A connection of DuckDB."""

    def execute(self, query: str, /) -> Any: ...


def compute(engine: Engine, plan: Plan, tables: Tables) -> Result:
    """The result, with at most `ROWS_MAX` rows, of tables made by `dialect.definition`. Raises `PlanError` for a plan
    that can't be computed, and the engine's own errors, for numbers too large for it."""
    made, counted = statement(plan, tables), account(plan, tables)
    total, used, left_out = counted.read(engine.execute(counted.sql).fetchone())
    found = engine.execute(made.sql)
    rows = [_row(row) for row in islice(iter(found.fetchone, None), ROWS_MAX + 1)]
    return Result(made.columns, tuple(rows[:ROWS_MAX]), total, used, left_out, len(rows) > ROWS_MAX)


def _row(row: Sequence[Any]) -> tuple[Value | None, ...]:
    return tuple(map(_value, row))


def _value(cell: Any) -> Value | None:
    if isinstance(cell, float):
        return Decimal(repr(cell)) if math.isfinite(cell) else None
    if isinstance(cell, int) and not isinstance(cell, bool):
        return Decimal(cell)
    if cell is None or isinstance(cell, str | Decimal | bool | date | time):
        return cell
    raise TypeError(f"the engine gave a {type(cell).__name__}")
