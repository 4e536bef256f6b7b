"""Convert an HTML tree (from `documents.markup`) to Markdown with headings, lists, tables, links and code, but no
pictures.

Models read this Markdown, search indexes it, and answers quote it. To keep the text unchanged, only characters that
would change its structure are escaped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from agentsvc_nb.documents.markup import TextPieces, box_mark, walk

if TYPE_CHECKING:
    from lxml.etree import _Element

_BLOCKS: Final = frozenset(
    {"address", "article", "aside", "blockquote", "body", "button", "caption", "dd", "details", "div", "dl", "dt"}
    | {"fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "legend", "main", "nav", "p", "pre"}
    | {"section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "label"}
)
_HEADING: Final = re.compile("h[1-6]")
_SPAN_MAX: Final = 200
"""The maximum number of columns that a cell may span."""
_INDENT: Final = "   "
"""The indent of a nested list, which works in bulleted and numbered lists."""


def to_markdown(root: _Element, url: str | None = None) -> str:
    """Return the visible text of a page as Markdown.

    Args:
        root: The tree that `parse_html` returned.
        url: The page's address, to make links absolute. None leaves links out.

    >>> from agentsvc_nb.documents.markup import parse_html
    >>> to_markdown(parse_html("<h1>Sale</h1><p>All <a href='/tents'>tents</a>."), "https://shop.example/")
    '# Sale\\n\\nAll [tents](https://shop.example/tents).'
    """
    writer = _MarkdownWriter(url)
    for event, element, text in walk(root):
        if event == "text":
            writer.text(text)
        elif event == "start":
            writer.start(element)
        else:
            writer.end(element)
    writer.end_block()
    return "\n\n".join(writer.blocks)


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of cells as a Markdown table, with the first row as header. Return "" if no cell has text.

    >>> markdown_table([["Day", "Cost"], ["Monday", "1|2"]])
    '| Day | Cost |\\n| --- | --- |\\n| Monday | 1\\\\|2 |'
    """
    width = max((at + 1 for row in rows for at, cell in enumerate(row) if cell), default=0)
    if not width:
        return ""
    lines = [[" ".join(cell.split()).replace("|", "\\|") for cell in row[:width]] for row in rows]
    lines = [line + [""] * (width - len(line)) for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], ["---"] * width, *lines[1:]])


def is_data_table(table: _Element) -> bool:
    """Return True if a table contains data. Return False if it only lays out the page.

    A table for layout has a `role` that says so, contains other tables or headings, or has only one column.
    """
    if table.get("role") in ("presentation", "none") or next(table.iterdescendants("table"), None) is not None:
        return False
    if next(table.iterdescendants("h1", "h2", "h3", "pre"), None) is not None:
        return False
    return any(len(row.findall("td") + row.findall("th")) > 1 for row in table.iter("tr"))


