"""Previews of tables (CSV, Parquet, workbooks): names, types and first rows, of limited size for any file, as the one
reader has them (docs/decisions/0050-where-tables-are-read.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from agentsvc_nb.notebook.display.render import MUTED, Bundle, size
from agentsvc_nb.notebook.display.results import Cell, grid
from agentsvc_nb.notebook.previews import process
from agentsvc_nb.notebook.previews.kinds import CannotShow, Kind, Subject, ending_of
from agentsvc_nb.notebook.previews.text import source_preview
from agentsvc_nb.wire.text import escape, label

ROWS: Final = 20
COLUMNS: Final = 20
CELL_CHARS: Final = 80
NOTES: Final = 8
TEXT_BYTES: Final = 5_000_000
"""The largest table as text that is fetched whole; of a larger one the beginning is read."""


def csv_preview(subject: Subject, kind: Kind) -> Bundle:
    """The first 20 rows of CSV or TSV; the text if it is not a table."""
    part = subject.cut and subject.file.size_bytes > TEXT_BYTES
    try:
        found = _found(Subject(subject.file, _whole_lines(subject.head)) if part else subject, kind)
    except CannotShow as reason:
        return source_preview(subject, f"no table: {reason}")
    notes = [f"the first {ROWS} rows of {size(subject.file.size_bytes)}, read by its beginning"] if part else []
    return table_bundle("Table", found, notes or [_amount(found)])


def sheet_preview(subject: Subject, kind: Kind) -> Bundle:
    """The first 20 rows of Parquet, or of the first sheet of a workbook.

    Raises `CannotShow` when the file cannot be decoded.
    """
    found = _found(subject, kind)
    return table_bundle(kind.noun, found, [_amount(found)])


def _found(subject: Subject, kind: Kind) -> dict[str, Any]:
    """What is decoded of a file, whose name may have another ending than its kind has."""
    named, endings = ending_of(subject), kind.endings.split()
    with subject.on_disk(named if named in endings else endings[0]) as path:
        return process.asked("beginning", path)


def _whole_lines(head: bytes) -> bytes:
    """The beginning of a text up to the last end of a line that no quotation mark is open at."""
    wide = 2 if b"\0" in head else 1
    last = end = head.rfind(b"\n")
    quotes = head.count(b'"', 0, max(end, 0))
    while end > 0 and quotes % 2:
        before = head.rfind(b"\n", 0, end)
        quotes -= head.count(b'"', max(before, 0), end)
        end = before
    end = end if end > 0 else last
    return head[: (end + wide) // wide * wide] if end > 0 else head


def _amount(found: dict[str, Any]) -> str:
    count, shown = found.get("count", 0), len(found.get("rows", []))
    return f"the first {shown} of {count:,} rows" if count > shown else f"{count:,} row{'s' * (count != 1)}"


def table_bundle(caption: str, found: dict[str, Any], notes: Sequence[str]) -> Bundle:
    """The decoder's answer as a table of at most 20 rows of 20 columns, with the types below the names."""
    names, rows = found.get("names", []), found.get("rows", [])
    columns = [label(name, CELL_CHARS) for name in names[:COLUMNS]]
    kinds = [_type_cell(kind) for kind in found.get("types", [])[: len(columns)]]
    shown = [[_value_cell(value) for value in row[: len(columns)]] for row in rows[:ROWS]]
    told = [*notes]
    if (sheets := found.get("sheets", []))[1:]:
        others = ", ".join(label(name, 40) for name in sheets[1:10])
        told.append(f"{label(sheets[0], 40)}; there are also {others}")
    if hidden := found.get("columns", 0) - len(names):
        told.append(f"{hidden:,} more columns")
    return grid(caption, columns, [kinds, *shown], [*told, *found.get("notes", [])[:NOTES]])


def _type_cell(kind: object) -> Cell:
    return Cell(label(kind, 40), f'<span style="{MUTED}">{escape(kind, 40)}</span>')


def _value_cell(value: object) -> Cell:
    return Cell("" if value is None else label(value, CELL_CHARS))
