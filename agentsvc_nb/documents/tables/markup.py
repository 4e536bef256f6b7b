"""Read the tables in HTML, Word and Markdown files. Word and Markdown are first converted to HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agentsvc_nb.documents.markup import parse_html, visible_text, word_to_html
from agentsvc_nb.documents.tables.cells import decode_table, encoding_notes
from agentsvc_nb.documents.tables.model import (
    CELLS_MAX,
    COLUMNS_MAX,
    MORE_TABLES,
    TABLES_MAX,
    Sheet,
    TableTooLarge,
    UnreadableTable,
    is_filled,
    summarize,
)

if TYPE_CHECKING:
    from lxml.etree import _Element

_SPAN_MAX: Final = 100
_ROWS_SPANNED_MAX: Final = 10_000
_NAME_CHARS: Final = 100
_CELL_CHARS: Final = 10_000
_WORD_CHARS_MAX: Final = 1_000_000
"""The length above which `word_to_html` may truncate the text of a Word file."""
_RULED: Final = frozenset("|:-> \t\r")


@dataclass(slots=True)
class _CellBudget:
    """Holds the number of cells that may still be read, and the numbers of rows and columns left out so far."""

    cells: int
    rows_left_out: int = 0
    columns_left_out: int = 0


def read_html(name: str, data: bytes, cells_max: int = CELLS_MAX) -> list[Sheet]:
    """Read the tables of a web page. Their names are their captions or the headings above. Raises `UnreadableTable`."""
    decoded = decode_table(data)
    found = _read_page(name, decoded.text, cells_max)
    for sheet in found:
        sheet.encoding = decoded.encoding
        sheet.notes += encoding_notes(decoded, data)
    return found


def read_word(name: str, data: bytes, cells_max: int = CELLS_MAX) -> list[Sheet]:
    """Read the tables of a Word document. Their names are the headings above them. Raises `UnreadableTable`."""
    try:
        page = word_to_html(data)
    except ValueError as error:
        raise UnreadableTable(f"The document can't be read: {summarize(error)}.") from None
    if len(re.sub(r"<[^>]*>", "", page)) > _WORD_CHARS_MAX:
        raise TableTooLarge("The document has more than 1 MB of text, so nothing was computed. Split it.")
    return _read_page(name, page, cells_max)


def read_markdown(name: str, data: bytes, cells_max: int = CELLS_MAX) -> list[Sheet]:
    """Read the tables of a Markdown text. Their names are the headings above them. Raises `UnreadableTable`."""
    from markdown_it import MarkdownIt

    decoded = decode_table(data)
    if not any("-" in line and set(line) <= _RULED for line in decoded.text.splitlines()):
        return []
    return _read_page(name, MarkdownIt("commonmark").enable("table").render(decoded.text), cells_max)


def _read_page(name: str, text: str, cells_max: int) -> list[Sheet]:
    try:
        root = parse_html(text)
    except ValueError as error:
        raise UnreadableTable(f"The page can't be read: {summarize(error)}.") from None
    found: list[Sheet] = []
    taken: set[str] = set()
    heading = ""
    room = _CellBudget(cells_max)
    more = False
    for node in root.iter("table", "h1", "h2", "h3", "h4", "h5", "h6"):
        if node.tag != "table":
            heading = visible_text(node)[:_NAME_CHARS] or heading
            continue
        if next((inner for inner in node.iter("table") if inner is not node), None) is not None:
            continue  # a table with tables in it only lays out the page
        caption = node.find("caption")
        title = visible_text(caption)[:_NAME_CHARS] if caption is not None else ""
        sheet = _read_table(node, room)
        if len(sheet.rows) < 2 or max(map(len, sheet.rows)) < 2:
            continue
        if len(found) >= TABLES_MAX:
            more = True
            break
        base = free = title or heading or name
        number = 1
        while free in taken:
            number += 1
            free = f"{base} ({number})"
        taken.add(free)
        sheet.name = free
        found.append(sheet)
    if more:
        for sheet in found:
            sheet.notes.append(MORE_TABLES)
    return found


def _read_table(table: _Element, room: _CellBudget) -> Sheet:
    """Return the cells of a table. A cell that spans rows or columns is repeated in each of them."""
    sheet = Sheet("", [], blank_rows_divide=True, merged_filled=True)
    spanned: dict[int, tuple[str, int]] = {}
    in_head = True
    for line, part in _iter_rows(table):
        row: list[str] = []
        heads_only = True
        for cell in line.iterchildren("td", "th"):
            _take_spanned(row, spanned)
            heads_only = heads_only and cell.tag == "th"
            text = visible_text(cell)[:_CELL_CHARS]
            across = min(_to_int(cell.get("colspan")), _SPAN_MAX)
            down = min(_to_int(cell.get("rowspan")), _ROWS_SPANNED_MAX)
            for _ in range(across):
                if len(row) > COLUMNS_MAX:
                    room.columns_left_out = 1
                    break
                if down > 1:
                    spanned[len(row)] = (text, down - 1)
                row.append(text)
        _take_spanned(row, spanned)
        if not row:
            continue
        if room.cells <= 0:
            room.rows_left_out += any(map(is_filled, row))
            continue
        room.cells -= len(row)
        # Rows of `th` without `thead` are headers, too, but not below rows of data.
        in_head = in_head and (part == "thead" or heads_only)
        sheet.header_rows += in_head
        sheet.footer_rows += part == "tfoot"
        sheet.rows.append(row)
    sheet.rows_left_out, sheet.columns_left_out = room.rows_left_out, room.columns_left_out
    if sheet.header_rows == len(sheet.rows):
        sheet.header_rows = 0
    return sheet


def _iter_rows(table: _Element) -> Iterator[tuple[_Element, str]]:
    """Yield the rows of a table in the order of browsers, each with the tag of its section, such as `thead`."""
    lines = [(line, str(parent.tag)) for line in table.iter("tr") if (parent := line.getparent()) is not None]
    yield from sorted(lines, key=lambda one: {"thead": 0, "tfoot": 2}.get(one[1], 1))


def _take_spanned(row: list[str], spanned: dict[int, tuple[str, int]]) -> None:
    """Append to `row` the cells from rows above that span its next columns."""
    while (above := spanned.pop(len(row), None)) is not None:
        text, left = above
        if left > 1:
            spanned[len(row)] = (text, left - 1)
        row.append(text)


def _to_int(written: str | None) -> int:
    return max(1, int(written)) if written and written.isascii() and written.isdigit() and len(written) < 6 else 1