class _MarkdownWriter:
    """Collects blocks of Markdown. The caller walks the tree, and passes each event to this writer."""

    def __init__(self, url: str | None) -> None:
        self.blocks: list[str] = []
        self._url = url
        self._pieces: list[str] = []
        self._link: tuple[str, int] | None = None
        self._lists: list[int | None] = []
        """The number of the last item of each open list, or None for bullets."""
        self._mark = ""
        """The beginning of the next block of a list item."""
        self._table: _TableRows | None = None
        self._verbatim = False

    def text(self, text: str) -> None:
        self._pieces.append(text if self._verbatim else re.sub(r"\s+", " ", text))

    def start(self, element: _Element) -> None:
        tag = element.tag
        if self._table is not None:
            self._start_in_table(element, self._table)
        elif tag == "table" and is_data_table(element):
            self.end_block()
            self._table = _TableRows(element)
        elif tag == "pre":
            self.end_block()
            self._verbatim = True
        elif tag in ("ul", "ol"):
            self.end_block()
            first = element.get("start", "1")
            self._lists.append(int(first) - 1 if tag == "ol" and first.isdecimal() else 0 if tag == "ol" else None)
        elif tag == "li":
            self.end_block()
            number = self._lists[-1] if self._lists else None
            if number is not None:
                self._lists[-1] = number + 1
            self._mark = "- " if number is None else f"{number + 1}. "
        elif _HEADING.fullmatch(tag) or tag in _BLOCKS:
            self.end_block()
        elif tag == "br":
            self._pieces.append("\n")
        elif tag == "a" and self._url is not None and element.get("href"):
            self._link = element.get("href", ""), len(self._pieces)
        else:
            self._pieces.append(box_mark(element))

    def _start_in_table(self, element: _Element, rows: _TableRows) -> None:
        if element.tag == "tr":
            rows.add_row()
        elif element.tag in ("td", "th"):
            self._pieces.clear()
        elif element.tag in _BLOCKS or element.tag in ("br", "li"):
            self._pieces.append(" ")
        else:
            self._pieces.append(box_mark(element))

    def end(self, element: _Element) -> None:
        tag = element.tag
        if self._table is not None:
            if tag in ("td", "th"):
                self._table.add_cell(self._take_text(), element)
            elif tag == "caption":
                self._add(" ".join(self._take_text().split()))
            elif element is self._table.element:
                self._add(markdown_table(self._table.rows))
                self._table = None
        elif tag == "pre":
            if text := self._take_text().strip("\n"):
                self.blocks.append(f"```\n{text}\n```")
            self._verbatim = False
        elif tag in ("ul", "ol"):
            self.end_block()
            if self._lists:
                self._lists.pop()
        elif _HEADING.fullmatch(tag):
            if text := " ".join(self._take_text().split()):
                self._add("#" * int(tag[1]) + f" {text}")
        elif tag == "a" and self._link is not None:
            self._end_link(*self._link)
            self._link = None
        elif tag == "li" or tag in _BLOCKS:
            self.end_block()

    def _end_link(self, href: str, begun: int) -> None:
        text = " ".join("".join(self._pieces[begun:]).split())
        try:
            url = urljoin(self._url or "", href.strip())
        except ValueError:
            return
        if text and url.startswith(("http://", "https://")) and " " not in url:
            before = " " if "".join(self._pieces[begun:]).startswith(" ") else ""
            self._pieces[begun:] = [f"{before}[{text}]({url})"]

    def end_block(self) -> None:
        """End the current paragraph or list item: add the collected text as a block."""
        lines = (" ".join(line.split()) for line in self._take_text().split("\n"))
        if text := "\n".join(line for line in lines if line):
            self._add(text)
        self._link = None

    def _add(self, block: str) -> None:
        """Add a block of Markdown, indented if it is in a list. List items follow each other without a blank line."""
        if not block:
            return
        if not self._lists:
            self.blocks.append(block)
            return
        outer = _INDENT * (len(self._lists) - 1)
        first, rest = (outer + self._mark, outer + _INDENT) if self._mark else (outer + _INDENT, outer + _INDENT)
        lines = block.split("\n")
        item = "\n".join([first + lines[0], *(rest + line for line in lines[1:])])
        if self._mark and self.blocks and re.match(r"\s*(?:-|\d+\.) ", self.blocks[-1].rpartition("\n")[2]):
            self.blocks[-1] += f"\n{item}"
        else:
            self.blocks.append(item)
        self._mark = ""

    def _take_text(self) -> str:
        pieces = TextPieces()
        pieces.add("".join(self._pieces))
        self._pieces.clear()
        return pieces.joined()


class _TableRows:
    """Collects the rows of a table. A cell's text is in each row that the cell spans, but only in its first column."""

    def __init__(self, element: _Element) -> None:
        self.element = element
        self.rows: list[list[str]] = []
        self._spanning: dict[int, tuple[str, int]] = {}
        """Maps each column to the text of a cell above, and the number of rows that this cell still spans."""

    def add_row(self) -> None:
        self._fill()
        self.rows.append([])
        self._fill()

    def add_cell(self, text: str, cell: _Element) -> None:
        if not self.rows:
            return
        text, row = " ".join(text.split()), self.rows[-1]
        for at in range(_span(cell, "colspan")):
            if (high := _span(cell, "rowspan")) > 1:
                self._spanning[len(row)] = (text if at == 0 else "", high - 1)
            row.append(text if at == 0 else "")
        self._fill()

    def _fill(self) -> None:
        """Append the cells that extend from rows above into the next columns of the last row."""
        if not self.rows:
            return
        row = self.rows[-1]
        while found := self._spanning.pop(len(row), None):
            text, left = found
            if left > 1:
                self._spanning[len(row)] = (text, left - 1)
            row.append(text)


def _span(cell: _Element, name: str) -> int:
    given = cell.get(name, "1")
    return min(int(given), _SPAN_MAX) if given.isdecimal() and given.isascii() and int(given) else 1
