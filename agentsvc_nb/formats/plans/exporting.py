"""A result as files: CSV, and the types of its columns beside it (docs/api/files.md "Tables and charts"). Exact."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any, Final

from agentsvc_nb.formats.plans.conditions import Value
from agentsvc_nb.formats.plans.results import Result, ResultColumn

CSV: Final = ".csv"
SCHEMA: Final = ".schema.json"
TABLE_BYTES: Final = 8_000_000
"""The most bytes of CSV; further rows are left out, and the schema says so."""
_TYPES: Final = {"text": "string", "date": "date", "datetime": "datetime", "time": "time", "boolean": "boolean"}


def exported(result: Result, title: str) -> dict[str, bytes]:
    """The contents of the files of a table, by the ending of their names."""
    rows, data = _csv(result)
    cut = result.more or rows < len(result.rows)
    return {CSV: data, SCHEMA: _schema(result, title, rows, cut)}


def _csv(result: Result) -> tuple[int, bytes]:
    """How many rows fit, and the CSV of them."""
    lines = [_line([_encodable(column.title) for column in result.columns])]
    size = len(lines[0])
    for row in result.rows:
        line = _line([*map(_cell, row)])
        size += len(line)
        if size > TABLE_BYTES:
            break
        lines.append(line)
    return len(lines) - 1, b"".join(lines)


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


def _schema(result: Result, title: str, rows: int, cut: bool) -> bytes:
    """A Table Schema of Frictionless Data; what it has no word for (`unit`, `decimals`, `by`, `rows`, `more`) stands
    beside its own."""
    fields = [_field(column) for column in result.columns]
    document = {"title": _encodable(title), "fields": fields, "missingValues": [""], "rows": rows, "more": cut}
    return json.dumps(document, ensure_ascii=False, indent=1).encode("utf-8", "replace")


def _field(column: ResultColumn) -> dict[str, Any]:
    kind = _TYPES.get(column.kind) or ("number" if column.decimals or column.quotient else "integer")
    field: dict[str, Any] = {"name": _encodable(column.title), "type": kind}
    if column.kind == "number" and column.unit:
        field["unit"] = _encodable(column.unit)
    if kind == "number":
        field["decimals"] = column.decimals
    return field | ({"by": column.by} if column.by else {})
