"""Previews of tables (CSV, Parquet, Excel): names, types and first rows, of limited size for any file."""

from __future__ import annotations

import csv
import io
import itertools
import warnings
from collections.abc import Sequence
from typing import Any, Final

from agentsvc_nb.notebook.display.render import MUTED, Bundle, size
from agentsvc_nb.notebook.display.results import Cell, grid
from agentsvc_nb.notebook.previews import process
from agentsvc_nb.notebook.previews.kinds import PARQUET, Kind, Subject
from agentsvc_nb.notebook.previews.text import encoding_notes, source_preview
from agentsvc_nb.wire.text import escape, label

ROWS: Final = 20
COLUMNS: Final = 20
CELL_CHARS: Final = 80
_SEPARATORS: Final = (",", ";", "\t", "|")
_TYPED_ROWS: Final = 100
"""How many rows of a CSV file its types are inferred from."""


def csv_preview(subject: Subject, kind: Kind) -> Bundle:
    """The first 20 rows of CSV or TSV; the text if it is not a table."""
    assert subject.text is not None, "only files that are text get here"
    text = subject.text.text.replace("\0", "")
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text))
        rows = list(itertools.islice((row for row in reader if row), _TYPED_ROWS + 1))
    except csv.Error as error:
        return source_preview(subject, f"no table: {error}")
    if subject.cut and len(rows) <= _TYPED_ROWS:
        rows = rows[:-1] or rows  # the last row is incomplete
    if not rows:
        return source_preview(subject, "no rows")
    notes = [*_csv_amount(subject, len(rows) - 1), *encoding_notes(subject.text)]
    return head_bundle("Table", rows[0], _csv_types(rows[1:]), rows[1 : ROWS + 1], notes)


def _separator(text: str) -> str:
    """Return the separator that occurs most often in the first line."""
    first = text.lstrip("\r\n").partition("\n")[0]
    return max(_SEPARATORS, key=first.count)


def _csv_amount(subject: Subject, read: int) -> list[str]:
    if read <= ROWS and not subject.cut:
        return []
    whole = f" of {size(subject.file.size_bytes)}" if subject.cut else ""
    return [f"the first {min(read, ROWS)} rows{whole}"]


def _csv_types(rows: list[list[str]]) -> list[str]:
    """Return the dtypes that `pandas.read_csv` would infer from these rows alone; none if it fails."""
    import pandas

    if not rows:
        return []
    width = max(map(len, rows))
    written = io.StringIO()
    csv.writer(written).writerows([*row, *[""] * (width - len(row))][:COLUMNS] for row in rows)
    written.seek(0)
    try:
        with warnings.catch_warnings(action="ignore"):
            return [str(kind) for kind in pandas.read_csv(written, header=None, low_memory=False).dtypes]
    except (ValueError, OverflowError):
        return []


def sheet_preview(subject: Subject, kind: Kind) -> Bundle:
    """The first 20 rows of Parquet, or of the first sheet of a workbook.

    Raises `CannotShow` when the file cannot be decoded.
    """
    with subject.on_disk() as path:
        return sheet_bundle(kind, process.asked("parquet" if kind is PARQUET else "workbook", path))


def sheet_bundle(kind: Kind, found: dict[str, Any]) -> Bundle:
    """The decoder's answer as an output."""
    rows, count, names = found.get("rows", []), found.get("count", 0), found.get("names", [])
    notes = [f"the first {len(rows)} of {count:,} rows" if count > len(rows) else f"{count:,} rows"]
    if sheets := found.get("sheets"):
        others = ", ".join(label(name, 40) for name in sheets[1:10])
        notes.append(f"sheet {label(sheets[0], 40)}" + (f"; there are also {others}" if others else ""))
    if hidden := found.get("columns", 0) - len(names):
        notes.append(f"{hidden:,} more columns")
    return head_bundle(kind.noun, names, found.get("types", []), rows, notes)


def head_bundle(
    caption: str, names: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[object]], notes: Sequence[str]
) -> Bundle:
    """A table of at most 20 rows of 20 columns, with the types below the names. Short rows are padded."""
    width = min(COLUMNS, max([len(names), *map(len, rows)]))
    columns = [label(name, CELL_CHARS) for name in _padded(names, width)]
    kinds = [_type_cell(kind) for kind in _padded(types, width)]
    shown = [[_value_cell(value) for value in _padded(row, width)] for row in rows[:ROWS]]
    more = [f"{len(names) - width:,} more columns"] if len(names) > width else []
    return grid(caption, columns, [kinds, *shown] if any(types) else shown, [*notes, *more])


def _padded(row: Sequence[object], width: int) -> list[object]:
    return [*row[:width], *[""] * (width - len(row))]


def _type_cell(kind: object) -> Cell:
    return Cell(label(kind, 40), f'<span style="{MUTED}">{escape(kind, 40)}</span>')


def _value_cell(value: object) -> Cell:
    return Cell("" if value is None else label(value, CELL_CHARS))
