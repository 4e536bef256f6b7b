"""The chat's files, which of them a question names, and their tables."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from agentsvc_nb.agents.offline.words import stems
from agentsvc_nb.formats.decoding import text_of
from agentsvc_nb.formats.queries import is_scratch, tokens
from agentsvc_nb.formats.tables.plain import Table, is_table, parse
from agentsvc_nb.tools.port import Workspace, WorkspaceEntry

TABLE_MAX_BYTES: Final = 20_000_000
TABLE_MAX_COLUMNS: Final = 1_000


class Library:
    """The files of one chat, listed once; tables are kept."""

    def __init__(self, workspace: Workspace, entries: Sequence[WorkspaceEntry]) -> None:
        self.workspace = workspace
        self.entries = [entry for entry in entries if not is_scratch(entry.path)]
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


def _table(path: str, file: Path) -> Table | None:
    """The table in a file; None also for one that is too wide: each question would look at it for seconds."""
    found = parse(path, text_of(file.read_bytes()))
    return found if found is not None and len(found.columns) <= TABLE_MAX_COLUMNS else None


def _is_named(path: PurePosixPath, asked: set[str], folded: str) -> bool:
    title = tokens(path.stem)
    return path.name.casefold() in folded or (
        bool(title) and len("".join(title)) > 2 and set(stems(path.stem)) <= asked
    )
