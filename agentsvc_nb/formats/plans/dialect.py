"""DuckDB's SQL: names and values as text that says exactly these, and arithmetic that stays exact."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Final

from agentsvc_nb.formats.plans.conditions import Value
from agentsvc_nb.formats.plans.profiles import DECIMALS_MAX, ColumnProfile, Kind, PlanError, TableProfile

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
    unit = "%" if percent else ratio_unit(above.unit, below.unit)
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


def ratio_unit(above: str, below: str) -> str:
    if above == below:
        return ""
    return f"{above}/{below}" if below else above


def subtracted(left: Term, right: Term) -> Term:
    scale = None if left.scale is None or right.scale is None else max(left.scale, right.scale)
    unit = left.unit if left.unit == right.unit else ""
    decimals = max(left.decimals, right.decimals)
    return Term(f"({left.sql} - {right.sql})", "number", unit, scale, decimals, left.quotient or right.quotient)
