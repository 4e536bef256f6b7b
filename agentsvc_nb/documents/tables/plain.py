"""Tables in CSV and TSV as texts alone, for pages and passages, whose text is in hand: divided and headed as
`read_tables` does it, but nothing typed, and rows of totals left where they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentsvc_nb.documents.tables.columns import plain_value, text_of
from agentsvc_nb.documents.tables.delimited import CsvForm, dialect_of, rows_of
from agentsvc_nb.documents.tables.layout import arrange
from agentsvc_nb.documents.tables.model import RawTable, UnreadableTable


@dataclass(frozen=True)
class Table:
    """A table with a header, which is not among `rows`, nor are the lines of `titles` above it. `first` is the number
    of the first row in the file, all lines counted from 1."""

    path: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    titles: Sequence[str] = ()
    first: int = 2


def is_table(path: str, media_type: str) -> bool:
    return path.lower().endswith((".csv", ".tsv")) or media_type in ("text/csv", "text/tab-separated-values")


def form(path: str, text: str) -> CsvForm:
    """How a text is divided; by tabs in a `.tsv` file that has some."""
    return dialect_of(text, "\t" if path.lower().endswith(".tsv") else "")


def parse(path: str, text: str) -> Table | None:
    """The table in a text; None when there is none. Short rows are filled up and empty ones dropped.

    >>> table = parse("ads.csv", "Report of May\\n\\nAd;Clicks\\nBlue;12\\nRed;7\\n")
    >>> table and (table.columns, table.rows, table.titles)
    (['Ad', 'Clicks'], [['Blue', '12'], ['Red', '7']], ('Report of May',))
    """
    try:
        rows, _, _ = rows_of(text, form(path, text))
    except UnreadableTable:
        return None
    grid = arrange(RawTable(path, rows))
    if grid is None or not grid.rows:
        return None
    cells = [[_text(cell) for cell in row] for row in grid.rows]
    return Table(path, grid.names, cells, grid.notes.titles, grid.numbers[0])


def _text(cell: object) -> str:
    return (cell if isinstance(cell, str) else text_of(plain_value(cell))).strip()
