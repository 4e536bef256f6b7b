"""Define the data model of tables: sheets with the cells of a file, and tables with typed columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Final, Literal

BYTES_MAX: Final = 200_000_000
CELLS_MAX: Final = 5_000_000
"""The maximum number of cells that Python reads from a file. DuckDB reads large CSV files without this limit."""
COLUMNS_MAX: Final = 1_000
TABLES_MAX: Final = 100
NOTES_MAX: Final = 50
UNREAD_SHOWN: Final = 5
MORE_TABLES: Final = f"The file has more than {TABLES_MAX} tables. The others are not read."

Kind = Literal["text", "number", "date", "datetime", "time", "boolean"]
Value = str | Decimal | date | datetime | time | bool | None
Cell = str | int | float | Decimal | date | datetime | time | timedelta | bool | None


class UnreadableTable(ValueError):
    """The file can't be read as tables. The message is a sentence for the user."""


class TableTooLarge(UnreadableTable):
    """The file is too large to be read in full. The message tells the user what to do."""


class MarkedText(str):
    """A cell that is text according to its file although it looks like a number, because of a mark (`="00123"`) or a
    number format (`00000`)."""

    __slots__ = ()


@dataclass(slots=True)
class Sheet:
    """Holds the cells of a workbook's sheet, a web page's table or a delimited text, before its tables are found."""

    name: str
    rows: list[Sequence[Cell]]
    header_rows: int = 0
    """The number of first rows that the file itself marks as header (`thead`, or keys of records), or 0."""
    footer_rows: int = 0
    blank_rows_divide: bool = False
    """True if blank rows separate tables, as in workbooks. In delimited text, they may be rows without values."""
    merged_filled: bool = False
    """True if each cell of a merged area has been filled with the area's value."""
    decimal_comma: bool = False
    """True if the format of the file suggests decimal commas."""
    first_number: int = 1
    """The number that the first row has for a person who looks at the file."""
    notes: list[str] = field(default_factory=list)
    encoding: str = ""
    delimiter: str = ""
    rows_left_out: int = 0
    columns_left_out: int = 0
    hidden_rows: frozenset[int] = frozenset()
    """The numbers of the rows that a filter of the workbook hides."""


@dataclass(frozen=True, slots=True)
class ReadColumn:
    """A column whose values are all of one kind, such as numbers or dates.

    `values` has None for cells that are empty or not of this kind. `cells` are the cells as the file has them.
    Durations are numbers of seconds with the unit `s`. Percentages are numbers as shown, with the unit `%`: 12.5 for
    12.5 %. Months are dates (the first day of each month) with the unit `month`.
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
    """A question about the cells that the file leaves open, so that values may be wrong, or "" if there is none."""


@dataclass(frozen=True, slots=True)
class ReadTable:
    """A table with typed columns. Its name is that of its sheet, its caption or its file.

    `row_numbers` are the rows' numbers in the file, counted from 1 as in spreadsheets. `notes` are sentences about how
    the file was interpreted.
    """

    name: str
    columns: tuple[ReadColumn, ...]
    rows: int
    row_numbers: Sequence[int]
    notes: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    """The lines above the header."""
    total_rows: tuple[int, ...] = ()
    """The numbers of the rows that were left out, because they are totals of other rows."""
    encoding: str = ""
    delimiter: str = ""
    rows_left_out: int = 0
    columns_left_out: int = 0
    """`rows_left_out` and `columns_left_out` count the rows and columns beyond the limits of a preview."""
    doubt: str = ""
    """A sentence that says why it is uncertain which rows count (for example, because a filter hides some), or ""."""
    warning: str = ""
    """A sentence that answers must begin with, because the rows differ from the total that the file states, or ""."""

    def form(self) -> str:
        """Return how a program must read the file, such as "separated by tabs", or "" if the file is a usual CSV."""
        said = []
        if self.delimiter not in ("", ","):
            said.append("separated by " + {"\t": "tabs", " ": "blanks"}.get(self.delimiter, repr(self.delimiter)))
        if self.delimiter and any(column.decimal_mark == "," for column in self.columns):
            said.append("with a decimal comma")
        if self.encoding not in ("", "utf-8"):
            said.append(f"encoded in {self.encoding}")
        return ", ".join(said)


def summarize(error: Exception) -> str:
    """Return the message of an error as one short line without a full stop."""
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
    """Return the cell with index `at`, or None if the row is shorter."""
    return row[at] if at < len(row) else None


def row_text(row: Sequence[Cell]) -> str:
    """Return the distinct texts of a row's cells, joined by commas."""
    return ", ".join(dict.fromkeys(text for cell in row if (text := text_of(cell))))[:300]
