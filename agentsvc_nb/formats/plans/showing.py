"""A result as Markdown: numbers with their units, thousands apart, decimals as the column has them."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Final

from agentsvc_nb.formats.plans.conditions import Value
from agentsvc_nb.formats.plans.results import LeftOut, Result, ResultColumn
from agentsvc_nb.formats.safe_text import escape, table

ROWS_SHOWN: Final = 20
EXTRA_DECIMALS: Final = 2
NO_VALUE: Final = "–"
_PRECISION: Final = 400
"""Floating point has 309 digits before the point."""
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def markdown(result: Result, rows: int = ROWS_SHOWN) -> str:
    """A table of the first rows, how many there are, and the rows that were left out."""
    columns = result.columns
    cells = [[shown(value, column) for value, column in zip(row, columns, strict=True)] for row in result.rows[:rows]]
    made = table([column.title for column in columns], cells)
    if result.more or len(result.rows) > rows:
        of = f"more than {len(result.rows):,}" if result.more else f"{len(result.rows):,}"
        made += f"\nThe first {len(cells)} of {of} rows.\n"
    out = left_out(result)
    return f"{made}\n{out}\n" if out else made


def left_out(result: Result) -> str:
    """The rows that were left out, by reason, in a sentence; empty when there are none."""
    reasons = ", ".join(f"{_rows(one.rows)} {_because(one)}" for one in result.left_out)
    return f"Left out: {reasons}." if reasons else ""


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def _because(one: LeftOut) -> str:
    name = escape(one.column)
    return {
        "undecided": f"where the condition on {name} meets an empty cell",
        "empty": f"without a value in {name}",
        "zero": f"where {name} is 0",
        "unmatched": "without a match in the other table",
    }[one.reason]


def shown(value: Value | None, column: ResultColumn) -> str:
    """A value with its unit, for people."""
    return _said(value, column, ",", column.unit)


def plain(value: Value | None, column: ResultColumn) -> str:
    """A value alone: a number has neither separators nor a unit."""
    return _said(value, column, "", "")


def _said(value: Value | None, column: ResultColumn, thousands: str, unit: str) -> str:
    match value:
        case None:
            return NO_VALUE
        case bool():
            return "yes" if value else "no"
        case Decimal():
            if column.by == "weekday" and value in range(1, 8):
                return _WEEKDAYS[int(value) - 1]
            number = f"{rounded(value, column):{'' if column.label else thousands}f}"
            return f"{number}{unit}" if unit in ("", "%") else f"{number} {unit.strip()}"
        case datetime():
            return value.isoformat(" ").removesuffix(" 00:00:00")
        case date():
            return _period(value, column.by or column.unit)
        case time():
            return value.isoformat().removesuffix(":00") if value.second == 0 else value.isoformat()
        case str():
            return value


def _period(day: date, by: str) -> str:
    match by:
        case "year":
            return f"{day.year:04}"
        case "quarter":
            return f"{day.year:04} Q{(day.month + 2) // 3}"
        case "month":
            return f"{day.year:04}-{day.month:02}"
        case "week":
            year, week, _ = day.isocalendar()
            return f"{year:04}-W{week:02}"
        case _:
            return day.isoformat()


def rounded(value: Decimal, column: ResultColumn) -> Decimal:
    """The number with as many decimals as the column has; a quotient has up to two more, or as many as it takes to show
    three digits, but no zeros at their end."""
    with localcontext(prec=_PRECISION, rounding=ROUND_HALF_UP):
        least = column.decimals
        if not column.quotient:
            return value.quantize(Decimal(1).scaleb(-least))
        most = max(least + EXTRA_DECIMALS, 2 - value.adjusted() if value else 0)
        near = value.quantize(Decimal(1).scaleb(-most))
        for decimals in range(least, most):
            if near == (fewer := near.quantize(Decimal(1).scaleb(-decimals))):
                return fewer if fewer else abs(fewer)
        return near
