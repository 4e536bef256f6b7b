"""The rows of a large table that hold words of a question, found without a passage for each row."""

from __future__ import annotations

import codecs
import csv
import heapq
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TextIO

from agentsvc_nb.agents.offline.passages.splitting import Passage, row_passage
from agentsvc_nb.formats.decoding import decode
from agentsvc_nb.formats.normalization import fold
from agentsvc_nb.formats.tables.plain import delimiter
from agentsvc_nb.tools.support import stopping

LARGE_BYTES: Final = 300_000
"""Smaller tables are read as passages."""
_CHUNK: Final = 1 << 18
"""Characters that are searched at once: a millisecond or so for each word."""
_PLACES_MAX: Final = 100
"""Places of a word that are looked at in a chunk."""
_ROWS_MAX: Final = 50
_LINE_CHARS: Final = 4_000
_QUOTED: Final = re.compile(rf'(?<![^,;|\t\n])"(?:[^"]|""){{0,{_LINE_CHARS}}}+"(?=[,;|\t\r\n])')
"""A cell in quotation marks, which may hold line breaks."""
_OPEN: Final = re.compile(r'(?<![^,;|\t\n])"(?:[^"]|"")*+\Z')
"""The beginning of such a cell at the end of a piece."""


@dataclass
class RowsFound:
    """The rows of a table with the most of the words, how many rows hold each word, and how many rows there are."""

    passages: list[Passage] = field(default_factory=list)
    holding: Counter[str] = field(default_factory=Counter)
    rows: int = 0


def find_rows(path: str, file: Path, words: Sequence[str]) -> RowsFound:
    """Search a delimited file for folded words, to its end and in bounded memory. A word is found where another begins
    with it, as a stem does."""
    found = RowsFound()
    best: list[tuple[float, int, str]] = []
    with file.open("rb") as raw:
        head = decode(raw.read(1 << 16), cut=True)
    if head is None:
        return found
    with file.open(encoding=_codec(head.encoding), errors="replace", newline="") as text:
        header = text.readline(_LINE_CHARS)
        mark = delimiter(path, head.text)
        for chunk in _chunks(text):
            stopping.check()
            for start, score in _lines(chunk, words, found.holding):
                number = found.rows + chunk.count("\n", 0, start) + 1
                best.append((score, -number, chunk[start : _end(chunk, start)][:_LINE_CHARS]))
            best = heapq.nlargest(_ROWS_MAX, best)
            found.rows += chunk.count("\n") + (not chunk.endswith("\n"))
    columns = _cells(header, mark)
    numbered = sorted((-number, line) for _, number, line in best)
    found.passages = [row_passage(path, number, columns, _cells(line, mark)) for number, line in numbered]
    return found


def _codec(encoding: str) -> str:
    return "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding


def _chunks(text: TextIO) -> Iterator[str]:
    """The rest of a file in pieces of whole lines, a row each: line breaks within cells are blanks."""
    while chunk := text.read(_CHUNK):
        whole = chunk if chunk.endswith("\n") else chunk + text.readline(_CHUNK)
        while _OPEN.search(whole, max(0, len(whole) - _LINE_CHARS)) and (more := text.readline(_CHUNK)):
            whole += more
        broken = any(line.count('"') % 2 for line in whole.split("\n"))
        yield _QUOTED.sub(lambda cell: cell[0].replace("\n", " "), whole) if broken else whole


def _lines(chunk: str, words: Sequence[str], holding: Counter[str]) -> list[tuple[int, float]]:
    """Where the best lines begin that hold a word, each with a score: a word counts the more, the fewer lines of the
    chunk hold it."""
    folded = chunk.lower() if chunk.isascii() else _folded(chunk)
    starts, weights = set[int](), dict[str, float]()
    for word in words:
        at, places = folded.find(word), set[int]()
        while at >= 0 and len(places) < _PLACES_MAX:
            if at == 0 or not folded[at - 1].isalnum():
                places.add(folded.rfind("\n", 0, at) + 1)
            at = folded.find(word, at + 1)
        count = len(places) if at < 0 else max(len(places), folded.count(word))
        holding[word] += count
        starts |= places
        if count:
            weights[word] = 1 / count
    scored = (
        (start, sum(weights[word] for word in weights if folded.find(word, start, _end(folded, start)) >= 0))
        for start in starts
    )
    return heapq.nlargest(_ROWS_MAX, scored, key=lambda one: one[1])


def _folded(chunk: str) -> str:
    """The chunk folded character by character where that keeps its length, so that places stay the same."""
    folded = fold(chunk)
    if len(folded) == len(chunk):
        return folded
    return "".join(one if len(one) == 1 else char for char in chunk for one in [fold(char)])


def _end(chunk: str, start: int) -> int:
    end = chunk.find("\n", start)
    return len(chunk) if end < 0 else end


def _cells(line: str, mark: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line.rstrip("\r\n")], delimiter=mark), [])]
    except csv.Error:
        return [cell.strip() for cell in line.split(mark)]
