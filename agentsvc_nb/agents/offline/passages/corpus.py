"""The readable text of a chat's files as passages, read once a turn, within the limits of one question."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from agentsvc_nb.agents.offline.passages.rows import LARGE_BYTES, RowsFound, find_rows
from agentsvc_nb.agents.offline.passages.splitting import Passage, passages
from agentsvc_nb.formats.tables.plain import is_table
from agentsvc_nb.tools.port import WorkFailure, Workspace, WorkspaceEntry
from agentsvc_nb.wire.limits import INDEXED_TEXT_BYTES, QUERY_MAX_CHARS

READ_FILES_MAX: Final = 60
READ_CHARS_MAX: Final = 4_000_000
_CHAR_BYTES_MAX: Final = 4
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


class Corpus:
    """The files of a chat as passages; kept for the next question of the turn."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._passages: dict[tuple[str, str], list[Passage]] = {}
        self._cut: set[str] = set()

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
                room -= sum(len(passage.text) for passage in read)
                reading.passages += read
                reading.cut += [path] if path in self._cut else []
        return reading

    async def knows(self, word: str) -> bool | None:
        """Whether the workspace's search finds the word in any file; None when that is too much work."""
        found = await self._search(f'"{word}"')
        return None if found is None else bool(found)

    async def opening(self, entry: WorkspaceEntry) -> list[Passage]:
        """The passages of one file, whatever its size."""
        return await self._read(entry)

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
            return await asyncio.to_thread(find_rows, path, await self._workspace.open(path), stems)
        except FileNotFoundError:
            return RowsFound()

    async def _read(self, entry: WorkspaceEntry) -> list[Passage]:
        key = (entry.path, entry.sha256)
        if key not in self._passages:
            try:
                text = await self._workspace.text(entry.path)
            except FileNotFoundError:
                return []
            if len(text) * _CHAR_BYTES_MAX >= INDEXED_TEXT_BYTES <= len(text.encode()) + _CHAR_BYTES_MAX:
                self._cut.add(entry.path)
            self._passages[key] = await asyncio.to_thread(passages, entry.path, entry.media_type, text)
        return self._passages[key]


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
