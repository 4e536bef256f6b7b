"""Tables in HTML, Markdown and Word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from agentsvc_nb.documents.documents import Tolerant
from agentsvc_nb.documents.office import Archive, Target
from agentsvc_nb.documents.tables.delimited import decoded_table
from agentsvc_nb.documents.tables.model import (
    CELLS_MAX,
    COLUMNS_MAX,
    MORE_TABLES,
    TABLES_MAX,
    RawTable,
    TableNotes,
    UnreadableTable,
    because,
)

_SPAN_MAX: Final = 100
_NAME_CHARS: Final = 100
_CELL_CHARS: Final = 10_000
_NESTED_MAX: Final = 20
_UNSEEN: Final = ("script", "style", "template")
_HEADING: Final = re.compile("h[1-6]|caption")
_RULED: Final = frozenset("|:-> \t\r")


@dataclass(slots=True)
class CellRoom:
    """How many cells the tables of a file may still take, and what had no room."""

    cells: int = CELLS_MAX
    rows_left_out: int = 0
    columns_left_out: int = 0

    def notes(self, encoding: str = "") -> TableNotes:
        return TableNotes(encoding=encoding, rows_left_out=self.rows_left_out, columns_left_out=self.columns_left_out)


class TableBuilder:
    """Puts the cells of one table into rows; a cell that spans others is repeated there."""

    def __init__(self, title: str, room: CellRoom) -> None:
        self.title = title
        self._room = room
        self._merged = False
        self.rows: list[Sequence[str]] = []
        self.header: int | None = None
        self._row: list[str] = []
        self._heads = 0
        self._text: list[str] | None = None
        self._spans = (1, 1)
        self._below: dict[int, tuple[str, int]] = {}

    @property
    def in_cell(self) -> bool:
        return self._text is not None

    def row(self) -> None:
        """A row begins; the one before ends."""
        self.end_cell()
        self._fill_spanned(end=True)
        if any(self._row) and self._room.cells <= 0:
            self._room.rows_left_out += 1
        elif any(self._row):
            if self.header is None and self._heads == len(self._row) > 1 and not self.rows:
                self.header = 0
            self.rows.append(self._row)
            self._room.cells -= len(self._row)
        self._row, self._heads = [], 0

    def cell(self, across: int = 1, down: int = 1, head: bool = False) -> None:
        """A cell begins that spans so many columns and rows."""
        self.end_cell()
        self._fill_spanned()
        self._text = []
        self._spans = (min(max(across, 1), _SPAN_MAX), min(max(down, 1), _SPAN_MAX * 100))
        self._heads += self._spans[0] if head else 0

    def widen(self, across: int) -> None:
        """The open cell spans so many columns."""
        self._spans = (min(max(across, 1), _SPAN_MAX), self._spans[1])

    def merge(self) -> None:
        """The open cell is one with that above."""
        self._merged = True

    def text(self, text: str) -> None:
        if self._text is not None and len(self._text) < _CELL_CHARS:
            self._text.append(text)

    def end_cell(self) -> None:
        if self._text is None:
            return
        text = re.sub(r"\s+", " ", "".join(self._text)[:_CELL_CHARS]).strip()
        self._text = None
        if self._merged and self.rows and len(self._row) < len(self.rows[-1]):
            text = text or self.rows[-1][len(self._row)]
        self._merged = False
        across, down = self._spans
        for _ in range(across):
            if len(self._row) < COLUMNS_MAX:
                if down > 1:
                    self._below[len(self._row)] = (text, down - 1)
                self._row.append(text)
            else:
                self._room.columns_left_out = 1  # at least

    def _fill_spanned(self, end: bool = False) -> None:
        """Repeat the cells of rows above that reach into this one."""
        while self._below and (spanned := self._below.get(len(self._row))) and (self._row or not end):
            text, left = spanned
            if left > 1:
                self._below[len(self._row)] = (text, left - 1)
            else:
                del self._below[len(self._row)]
            self._row.append(text)


def read_html(name: str, file: Path) -> list[RawTable]:
    """The tables of a page, by caption or the heading before. Raises `UnreadableTable`."""
    decoded = decoded_table(file.read_bytes())
    page = _Page(name)
    for _ in page.read(decoded.text):
        if len(page.found) > TABLES_MAX:
            break
    page.end_tables()
    return _named(name, page.found, page.room.notes(decoded.encoding))


class _Page(Tolerant):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.found: list[TableBuilder] = []
        self._open: list[TableBuilder] = []
        self.room = CellRoom()
        self._heading: list[str] | None = None
        self._before = ""
        self._unseen = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unseen = tag in _UNSEEN
        if _HEADING.fullmatch(tag):
            self._heading = []
        elif tag == "table" and len(self._open) < _NESTED_MAX:
            self._open.append(TableBuilder(self._before, self.room))
            self.found.append(self._open[-1])
        elif self._open and tag == "tr":
            self._open[-1].row()
        elif self._open and tag in ("td", "th"):
            given = dict(attrs)
            self._open[-1].cell(_number(given.get("colspan")), _number(given.get("rowspan")), tag == "th")
        elif self._open and tag in ("br", "p", "div", "li"):
            self._open[-1].text(" ")

    def handle_endtag(self, tag: str) -> None:
        self._unseen = False
        if _HEADING.fullmatch(tag) and self._heading is not None:
            self._before = re.sub(r"\s+", " ", "".join(self._heading)).strip()[:_NAME_CHARS]
            self._heading = None
            if tag == "caption" and self._open:
                self._open[-1].title = self._before
        elif tag == "table" and self._open:
            self._open.pop().row()
        elif self._open and tag in ("td", "th"):
            self._open[-1].end_cell()
        elif self._open and tag == "tr":
            self._open[-1].row()

    def handle_data(self, data: str) -> None:
        if self._unseen:
            return
        if self._heading is not None:
            self._heading.append(data[:_NAME_CHARS])
        elif self._open:
            self._open[-1].text(data)

    def end_tables(self) -> None:
        while self._open:
            self._open.pop().row()


def _number(written: str | None) -> int:
    return int(written) if written and written.isascii() and written.isdigit() and len(written) < 6 else 1


def _named(name: str, found: Sequence[TableBuilder], notes: TableNotes) -> list[RawTable]:
    """The tables that are more than a frame for a layout, each with a name of its own."""
    real = [one for one in found if len(one.rows) > 1 and max(map(len, one.rows)) > 1]
    notes = notes.also(MORE_TABLES) if len(found) > TABLES_MAX else notes
    taken: set[str] = set()
    named = []
    for one in real[:TABLES_MAX]:
        title, number = one.title or name, 1
        while title in taken:
            number += 1
            title = f"{one.title or name} ({number})"
        taken.add(title)
        named.append(RawTable(title, one.rows, one.header, notes))
    return named


def read_markdown(name: str, file: Path) -> list[RawTable]:
    """The tables of a Markdown text, by the heading before. Raises `UnreadableTable`."""
    decoded = decoded_table(file.read_bytes())
    if not any(_is_ruler(line) for line in decoded.text.splitlines()):
        return []
    found: list[TableBuilder] = []
    heading, room = "", CellRoom()
    tokens = MarkdownIt("commonmark").enable("table").parse(decoded.text)
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type == "inline" and before and before.type == "heading_open":
            heading = _shown(token)[:_NAME_CHARS]
        elif token.type == "table_open":
            found.append(TableBuilder(heading, room))
            found[-1].header = 0
        elif token.type == "tr_close":
            found[-1].row()
        elif token.type in ("th_open", "td_open"):
            found[-1].cell()
        elif token.type == "inline" and found and found[-1].in_cell:
            found[-1].text(_shown(token))
    return _named(name, found, room.notes(decoded.encoding))


def _is_ruler(line: str) -> bool:
    """Whether it may be the line below a table's header."""
    return "-" in line and set(line) <= _RULED


