"""The readable text of a chat's files as passages, read once a turn, within the limits of one question; of large tables
only the rows that hold words of it."""

from __future__ import annotations

import asyncio
import codecs
import csv
import heapq
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TextIO

from agentsvc_nb.agents.offline.passages.splitting import Passage, passages, row_passage
from agentsvc_nb.documents.decoding import decode
from agentsvc_nb.documents.documents import is_cut
from agentsvc_nb.documents.kept import Kept
from agentsvc_nb.documents.normalization import fold
from agentsvc_nb.documents.tables.delimited import CsvForm
from agentsvc_nb.documents.tables.plain import form, is_table, parse
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.tools.support import stopping
from agentsvc_nb.tools.workspace_port import Workspace, WorkspaceEntry
from agentsvc_nb.wire.limits import QUERY_MAX_CHARS

READ_FILES_MAX: Final = 60
READ_CHARS_MAX: Final = 4_000_000
SCANNED_BYTES_MAX: Final = 60_000_000
"""Bytes of large tables that are searched for one question."""


@dataclass
class CorpusReading:
    """What was read for a question: the passages that may answer it, and of large tables only the rows that hold its
    words; `others` rows were looked through beside them, of which `holding` have each word. `whole`: every file was
    read, though of the files `cut` only the beginning."""

    passages: list[Passage] = field(default_factory=list)
    others: int = 0
    holding: Counter[str] = field(default_factory=Counter)
    whole: bool = True
    cut: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FilePassages:
    """The passages of a file, of which only the beginning was read if it is `cut`."""

    passages: list[Passage] = field(default_factory=list)
    cut: bool = False

    @property
    def chars(self) -> int:
        return sum(len(passage.text) for passage in self.passages)


_KEPT: Final = Kept[tuple[str, str, str], FilePassages](2_000_000, lambda one: one.chars)
"""Of the files that were asked last, in any chat: the next question mostly is of the same."""


class Corpus:
    """The files of a chat as passages."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def read(
        self, entries: Sequence[WorkspaceEntry], first: Sequence[str], stems: Sequence[str], looked_for: Sequence[str]
    ) -> CorpusReading:
        """The passages of the files, those of the paths `first` before all others; of large tables the rows with the
        stems. When there are too many files, those that the workspace's search finds for the words and quoted phrases
        `looked_for` are preferred."""
        paths = {entry.path: entry for entry in entries}
        order = [path for path in first if path in paths]
        if len(paths) > READ_FILES_MAX or sum(entry.size_bytes for entry in entries) > READ_CHARS_MAX:
            order += await self._find(looked_for)
        reading, room, scanned = CorpusReading(), READ_CHARS_MAX, SCANNED_BYTES_MAX
        for number, path in enumerate(dict.fromkeys([*order, *paths])):
            entry = paths.get(path)
            if entry is None:
                continue
            large = is_table(path, entry.media_type) and entry.size_bytes > LARGE_BYTES
            if number >= READ_FILES_MAX or room <= 0 or (large and scanned < entry.size_bytes):
                reading.whole = False
                continue
            if large:
                found = await self._rows(path, stems)
                reading.whole &= found.rows > 0  # else it is no text
                scanned -= entry.size_bytes
                reading.others += found.rows - len(found.passages)
                reading.holding += found.holding
                reading.passages += found.passages
            else:
                read = await self._read(entry)
                room -= read.chars
                reading.passages += read.passages
                reading.cut += [path] if read.cut else []
        return reading

    async def knows(self, word: str) -> bool | None:
        """Whether the workspace's search finds the word in any file; None when that is too much work."""
        found = await self._search(f'"{word}"')
        return None if found is None else bool(found)

    async def opening(self, entry: WorkspaceEntry) -> list[Passage]:
        """The passages of one file, whatever its size."""
        return (await self._read(entry)).passages

    async def _find(self, looked_for: Sequence[str]) -> list[str]:
        """The paths of files with all the words, then of those with some."""
        every, some = query(looked_for, " "), query(looked_for, " or ")
        found = list(await self._search(every) or []) if every else []
        if some != every:
            found += await self._search(some) or []
        return found

    async def _search(self, query: str) -> Sequence[str] | None:
        """The paths that match the query; None when that is too much work."""
        try:
            return [path for path, _ in await self._workspace.search(query)]
        except WorkFailure:
            return None

    async def _rows(self, path: str, stems: Sequence[str]) -> RowsFound:
        try:
            async with self._workspace.open(path) as file:
                return await asyncio.to_thread(find_rows, path, file, stems)
        except FileNotFoundError:
            return RowsFound()

    async def _read(self, entry: WorkspaceEntry) -> FilePassages:
        # By content, as a tool may write the file anew within the turn; by name and type, which say how it is read.
        key = entry.sha256, entry.path, entry.media_type
        if found := _KEPT.get(key):
            return found
        try:
            text = await self._workspace.text(entry.path)
        except FileNotFoundError:
            return FilePassages()
        found = FilePassages(await asyncio.to_thread(passages, entry.path, entry.media_type, text), is_cut(text))
        return _KEPT.put(key, found) if text else found  # what could not be read now may be read the next time


def query(looked_for: Sequence[str], joined: str) -> str:
    """A query for the workspace's search: as many words and quoted phrases as fit.

    >>> query(['"summer sale"', "price", "tent"], " or ")
    '"summer sale" or price or tent'
    """
    made = ""
    for part in looked_for:
        longer = made + joined + part if made else part
        if len(longer) <= QUERY_MAX_CHARS:
            made = longer
    return made


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
        # The encoding is told by the beginning: the file may be larger than what fits into memory.
        head = decode(raw.read(1 << 16), cut=True)
    if head is None:
        return found
    with file.open(encoding=_codec(head.encoding), errors="replace", newline="") as text:
        begins = head.text.rpartition("\n")[0] or head.text  # the last line may be cut within a cell
        divided, table = form(path, begins), parse(path, begins)
        columns = table.columns if table else []
        for _ in range(table.first - 1 if table else 1):
            text.readline(_LINE_CHARS)
        for chunk in _chunks(text):
            stopping.check()
            for start, score in _lines(chunk, words, found.holding):
                number = found.rows + chunk.count("\n", 0, start) + 1
                best.append((score, -number, chunk[start : _end(chunk, start)][:_LINE_CHARS]))
            best = heapq.nlargest(_ROWS_MAX, best)
            found.rows += chunk.count("\n") + (not chunk.endswith("\n"))
    numbered = sorted((-number, line) for _, number, line in best)
    found.passages = [row_passage(path, number, columns, _cells(line, divided)) for number, line in numbered]
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
    # Searched as one text, not line by line: that is what makes 200,000 rows bearable (decision 0044).
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


def _cells(line: str, divided: CsvForm) -> list[str]:
    try:
        return [cell.strip() for cell in next(divided.reader([line.rstrip("\r\n")]), [])]
    except csv.Error:
        return [cell.strip() for cell in line.split(divided.delimiter)]
