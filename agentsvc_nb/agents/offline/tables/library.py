"""The chat's files as the offline agent reads them: each once per turn, up to the limits of a question."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from agentsvc_nb.agents.offline.ranking import Passage, passages
from agentsvc_nb.agents.offline.words import stems
from agentsvc_nb.formats.decoding import text_of
from agentsvc_nb.formats.queries import is_scratch, tokens
from agentsvc_nb.formats.tables.plain import Table, is_table, parse
from agentsvc_nb.tools.port import COMPUTED, Workspace, WorkspaceEntry
from agentsvc_nb.wire.limits import QUERY_MAX_CHARS

READ_FILES_MAX: Final = 60
READ_CHARS_MAX: Final = 4_000_000
TABLE_MAX_BYTES: Final = 20_000_000
TABLE_MAX_COLUMNS: Final = 1_000


class Library:
    """The files of one chat, listed once; passages and tables are kept for the next question of the turn."""

    def __init__(self, workspace: Workspace, entries: Sequence[WorkspaceEntry]) -> None:
        self.workspace = workspace
        usable = (entry for entry in entries if entry.output_type not in COMPUTED)
        self.entries = [entry for entry in usable if not is_scratch(entry.path)]
        self._passages: dict[str, list[Passage]] = {}
        self._tables: dict[str, Table | None] = {}

    def named(self, question: str) -> list[str]:
        """The files that the question names: `brief.md`, or `the brief`."""
        asked, folded = set(stems(question)), question.casefold()
        return [entry.path for entry in self.entries if _is_named(PurePosixPath(entry.path), asked, folded)]

    async def tables(self) -> list[Table]:
        """The tables of the chat, by path; those that are too large to be read are left out."""
        for entry in self.entries:
            fits = is_table(entry.path, entry.media_type) and entry.size_bytes <= TABLE_MAX_BYTES
            if fits and entry.path not in self._tables:
                self._tables[entry.path] = await self._table(entry.path)
        return [table for table in self._tables.values() if table is not None]

    async def _table(self, path: str) -> Table | None:
        try:
            return await asyncio.to_thread(_table, path, await self.workspace.open(path))
        except FileNotFoundError:
            return None

    async def find(self, words: Sequence[str], phrases: Sequence[str]) -> list[str]:
        """All paths, the most promising first: files with all the words, files with some, then the rest, which may hold
        a word in another form."""
        every, some = query(words, phrases, " "), query(words, phrases, " or ")
        found = [path for path, _ in await self.workspace.search(every)] if every else []
        if some != every:
            found += [path for path, _ in await self.workspace.search(some)]
        known = {entry.path for entry in self.entries}
        return [path for path in dict.fromkeys([*found, *(entry.path for entry in self.entries)]) if path in known]

    async def read(self, paths: Sequence[str]) -> list[Passage]:
        """The passages of the files, in order of the paths, up to the limits of one question."""
        room, found = READ_CHARS_MAX, list[Passage]()
        for path in paths[:READ_FILES_MAX]:
            if room <= 0:
                break
            if path not in self._passages:
                self._passages[path] = await self._read(path)
            found += self._passages[path]
            room -= sum(len(passage.text) for passage in self._passages[path])
        return found

    async def _read(self, path: str) -> list[Passage]:
        media_type = next((entry.media_type for entry in self.entries if entry.path == path), "")
        try:
            text = await self.workspace.text(path)
        except FileNotFoundError:
            return []
        return await asyncio.to_thread(passages, path, media_type, text)


def _table(path: str, file: Path) -> Table | None:
    """The table in a file; None also for one that is too wide: each question would look at it for seconds."""
    found = parse(path, text_of(file.read_bytes()))
    return found if found is not None and len(found.columns) <= TABLE_MAX_COLUMNS else None


def query(words: Sequence[str], phrases: Sequence[str], joined: str) -> str:
    """A query for the workspace's search, as many words as fit; phrases keep their quotation marks.

    >>> query(["price", "tent"], ["summer sale"], " or ")
    '"summer sale" or price or tent'
    """
    made = ""
    for part in [*(f'"{phrase}"' for phrase in phrases), *words]:
        longer = made + joined + part if made else part
        if len(longer) <= QUERY_MAX_CHARS:
            made = longer
    return made


def _is_named(path: PurePosixPath, asked: set[str], folded: str) -> bool:
    title = tokens(path.stem)
    return path.name.casefold() in folded or (
        bool(title) and len("".join(title)) > 2 and set(stems(path.stem)) <= asked
    )
