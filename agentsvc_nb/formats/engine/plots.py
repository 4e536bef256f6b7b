"""A query's rows as a result, so that charts are drawn of both alike."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final

from agentsvc_nb.formats.engine.answers import Plot
from agentsvc_nb.formats.plans.conditions import Value
from agentsvc_nb.formats.plans.execution import value_of
from agentsvc_nb.formats.plans.profiles import Kind
from agentsvc_nb.formats.plans.results import Result, ResultColumn

_KINDS: Final[Sequence[tuple[type, Kind]]] = (
    (bool, "boolean"),
    (Decimal, "number"),
    (datetime, "datetime"),
    (date, "date"),
    (time, "time"),
)


def plotted(columns: Sequence[str], rows: Sequence[Sequence[Any]], plot: Plot, more: bool) -> Result:
    """The first column stands across, the others up: its numbers are names of places, but for points."""
    cells = [[_value(row[at]) for row in rows] for at in range(len(columns))]
    made = [_column(name, values) for name, values in zip(columns, cells, strict=True)]
    if made and plot.kind != "scatter":
        made[0] = ResultColumn(made[0].title, made[0].kind, decimals=made[0].decimals, label=True)
    return Result(tuple(made), tuple(zip(*cells, strict=True)), len(rows), len(rows), more=more)


def _value(cell: Any) -> Value | None:
    try:
        return value_of(cell)
    except TypeError:
        return str(cell)


def _column(name: str, values: Sequence[Value | None]) -> ResultColumn:
    kinds = {_kind(value) for value in values if value is not None}
    kind = kinds.pop() if len(kinds) == 1 else "text"
    numbers = [value for value in values if isinstance(value, Decimal)]
    decimals = max((-int(number.as_tuple().exponent) for number in numbers), default=0)
    return ResultColumn(name, kind, decimals=min(max(decimals, 0), 2), quotient=decimals > 2)


def _kind(value: Value) -> Kind:
    return next((kind for type_, kind in _KINDS if isinstance(value, type_)), "text")
