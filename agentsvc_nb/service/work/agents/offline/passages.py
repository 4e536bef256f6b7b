"""Texts cut into passages, each with its place: paragraphs under their headings, rows of tables, pages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.service.rules.blocks import HEADING, blocks
from agentsvc_nb.service.rules.tables import is_table, parse

PASSAGE_CHARS: Final = 600
_PROSE_WORDS: Final = 8
_SENTENCE_ENDS: Final = (".", "!", "?", "…", "。", "！", "？")

_MUCH = f".{{1,{PASSAGE_CHARS}}}"
_CHUNK = re.compile(rf"(?s){_MUCH}(?:(?<=[.!?。！？])\s+|$)|{_MUCH}(?:\s+|$)|{_MUCH}")


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a file that can be quoted. `headings` are those it stands under."""

    path: str
    place: str
    text: str
    headings: tuple[str, ...] = ()

    @property
    def is_prose(self) -> bool:
        """Whether it reads like sentences, and not like a title or a row of a table."""
        if self.place.startswith("row "):
            return False
        return self.text.rstrip(" \"'”“»)*_").endswith(_SENTENCE_ENDS) or len(self.text.split()) >= _PROSE_WORDS


def passages(path: str, media_type: str, text: str) -> list[Passage]:
    """The passages of a file's readable text, in order. Lines and rows are counted from 1."""
    if is_table(path, media_type) and (table := parse(path, text)):
        return [
            Passage(path, f"row {number}", _row(table.columns, row))
            for number, row in enumerate(table.rows, 1)
            if any(row)
        ]
    pages = text.split("\f")
    found: list[Passage] = []
    for number, page in enumerate(pages, 1):
        prefix = f"page {number}, " if len(pages) > 1 else ""
        found += _prose(path, page, prefix)
    return found


def _row(columns: Sequence[str], row: Sequence[str]) -> str:
    return " · ".join(f"{column}: {cell}" for column, cell in zip(columns, row, strict=True) if cell)


def _prose(path: str, text: str, prefix: str) -> Iterator[Passage]:
    trail: dict[int, str] = {}
    alone: Passage | None = None
    for line, block in blocks(text):
        heading = HEADING.fullmatch(block)
        if heading:
            level, title = len(heading[1]), heading[2].rstrip("#").strip() or heading[2]
            if alone:
                yield alone
            alone = Passage(path, f"{prefix}line {line}", title, tuple(trail.values()))
            trail = {above: title for above, title in trail.items() if above < level} | {level: title}
            continue
        alone = None
        for piece in _CHUNK.findall(block) if len(block) > PASSAGE_CHARS else [block]:
            yield Passage(path, f"{prefix}line {line}", piece.strip(), tuple(trail.values()))
    if alone:
        yield alone
