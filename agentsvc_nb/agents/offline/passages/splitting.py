"""The passages of a text: whole sentences, list items and rows of tables, each with what stands above it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Literal

from agentsvc_nb.agents.offline.writing import WRAPPED_CHARS
from agentsvc_nb.documents.safe_text import HEADING
from agentsvc_nb.documents.tables.plain import is_table, parse

PASSAGE_CHARS: Final = 600
"""A longer paragraph is several passages; a sentence is never cut unless it has `SENTENCE_CHARS`."""
SENTENCE_CHARS: Final = 2_000
LIST_CHARS: Final = 400
"""A list up to this size is one passage together with the sentence that introduces it."""

TEXTS_KEPT: Final = 4_096
"""Texts whose words are kept for the next question, which mostly is of the same files: some 20 MB at most."""

Kind = Literal["text", "item", "row", "title"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a file that can be quoted. `place` is such as `page 2, line 12` or `row 3`; `headings` are those above
    it, outermost first; `line` orders the passages of a file."""

    path: str
    place: str
    text: str
    headings: tuple[str, ...] = ()
    kind: Kind = "text"
    line: int = 0

    @property
    def is_prose(self) -> bool:
        return self.kind in ("text", "item")


def passages(path: str, media_type: str, text: str) -> list[Passage]:
    """The passages of a file's readable text, in order. Lines and rows are counted from 1."""
    if is_table(path, media_type) and (table := parse(path, text)):
        titles = enumerate(table.titles, 1)
        above = [Passage(path, f"line {line}", title, line=line - table.first) for line, title in titles]
        rows = enumerate(table.rows, 1)
        return [*above, *(row_passage(path, number, table.columns, row) for number, row in rows if any(row))]
    if path.lower().endswith((".json", ".jsonl", ".ndjson")) and (records := _records(text)):
        return [
            Passage(path, f"record {number}", _fields(record), kind="row", line=number)
            for number, record in enumerate(records, 1)
        ]
    pages = text.split("\f")
    found: list[Passage] = []
    for number, page in enumerate(pages, 1):
        found += _Splitter(path, f"page {number}, " if len(pages) > 1 else "", len(found)).split(page)
    return found


def row_passage(path: str, number: int, columns: Sequence[str], row: Sequence[str]) -> Passage:
    """A row of a table with the header of each cell."""
    return Passage(path, f"row {number}", _row(columns, row), kind="row", line=number)


def _row(columns: Sequence[str], row: Sequence[str]) -> str:
    return " · ".join(f"{column}: {cell}" for column, cell in zip(columns, row, strict=False) if cell)


