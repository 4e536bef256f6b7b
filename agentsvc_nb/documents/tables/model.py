"""The data model of tables: sheets with the cells of files, and tables with typed columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Final, Literal

BYTES_MAX: Final = 200_000_000
CELLS_MAX: Final = 5_000_000
"""The maximum number of cells that Python reads from a file. The engine reads large CSV files without this limit."""
COLUMNS_MAX: Final = 1_000
TABLES_MAX: Final = 100
NOTES_MAX: Final = 50
UNREAD_SHOWN: Final = 5
MORE_TABLES: Final = f"The file has more than {TABLES_MAX} tables. The others are not read."

Kind = Literal["text", "number", "date", "datetime", "time", "boolean"]
Value = str | Decimal | date | datetime | time | bool | None
Cell = str | int | float | Decimal | date | datetime | time | timedelta | bool | None


class UnreadableTable(ValueError):
    """A file can't be read as tables. The message is one sentence for people."""


class TableTooLarge(UnreadableTable):
    """A file could be read only in part. The message tells what to do."""


class MarkedText(str):
    """A cell that its file marks as text although it looks like a number, such as `="00123"` or the format `00000`."""

    __slots__ = ()


@dataclass(slots=True)
class Sheet:
    """The cells of a sheet, page or text, before its tables are found."""

    name: str
    rows: list[Sequence[Cell]]
    header_rows: int = 0
    """The number of rows that the format marks as header (`thead`, the keys of records), or 0 if it marks no rows."""
    footer_rows: int = 0
    blank_rows_divide: bool = False
    """True if blank rows are only layout, as in workbooks. In delimited text they may be records without values."""
    merged_filled: bool = False
    """True if each cell of a merged area repeats the area's value."""
    decimal_comma: bool = False
    """True if the file's format suggests decimal commas."""
    first_number: int = 1
    """The number of the first row as a person sees it in the file."""
    notes: list[str] = field(default_factory=list)
    encoding: str = ""
    delimiter: str = ""
    rows_left_out: int = 0
    columns_left_out: int = 0
    hidden_rows: frozenset[int] = frozenset()
    """The numbers of rows that a filter of the workbook hides."""


@dataclass(frozen=True, slots=True)
class ReadColumn:
    """A column of one kind.

    `values` has None for an empty or unread cell. `cells` are the file's cells. Durations are numbers of seconds with
    the unit `s`. Percentages are numbers as shown with the unit `%`. A column of months has the kind `date`, the unit
    `month` and the first day of each month.
    """

    name: str
    kind: Kind
    values: Sequence[Value]
    cells: Sequence[Cell]
    unit: str = ""
    decimals: int = 0
    unread: int = 0
    """The number of filled cells that are not of the column's kind."""
    unread_texts: tuple[str, ...] = ()
    decimal_mark: str = ""
    notes: tuple[str, ...] = ()
    doubt: str = ""
    """The question that no cell answers, so that other values are possible, or ""."""


@dataclass(frozen=True, slots=True)
class ReadTable:
    """A table, named by its sheet, its caption or its file.

    `row_numbers` are the rows' numbers in the file, as spreadsheets count them. `notes` are the decisions made while
    reading, one sentence each.
    """

    name: str
    columns: tuple[ReadColumn, ...]
    rows: int
    row_numbers: Sequence[int]
    notes: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    """The lines above the header."""
    total_rows: tuple[int, ...] = ()
    """The numbers of the rows that only add up others. The table does not include these rows."""
    encoding: str = ""
    delimiter: str = ""
    rows_left_out: int = 0
    columns_left_out: int = 0
    """The numbers of rows and columns beyond the limits of a preview."""
    doubt: str = ""
    """The reason why it is uncertain which rows count, such as rows that a filter hides, or ""."""

    def form(self) -> str:
        """Describe how a program must read the file, or return "" for a usual CSV."""
        said = []
        if self.delimiter not in ("", ","):
            said.append("separated by " + {"\t": "tabs", " ": "blanks"}.get(self.delimiter, repr(self.delimiter)))
        if self.delimiter and any(column.decimal_mark == "," for column in self.columns):
            said.append("with a decimal comma")
        if self.encoding not in ("", "utf-8"):
            said.append(f"encoded in {self.encoding}")
        return ", ".join(said)


def summarize(error: Exception) -> str:
    """Shorten an error's message to one line without a full stop."""
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__


def is_filled(cell: Cell) -> bool:
    return cell is not None and cell != "" and not (isinstance(cell, str) and cell.isspace())


def count_filled(row: Sequence[Cell]) -> int:
    return sum(1 for cell in row if is_filled(cell))


def text_of(cell: Cell) -> str:
    """Return a cell's text as a person would write it.

    >>> text_of(3.0), text_of(True), text_of(" a ")
    ('3', 'TRUE', 'a')
    """
    match cell:
        case None:
            return ""
        case str():
            return cell.strip()
        case bool():
            return "TRUE" if cell else "FALSE"
        case Decimal():
            return f"{cell:f}"
        case float():
            return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
        case datetime():
            return cell.isoformat(" ").removesuffix(" 00:00:00")
        case timedelta():
            seconds = int(cell.total_seconds())
            sign, seconds = ("-" if seconds < 0 else ""), abs(seconds)
            return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        case _:
            return str(cell)


def cell_at(row: Sequence[Cell], at: int) -> Cell:
    """Return a cell of a row, or None beyond its end."""
    return row[at] if at < len(row) else None


def row_text(row: Sequence[Cell]) -> str:
    """Join the filled cells of a row, each once."""
    return ", ".join(dict.fromkeys(text for cell in row if (text := text_of(cell))))[:300]
