"""Tables as texts: CSV and TSV, read whole and tolerantly."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from agentsvc_nb.service.rules.numbers import Numbers, read

_DELIMITERS: Final = ",;\t|"
_ID: Final = re.compile(r"(?i)(?:^|[\W_])(?:id|uuid|sku|nr|no|code|key)\.?$|(?<=[a-z])(?:Id|ID|Nr|No)$")


@dataclass(frozen=True)
class Table:
    """A table with a header. Rows are counted from 1, below the header."""

    path: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def cells(self, column: int) -> list[str]:
        return [row[column] for row in self.rows]

    @cached_property
    def numbers(self) -> dict[int, Numbers]:
        """The columns that hold numbers to compute with, by their index. A column of ids only names its rows."""
        found = ((index, read(self.cells(index))) for index in range(len(self.columns)) if not self.is_id(index))
        return {index: numbers for index, numbers in found if numbers is not None}

    def is_id(self, column: int) -> bool:
        """Whether the column only names its rows: it is called so, and no two of its cells are alike."""
        cells = self.cells(column)
        return _ID.search(self.columns[column]) is not None and len(set(cells)) == len(cells)

    @cached_property
    def label(self) -> int | None:
        """The column that names a row: the first that is not numbers."""
        return next((index for index in range(len(self.columns)) if index not in self.numbers), None)

    def name(self, row: int) -> str:
        """What the row (an index from 0) is called."""
        return (self.rows[row][self.label] if self.label is not None else "") or f"row {row + 1}"


def is_table(path: str, media_type: str) -> bool:
    return path.lower().endswith((".csv", ".tsv")) or media_type in ("text/csv", "text/tab-separated-values")


def parse(path: str, text: str) -> Table | None:
    """The table in a text: the delimiter is found out, short rows are filled, empty ones dropped."""
    try:
        lines = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(path, text)) if any(row)]
    except csv.Error:
        return None
    if len(lines) < 2:
        return None
    width = len(lines[0])
    columns = [name.strip() or f"column {index + 1}" for index, name in enumerate(lines[0])]
    rows = [[cell.strip() for cell in (row + [""] * width)[:width]] for row in lines[1:]]
    return Table(path, columns, rows)


def decode(data: bytes) -> str:
    """UTF-8 or UTF-16 by its mark, else UTF-8, else Windows-1252 as spreadsheets still write it."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _delimiter(path: str, text: str) -> str:
    """The candidate that divides the first lines most evenly."""
    if path.lower().endswith(".tsv"):
        return "\t"
    lines = [line for line in text[:20_000].splitlines() if line.strip()][:10]

    def evenness(delimiter: str) -> tuple[int, int]:
        counts = [line.count(delimiter) for line in lines]
        return (min(counts, default=0), counts[0] if counts else 0)

    return max(_DELIMITERS, key=evenness)
