"""Split delimited text into a table of texts, for pages that show the text of a file.

Rows and header are found as in `reading.read_tables`, but cells stay texts, and rows of totals stay in the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentsvc_nb.documents.tables.cells import ONE_COLUMN, find_form, parse_rows
from agentsvc_nb.documents.tables.layout import arrange, split_blocks
from agentsvc_nb.documents.tables.model import Sheet, UnreadableTable, text_of


@dataclass(frozen=True)
class TextTable:
    """A delimited text as a table of texts, including rows of totals.

    `first` is the number that the first row has in the file.
    """

    path: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    titles: Sequence[str] = ()
    first: int = 2


def is_delimited(path: str, media_type: str) -> bool:
    """Return True if a file is delimited text, by its name or media type, so that `parse_text` can split it."""
    return path.lower().endswith((".csv", ".tsv")) or media_type in ("text/csv", "text/tab-separated-values")


def parse_text(path: str, text: str) -> TextTable | None:
    r"""Split a delimited text into columns and rows, or return None if it has no table.

    >>> table = parse_text("ads.csv", "Report of May\n\nAd;Clicks\nBlue;12\nRed;7\n")
    >>> table and (table.columns, table.rows, table.titles)
    (['Ad', 'Clicks'], [['Blue', '12'], ['Red', '7']], ['Report of May'])
    """
    form = find_form(text, "\t" if path.lower().endswith(".tsv") else "")
    try:
        rows, _, _ = parse_rows(text, form)
    except UnreadableTable:
        return None
    sheet = Sheet(path, rows, delimiter="" if form.delimiter == ONE_COLUMN else form.delimiter)
    layout = next((found for block in split_blocks(sheet) if (found := arrange(block, sheet))), None)
    if layout is None or not layout.rows:
        return None
    cells = [[text_of(cell) for cell in row.cells] for row in layout.rows]
    return TextTable(path, layout.names, cells, layout.titles, layout.rows[0].number)