def _records(text: str) -> list[dict[str, Any]]:
    """The records of a JSON text: a list of objects, the only such list in an object, or an object a line."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        try:
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
        except (ValueError, RecursionError):
            return []
    if isinstance(found, dict):
        found = next((value for value in found.values() if _is_records(value)), None)
    return found if _is_records(found) else []


def _is_records(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _fields(record: dict[str, Any]) -> str:
    texts = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for key, value in record.items()
    }
    return " · ".join(f"{key}: {' '.join(text.split())}" for key, text in texts.items() if text not in ("", "null"))


_ITEM = re.compile(r"\s*(?:[-*+•‣▪◦–]|\(?\d{1,3}[.)]|\(?[a-z]\))\s+(?=\S)")
_UNDERLINE = re.compile(r"\s*(?:={3,}|-{3,})\s*")
_RULE = re.compile(r"[\s|:+=-]*-[\s|:+=-]*")
"""The line between the header and the rows of a table in Markdown."""
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’»)]*\s+|(?<=[。！？])")
_SENTENCE = re.compile(r"[.!?…。！？:;][\"'”’»)*_]*$")
_TITLE_WORDS: Final = 8
_TITLE = re.compile(r"[^\W\d_][^.!?;:,|\t]*:?")
_TRAIL_END: Final = 7
"""The level of a title without `#`: below all headings."""


@dataclass
class _Block:
    """Lines of a text without a blank line between them."""

    line: int
    kind: Literal["heading", "text", "item", "table"]
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def _blocks(text: str) -> Iterator[_Block]:
    held: _Block | None = None
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        kind = _kind(stripped, line)
        # A line of `===` or `---` below a single line makes that a heading.
        if held and kind == "underline" and held.kind == "text" and len(held.lines) == 1:
            held = _Block(held.line, "heading", [f"# {held.lines[0]}"])
        elif held and kind in ("text", "underline") and held.kind in ("text", "item"):
            held.lines.append(stripped)
        elif held and kind == held.kind == "table":
            held.lines.append(line.strip("\r\n"))
        else:
            if held:
                yield held
            held = None
            if kind == "underline":
                kind = "blank"
            if kind != "blank":
                held = _Block(number, kind, [line.strip("\r\n") if kind == "table" else stripped])  # type: ignore[arg-type]
    if held:
        yield held


def _kind(stripped: str, line: str) -> str:
    if not stripped:
        return "blank"
    if HEADING.fullmatch(stripped):
        return "heading"
    if _UNDERLINE.fullmatch(line):
        return "underline"
    if _ITEM.match(line):
        return "item"
    return "table" if stripped.startswith("|") or "\t" in stripped else "text"


class _Splitter:
    """The passages of one page, with the headings that stand above each."""

    def __init__(self, path: str, prefix: str, first: int) -> None:
        self._path, self._prefix, self._first = path, prefix, first
        self._trail: dict[int, str] = {}
        self._alone: tuple[int, str, tuple[str, ...]] | None = None

    def split(self, text: str) -> list[Passage]:
        found: list[Passage] = []
        blocks = list(_blocks(text))
        at = 0
        while at < len(blocks):
            block, after = blocks[at], blocks[at + 1] if at + 1 < len(blocks) else None
            at += 1
            if block.kind == "heading" or (after and _is_title(block, after)):
                found += self._heading(block)
                continue
            # A divider between parts, with nothing to quote.
            if all(_RULE.fullmatch(line) for line in block.lines):
                continue
            if block.kind == "table":
                rows = self._table(block)
                found += rows
                self._alone = None if rows else self._alone  # of a table without a word the heading is all there is
                continue
            self._alone = None
            if block.kind == "item" or (after and after.kind == "item" and block.lines[-1].endswith(":")):
                first = at if block.kind == "text" else at - 1
                at = next((end for end in range(first, len(blocks)) if blocks[end].kind != "item"), len(blocks))
                found += self._list(block if block.kind == "text" else None, blocks[first:at])
            else:
                found += self._paragraph(block)
        return [*found, *self._left_alone()]

    def _passage(self, line: int, text: str, kind: Kind = "text", under: tuple[str, ...] = ()) -> Passage:
        above = (*self._trail.values(), *under)
        return Passage(self._path, f"{self._prefix}line {line}", text, above, kind, self._first + line)

    def _heading(self, block: _Block) -> list[Passage]:
        """A heading without text below it is a passage by itself."""
        marked = HEADING.fullmatch(block.text)
        level, title = (
            (len(marked[1]), marked[2].rstrip("#").strip() or marked[2]) if marked else (_TRAIL_END, block.text)
        )
        before = self._left_alone() if self._alone and self._alone[0] != block.line else []
        self._trail = {above: name for above, name in self._trail.items() if above < level}
        self._alone = (block.line, title, tuple(self._trail.values()))
        self._trail[level] = title
        return before

    def _left_alone(self) -> list[Passage]:
        if self._alone is None:
            return []
        line, title, above = self._alone
        self._alone = None
        return [Passage(self._path, f"{self._prefix}line {line}", title, above, "title", self._first + line)]

    def _paragraph(self, block: _Block) -> list[Passage]:
        return [self._passage(line, text) for line, text in _pieces(block)]

    def _list(self, lead: _Block | None, items: Sequence[_Block]) -> list[Passage]:
        """The items, or the whole of a short list with the text that introduces it."""
        whole = "\n".join(block.text for block in ([lead] if lead else []) + list(items))
        if lead and len(whole) <= LIST_CHARS:
            return [self._passage(lead.line, whole)]
        before = self._paragraph(lead) if lead and len(_sentences(lead.text)) > 1 else []
        under = (_sentences(lead.text)[-1].rstrip(": "),) if lead else ()
        return [*before, *(self._passage(line, text, "item", under) for one in items for line, text in _pieces(one))]

    def _table(self, block: _Block) -> list[Passage]:
        """Each row with its header; a single line is text."""
        rows = [(block.line + at, _cells(line)) for at, line in enumerate(block.lines) if not _RULE.fullmatch(line)]
        if len(rows) < 2:
            return [self._passage(line, " · ".join(cell for cell in cells if cell)) for line, cells in rows]
        columns = rows[0][1]
        return [self._passage(line, _row(columns, cells), "row") for line, cells in rows[1:] if any(cells)]


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|") if line.lstrip().startswith("|") else line
    parts = re.split(r"(?<!\\)\|", inner) if line.lstrip().startswith("|") else inner.split("\t")
    return [part.strip().strip("*`").replace("\\|", "|") for part in parts]


def _is_title(block: _Block, after: _Block) -> bool:
    """Whether the block is a title of what follows: one short line that is no sentence and holds no number."""
    if block.kind != "text" or len(block.lines) > 1 or after.kind == "heading":
        return False
    line = block.lines[0]
    if line.endswith(":") and after.kind == "item":
        return False
    if after.kind == "text" and len(after.lines) == 1 and not _SENTENCE.search(after.text):
        return False
    return len(line.split()) <= _TITLE_WORDS and not re.search(r"\d", line) and _TITLE.fullmatch(line) is not None


def _pieces(block: _Block) -> list[tuple[int, str]]:
    """A block as passages of whole sentences and lines, each with its first line."""
    if len(block.text) <= PASSAGE_CHARS:
        return [(block.line, block.text)]
    found: list[tuple[int, str]] = []
    held, line = "", block.line
    at = block.line
    for sentence in _sentences(block.text):
        if held and len(held) + len(sentence) > PASSAGE_CHARS:
            found.append((line, held.strip()))
            held, line = "", at
        held += sentence
        at += sentence.count("\n")
    return [*found, (line, held.strip())]


def _sentences(text: str) -> list[str]:
    """The sentences of a text with the blanks behind them; a line that is not wrapped ends one, too."""
    cuts = {found.end() for found in _SENTENCE_END.finditer(text)}
    for before, after in pairwise(re.finditer(r"[^\n]*\n|[^\n]+", text)):
        if len(before[0]) < WRAPPED_CHARS or not after[0][0].isalnum():
            cuts.add(before.end())
    edges = [0, *sorted(cuts - {0, len(text)}), len(text)]
    whole = [text[start:end] for start, end in pairwise(edges)]
    return [
        part
        for sentence in whole
        for part in re.findall(rf"(?s).{{1,{SENTENCE_CHARS}}}(?:\s|$)|.{{1,{SENTENCE_CHARS}}}", sentence)
    ]


def sentences(text: str) -> list[str]:
    """The sentences of a passage.

    >>> sentences("It rained. Nobody came.")
    ['It rained.', 'Nobody came.']
    """
    return [stripped for one in _sentences(text) if (stripped := one.strip())]
