"""Word and PowerPoint files as Markdown, to be looked at."""

from __future__ import annotations

import re
from typing import BinaryIO, Final

from agentsvc_nb.documents import safe_text
from agentsvc_nb.documents.office import Archive, Paragraphs

_ROWS_MAX: Final = 1_000
"""Of a table that is shown as Markdown: each is filled up to the widest."""
_HEADING: Final = re.compile(r"(?:heading|.?berschrift|titre|t.?tulo) ?([1-6])", re.IGNORECASE)
_TITLES: Final = ("title", "titel", "ctrTitle")


class Formatted(Paragraphs):
    """Paragraphs as Markdown that shows exactly this text: headings, items of lists, tables, paragraphs; about `room`
    characters of it."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self._room = room
        self._done: list[str] = []
        self._level = 0
        self._title = self._item = False
        self._tables = 0
        self._rows: list[list[str]] = []

    def taken(self) -> str:
        """What is whole: a paragraph may go on in the next part of the member."""
        done, self._done = self._done, []
        return "".join(done)

    def opened(self, name: str, attributes: dict[str, str]) -> None:
        super().opened(name, attributes)
        if name == "pStyle":
            self._level = _level(next(iter(attributes.values()), ""))
        elif name == "ph":
            self._title = attributes.get("type", "") in _TITLES
        elif name == "numPr":
            self._item = True
        elif name == "tbl":
            self._tables += 1
        elif self._tables == 1 and name == "tr":
            self._rows.append([])
        elif self._tables == 1 and name == "tc" and self._rows:
            self._rows[-1].append("")

    def closed(self, name: str) -> None:
        super().closed(name)
        if name == "p" and not self._repeating:
            self._end_paragraph()
        elif name == "sp":
            self._title = False
        elif name == "tbl":
            self._tables -= 1
            if not self._tables:
                self._end_table()

    def _end_paragraph(self) -> None:
        text, self._pieces = " ".join("".join(self._pieces).split()), []
        level = 2 if self._title else self._level
        mark = "#" * level + " " if level else "- " if self._item else ""
        self._level, self._item = 0, False
        if self._tables and self._rows and self._rows[-1]:
            self._rows[-1][-1] = f"{self._rows[-1][-1]} {text}".strip()
        elif text:
            self._put(f"{mark}{safe_text.escape(text)}\n\n")

    def _end_table(self) -> None:
        width = max(map(len, self._rows), default=0)
        rows, self._rows = [row + [""] * (width - len(row)) for row in self._rows[:_ROWS_MAX]], []
        if width:
            self._put(safe_text.table(rows[0], rows[1:]) + "\n")

    def _put(self, markdown: str) -> None:
        self._done.append(markdown)
        self._room -= len(markdown)
        self.full = self._room <= 0


def _level(style: str) -> int:
    """
    The level of heading that a style is called after; 0 for any other.

    >>> _level("Heading2"), _level("berschrift1"), _level("Title"), _level("Normal")
    (2, 1, 1, 0)
    """
    found = _HEADING.fullmatch(style)
    return int(found[1]) if found else int(style.lower() in _TITLES)


def formatted(file: BinaryIO, limit: int) -> str:
    """Word or PowerPoint as Markdown: the beginning of the text, some `limit` characters. Raises `Damaged`."""
    pieces: list[str] = []
    with Archive(file) as archive:
        for member in archive.members(r"word/document\d*\.xml|ppt/slides/slide\d+\.xml"):
            pieces += archive.parsed(member, Formatted(limit - sum(map(len, pieces))))
            if sum(map(len, pieces)) >= limit:
                break
    return "".join(pieces)
