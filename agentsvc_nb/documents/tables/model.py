"""What a table is once it is read: columns of one kind each, and notes of everything that was decided on the way. And
what the readers of numbers and dates have in common: empty cells, names of months, how many cells decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final, Literal

COLUMNS_MAX: Final = 1_000
CELLS_MAX: Final = 5_000_000
"""Cells of all tables of a file that Python reads. The engine reads plain CSV files without this limit."""
TABLES_MAX: Final = 100
BYTES_MAX: Final = 200_000_000
REMARKS_MAX: Final = 50
MORE_TABLES: Final = f"The file has more tables than the {TABLES_MAX} that are read."
_NAMED: Final = 5

Kind = Literal["text", "number", "date", "datetime", "time", "boolean"]
Value = str | Decimal | date | datetime | time | bool | None


class UnreadableTable(ValueError):
    """A file that can't be read as tables; the message is one sentence for people."""


class TableTooLarge(UnreadableTable):
    """A file whose tables would have to be cut; the message says what to do."""


def because(error: Exception) -> str:
    """An error's message for such a sentence, in one short line."""
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__


@dataclass(frozen=True, slots=True)
class ReadColumn:
    """A column of one kind. `values` has None where a cell is empty or `misread` (filled, and not of the kind); `texts`
    are the cells as they stand. `remarks` are what was assumed or left out, a sentence each."""

    name: str
    kind: Kind
    values: Sequence[Value]
    texts: Sequence[str]
    unit: str = ""
    """The unit of numbers (`€`, `%`, `kg`), `month` for dates that name months only, the offset of times (`+02:00`)."""
    decimals: int = 0
    misread: int = 0
    decimal_mark: str = ""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AsideRow:
    """A row that is no row of the table's data, such as one of totals: its number in the file, and its cells."""

    number: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableNotes:
    """How the table stands in its file. All of it is for users to know."""

    titles: tuple[str, ...] = ()
    """The lines above the header."""
    totals: tuple[AsideRow, ...] = ()
    """Rows of totals above, between or below the others, which are not among the table's rows."""
    headings: tuple[AsideRow, ...] = ()
    """Rows between the others that have one text in all cells, and only head those below."""
    footers: tuple[str, ...] = ()
    """The lines below the last row."""
    encoding: str = ""
    delimiter: str = ""
    decimal_mark: str = ""
    rows_left_out: int = 0
    columns_left_out: int = 0
    """Rows and columns beyond the limits, which were not read."""
    remarks: tuple[str, ...] = ()

    def also(self, *remarks: str) -> TableNotes:
        """These notes with further remarks."""
        return replace(self, remarks=(*self.remarks, *remarks)[:REMARKS_MAX])


@dataclass(frozen=True, slots=True)
class ReadTable:
    """A table: the name of its sheet, its caption, or its file's stem. `row_numbers` are the rows' numbers in the file,
    counted from 1 with all lines, as spreadsheets do."""

    name: str
    columns: tuple[ReadColumn, ...]
    rows: int
    row_numbers: Sequence[int]
    notes: TableNotes = TableNotes()

    def sentences(self) -> list[str]:
        """What a user should know of how the table was read, a sentence each; none for a plain table."""
        notes = self.notes
        said = [f"Lines above the table: {' / '.join(notes.titles)}."] if notes.titles else []
        said += [f"Lines below the table: {' / '.join(notes.footers)}."] if notes.footers else []
        if notes.totals:
            rows = ", ".join(str(row.number) for row in notes.totals[:_NAMED])
            said.append(
                f"{_counted(len(notes.totals), 'row', 'rows')} of totals left out of its rows (row {rows} of the file)."
            )
        if notes.headings:
            rows = ", ".join(f"{row.cells[0]!r}" for row in notes.headings[:_NAMED])
            said.append(f"{_counted(len(notes.headings), 'row', 'rows')} of headings left out of its rows ({rows}).")
        if notes.rows_left_out:
            said.append(f"The last {notes.rows_left_out:,} rows are beyond the limits and were not read.")
        if notes.columns_left_out:
            said.append(f"The last {notes.columns_left_out:,} columns are beyond the limits and were not read.")
        said += notes.remarks
        for column in self.columns:
            about = list(column.remarks)
            if column.misread:
                about.insert(
                    0, f"{_counted(column.misread, 'cell is', 'cells are')} no {column.kind}, so counted as empty."
                )
            said += [f"Column {column.name}: {one}" for one in about]
        return said

    def form(self) -> str:
        """How a program has to read the delimited file, where that is not with commas, points and UTF-8."""
        notes = self.notes
        said = []
        if notes.delimiter not in ("", ","):
            said.append("separated by " + _DELIMITERS.get(notes.delimiter, repr(notes.delimiter)))
        if notes.delimiter and notes.decimal_mark == ",":
            said.append("with a decimal comma")
        if notes.encoding not in ("", "utf-8"):
            said.append(f"encoded in {notes.encoding}")
        return ", ".join(said)


_DELIMITERS: Final = {"\t": "tabs", " ": "blanks"}


def _counted(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


@dataclass(slots=True)
class RawTable:
    """Rows of cells as a format's reader finds them. Cells are texts, or values of Python where the format has types;
    `header` is the index of the row of names where the format tells, -1 where there is none, else None."""

    name: str
    rows: list[Sequence[Any]]
    header: int | None = None
    notes: TableNotes = field(default_factory=TableNotes)
    first_number: int = 1
    """The number of the first row in the file."""


SHARE: Final = 0.75
"""At least so many of a column's filled cells are of its kind; with fewer it is a column of text."""
SAMPLE: Final = 500
"""Cells by which a column is taken for what it may be, before all are looked at."""
EMPTY: Final = frozenset(
    {
        *("", "-", "--", "---", "–", "—", "n/a", "na", "n.a.", "n. a.", "#n/a", "nan", "null", "none", "nil", "#null!"),
        *("k.a.", "k. a.", "keine angabe", "tbd", "tba", "?", ".", "...", "…", "unknown", "(not set)", "(null)"),
    }
)
"""What stands in columns of numbers and dates where there is none."""

MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar jänner janvier janv enero ene gennaio gen januari janeiro",
            "feb february februar février fevrier févr fevr fév febrero febbraio februari fevereiro fev",
            "mar march märz maerz mär mrz mars marzo maart mrt março",
            "apr april avril avr abril abr aprile",
            "may mai mayo maggio mag mei maio",
            "jun june juni juin junio giugno giu junho",
            "jul july juli juillet juil julio luglio lug julho",
            "aug august août aout agosto ago augustus",
            "sep sept september septembre septiembre settembre set setembro",
            "oct october okt oktober octobre octubre ottobre ott outubro out",
            "nov november novembre noviembre novembro",
            "dec december dez dezember décembre déc diciembre dic dicembre dezembro",
        ),
        1,
    )
    for name in names.split()
}
"""The months by name, in the languages of exports."""


def is_empty(text: str) -> bool:
    """Whether a cell of a column of numbers or dates says that there is none."""
    return not text or text.strip().casefold() in EMPTY
