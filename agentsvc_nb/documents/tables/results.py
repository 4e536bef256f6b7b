"""Write the result of a calculation as Markdown for people and as files for programs (docs/api/files.md "Tables").

Markdown shows units and rounds numbers to the decimals of their column. The files are exact: a CSV file, and a schema
with the types of the columns.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any, Final

from agentsvc_nb.documents.safe_text import table
from agentsvc_nb.documents.tables.model import Kind

Value = str | bool | Decimal | date | datetime | time


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """Describes a column of a result.

    Attributes:
        decimals: The number of decimals to show.
        quotient: True if the numbers are quotients, which are shown with up to two more decimals.
        by: The period for which each date stands, such as `month`, or `weekday`.
        label: True if the numbers identify something (such as years) instead of measuring it.
    """

    title: str
    kind: Kind
    unit: str = ""
    decimals: int = 0
    quotient: bool = False
    by: str = ""
    label: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """Holds rows of exact numbers, texts and dates. None means "no value". `more` is True if further rows exist."""

    columns: tuple[ResultColumn, ...]
    rows: tuple[tuple[Value | None, ...], ...]
    more: bool = False


ROWS_SHOWN: Final = 20
EXTRA_DECIMALS: Final = 2
NO_VALUE: Final = "–"
_PRECISION: Final = 400
"""The precision of rounding. Floating point has up to 309 digits before the decimal point."""
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def markdown(result: Result) -> str:
    """Return a Markdown table of the first rows, with units in its header.

    If the result has more rows, a line below the table tells how many rows it has.
    """
    rows = result.rows[:ROWS_SHOWN]
    columns = [_cells(column, [row[at] for row in rows]) for at, column in enumerate(result.columns)]
    made = table([_head(column) for column in result.columns], zip(*columns, strict=True))
    if result.more or len(result.rows) > ROWS_SHOWN:
        of = f"more than {len(result.rows):,}" if result.more else f"{len(result.rows):,}"
        made += f"\nThe first {len(rows)} of {of} rows.\n"
    return made


def _head(column: ResultColumn) -> str:
    """Return the title of a column, followed by its unit unless the title already contains the unit."""
    unit = column.unit.strip() if column.kind == "number" else ""
    return f"{column.title}, {unit}" if unit and unit not in column.title else column.title


def _cells(column: ResultColumn, values: Sequence[Value | None]) -> list[str]:
    """Return the values of a column as text. Leave out the unit of numbers, because the header has it.

    All quotients get the same number of decimals, up to two more than `column.decimals`, so that their digits align.
    """
    bare = replace(column, unit="") if column.kind == "number" else column
    if column.quotient:
        near = [_round(value, column) for value in values if isinstance(value, Decimal)]
        most = max((-int(number.as_tuple().exponent) for number in near), default=0)
        if column.decimals < most <= column.decimals + EXTRA_DECIMALS:
            bare = replace(bare, decimals=most, quotient=False)
    return [shown(value, bare) for value in values]


def shown(value: Value | None, column: ResultColumn) -> str:
    """Return a value as text for people, with thousands separators and its unit."""
    return _format(value, column, ",", column.unit)


def plain(value: Value | None, column: ResultColumn) -> str:
    """Return a value as text without thousands separators and unit."""
    return _format(value, column, "", "")


def _format(value: Value | None, column: ResultColumn, thousands: str, unit: str) -> str:
    match value:
        case None:
            return NO_VALUE
        case bool():
            return "yes" if value else "no"
        case Decimal():
            if column.by == "weekday" and value in range(1, 8):
                return _WEEKDAYS[int(value) - 1]
            number = f"{_round(value, column):{'' if column.label else thousands}f}"
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


def _round(value: Decimal, column: ResultColumn) -> Decimal:
    """Round a number to the decimals of its column.

    A quotient gets up to two more decimals (or enough for three significant digits) but no trailing zeros.
    """
    with localcontext(prec=_PRECISION, rounding=ROUND_HALF_UP):
        least = column.decimals
        if not column.quotient:
            return value.quantize(Decimal(1).scaleb(-least))
        most = max(least + EXTRA_DECIMALS, 2 - value.adjusted() if value else 0)
        near = value.quantize(Decimal(1).scaleb(-most))
        for decimals in range(least, most):
            if near == (fewer := near.quantize(Decimal(1).scaleb(-decimals))):
                return fewer if fewer else abs(fewer)  # 0, never -0
        return near


CSV: Final = ".csv"
SCHEMA: Final = ".schema.json"
TABLE_BYTES: Final = 8_000_000
"""The maximum size of a CSV file. Larger results are not written, because a part would be mistaken for the whole."""
_TYPES: Final = {"text": "string", "date": "date", "datetime": "datetime", "time": "time", "boolean": "boolean"}


class ResultTooLong(ValueError):
    """The result is too large for a file. The message is a sentence for the user."""


def export_result(result: Result, title: str) -> dict[str, bytes]:
    """Return the contents of a result's two files, CSV and schema, by file extension. Raises `ResultTooLong`."""
    if result.more:
        raise ResultTooLong(f"No file was written: the result has more than {len(result.rows):,} rows.")
    return {CSV: _csv(result), SCHEMA: _schema(result, title)}


def _csv(result: Result) -> bytes:
    lines = [_line([_encodable(column.title) for column in result.columns])]
    size = len(lines[0])
    for row in result.rows:
        line = _line([*map(_cell, row)])
        size += len(line)
        if size > TABLE_BYTES:
            raise ResultTooLong(f"No file was written: the result has more than {TABLE_BYTES // 10**6} MB.")
        lines.append(line)
    return b"".join(lines)


def _line(cells: Sequence[str]) -> bytes:
    line = io.StringIO(newline="")
    csv.writer(line).writerow(cells)
    return line.getvalue().encode()


def _cell(value: Value | None) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case Decimal():
            return f"{value:f}"
        case str():
            return _encodable(value)
        case date() | time():
            return value.isoformat()


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _schema(result: Result, title: str) -> bytes:
    """Return a Frictionless Data Table Schema (JSON) with our own members `unit`, `decimals`, `by` and `rows`."""
    fields = [_field(column) for column in result.columns]
    document = {"title": _encodable(title), "fields": fields, "missingValues": [""], "rows": len(result.rows)}
    return json.dumps(document, ensure_ascii=False, indent=1).encode("utf-8", "replace")


def _field(column: ResultColumn) -> dict[str, Any]:
    kind = _TYPES.get(column.kind) or ("number" if column.decimals or column.quotient else "integer")
    field: dict[str, Any] = {"name": _encodable(column.title), "type": kind}
    if column.kind == "number" and column.unit:
        field["unit"] = _encodable(column.unit)
    if kind == "number":
        field["decimals"] = column.decimals
    return field | ({"by": column.by} if column.by else {})