def _shown(token: Token) -> str:
    """The text of a line without its marks."""
    seen = (one for one in token.children or () if one.type != "html_inline")
    return "".join(" " if "break" in one.type else one.content for one in seen)


def read_document(name: str, file: Path) -> list[RawTable]:
    """The tables of a Word document, by the heading before. Raises `UnreadableTable`."""
    target = _Document()
    try:
        with file.open("rb") as opened, Archive(opened) as archive:
            for _ in archive.feed(r"word/document\d*\.xml", target):
                pass
    except Exception as error:  # the file is damaged, or hostile: it may fail in any way
        raise UnreadableTable(f"The document can't be read: {because(error)}.") from None
    return _named(name, target.found, target.room.notes())


class _Document(Target):
    """Receives a Word document's elements: `tbl`, `tr`, `tc`, and texts `t`."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[TableBuilder] = []
        self._open: list[TableBuilder] = []
        self.room = CellRoom()
        self._paragraph: list[str] = []
        self._is_heading = False
        self._before = ""
        self._in_text = False

    def opened(self, name: str, attributes: dict[str, str]) -> None:
        self._in_text = name == "t"
        given = {key.rpartition("}")[2]: value for key, value in attributes.items()}
        if name == "tbl" and len(self._open) < _NESTED_MAX:
            self._open.append(TableBuilder(self._before, self.room))
            self.found.append(self._open[-1])
        elif name == "pStyle" and re.match(r"(?i)heading|title|caption|berschrift|titre", given.get("val", "")):
            self._is_heading = True
        elif self._open and name == "tc":
            self._open[-1].cell()
        elif self._open and name == "gridSpan":
            self._open[-1].widen(_number(given.get("val")))
        elif self._open and name == "vMerge" and given.get("val") != "restart":
            self._open[-1].merge()
        elif self._open and name in ("br", "tab", "p"):
            self._open[-1].text(" ")

    def closed(self, name: str) -> None:
        self._in_text = False
        if name == "p":
            if self._is_heading and not self._open:
                self._before = "".join(self._paragraph).strip()[:_NAME_CHARS]
            self._is_heading, self._paragraph = False, []
        elif self._open and name == "tc":
            self._open[-1].end_cell()
        elif self._open and name == "tr":
            self._open[-1].row()
        elif self._open and name == "tbl":
            self._open.pop().row()
        self.full = len(self.found) > TABLES_MAX

    def text(self, text: str) -> None:
        if not self._in_text:
            return
        if self._open:
            self._open[-1].text(text)
        elif len(self._paragraph) < _NAME_CHARS:
            self._paragraph.append(text)
