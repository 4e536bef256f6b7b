"""Implement `tools.port.Workspace`: the files of a chat, and queries of the tables in them."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol

from agentsvc_nb.documents import media_types, search_query
from agentsvc_nb.documents.engine.messages import (
    FileTables,
    QueryAnswer,
    SqlQuestion,
    TableAnswer,
    TableFile,
    UsedTable,
)
from agentsvc_nb.documents.media_types import table_ending
from agentsvc_nb.documents.tables.profiles import TableProfile, file_names, name_tables
from agentsvc_nb.service.chats import projects
from agentsvc_nb.service.files import files
from agentsvc_nb.service.files.file_records import FileOrigin, FileRecord
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.tools.support.stopping import ReadTooLong
from agentsvc_nb.tools.workspace_port import COMPUTED, WorkspaceEntry
from agentsvc_nb.wire.limits import SEARCH_SECONDS

FOUND_MAX: Final = 100


class ChatWorkspace:
    """Implements `tools.port.Workspace` with the database and the blobs."""

    def __init__(self, storage: Storage, chat: str) -> None:
        self._storage = storage
        self._use_case = storage.use_case
        self.chat = self._chat = chat
        self.tables = ChatTables(self.list, storage.blobs.file, storage.tables)

    async def list(self) -> Sequence[WorkspaceEntry]:
        return await files.list_all(self._use_case, self._chat)

    @contextlib.asynccontextmanager
    async def open(self, path: str) -> AsyncGenerator[Path]:
        async with self._storage.blobs.file((await self._get(path)).sha256) as file:
            yield file

    async def text(self, path: str) -> str:
        record = await self._get(path)
        if search_query.is_scratch(path):  # scratch files are not in the index
            return (await self._storage.readings.text(record)).text
        await self._storage.readings.wait_until_read(self._chat)
        return await files.text(self._use_case, self._chat, path)

    async def unreadable(self, path: str) -> str:
        record = await self._get(path)
        if search_query.is_scratch(path):  # scratch files are not in the index
            return (await self._storage.readings.text(record)).unreadable
        await self._storage.readings.wait_until_read(self._chat)
        return (await self._get(path)).unreadable

    async def search(self, query: str) -> Sequence[tuple[str, float]]:
        """Return the paths of matching files with their scores, best first, at most `FOUND_MAX`.

        Raises `WorkFailure("too_much_work")` if the search takes too long.
        """
        parsed = search_query.parse(query)
        if parsed is None:
            return []
        await self._storage.readings.wait_until_read(self._chat)
        try:
            hits = await files.find_matches(self._use_case, self._chat, parsed, FOUND_MAX, SEARCH_SECONDS)
        except ReadTooLong:
            raise WorkFailure("too_much_work", search_query.TOO_LONG) from None
        return [(hit.file.path, 1.0 / (place + 1)) for place, hit in enumerate(hits)]

    async def skill(self, name: str) -> Mapping[str, str]:
        found = await projects.get_skill(self._use_case, self._chat, name)
        if found is None:
            raise FileNotFoundError(name)
        return found

    async def write(self, path: str, data: bytes, author: FileOrigin) -> FileRecord:
        """Write a file.

        Raises `WorkFailure`: `invalid_path` for a path outside the workspace, and what `files.save` raises.
        """
        safe = media_types.safe_path(path)
        if safe is None:
            raise WorkFailure("invalid_path", f"{path!r} is not a path inside the workspace.")
        content = await self._storage.store(safe.rpartition("/")[2], data)
        return await files.save(self._use_case, self._chat, safe, content, author)

    async def keep_whole(self, what: str, document: Any, author: FileOrigin) -> str:
        """Write the whole document to a scratch file, which search does not find, and return its path."""
        data = await asyncio.to_thread(_as_json, document)
        path = f"logs/{what}-{hashlib.sha256(data).hexdigest()[:16]}.json"
        await self.write(path, data, author)
        return path

    async def _get(self, path: str) -> FileRecord:
        found = await files.find(self._use_case, self._chat, [path])
        if not found:
            raise FileNotFoundError(path)
        return found[0]


def _as_json(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False, indent=1).encode("utf-8", "replace")


FILES_MAX: Final = 100
_AT_ONCE: Final = 8
"""The maximum number of files to read at a time. More would only keep more local copies of remote blobs."""
_TOO_MANY: Final = f"The service reads tables only from the first {FILES_MAX} files. Name this file to have it read."


class TableAsker(Protocol):
    """Answers questions about tables. `documents.engine.process.TableProcess` implements it."""

    async def read(self, file: TableFile) -> TableAnswer: ...
    async def ask(self, question: SqlQuestion) -> TableAnswer: ...


class ChatTables:
    """Profiles and queries the tables in a chat's files.

    A call of `profiles` gives each table a name. While this object exists, the name refers to the file's version at
    the time of that call, even if the file is replaced later.

    `file_of` provides a local copy of the content with a given SHA-256 hash, always at the same path.
    """

    def __init__(
        self,
        entries: Callable[[], Awaitable[Sequence[WorkspaceEntry]]],
        file_of: Callable[[str], AbstractAsyncContextManager[Path]],
        asker: TableAsker,
    ) -> None:
        self._entries = entries
        self._file_of = file_of
        self._asker = asker
        self._reading = asyncio.Semaphore(_AT_ONCE)
        self._named: dict[str, UsedTable] = {}

    async def profiles(self, paths: Sequence[str] = ()) -> Sequence[FileTables]:
        return await self._profiles(paths)

    async def _profiles(self, paths: Sequence[str], sql: str = "") -> Sequence[FileTables]:
        """Return profiles, as `profiles` does.

        If `paths` is empty, leave out tables that were computed from other files, except those that `sql` names.
        """
        entries = {entry.path: entry for entry in await self._entries()}
        for path in paths:
            if path not in entries:
                raise FileNotFoundError(path)
        endings = {path: table_ending(path, entry.media_type) for path, entry in entries.items()}
        names = file_names([path for path, ending in endings.items() if ending])
        every = [
            path
            for path, name in names.items()
            if not search_query.is_scratch(path)
            and (entries[path].output_type not in COMPUTED or name.casefold() in sql.casefold())
        ]
        chosen = [path for path, ending in endings.items() if ending and path in paths] if paths else every[:FILES_MAX]
        read = await asyncio.gather(*(self._read(entries[path].sha256, endings[path] or "") for path in chosen))
        made = name_tables({path: said.tables for path, (_, said) in zip(chosen, read, strict=True)}, names)
        for path, (file, _) in zip(chosen, read, strict=True):
            for place, profile in enumerate(made[path]):
                self._named[profile.name] = UsedTable(file, place, _without_values(profile))
        unreadable = {path: said.error[2] for path, (_, said) in zip(chosen, read, strict=True) if said.error}
        if paths:
            unreadable.update((path, "The file is not a table.") for path in paths if not endings[path])
        else:
            unreadable.update((path, _TOO_MANY) for path in every[FILES_MAX:])
        shown = [path for path in entries if path in made or path in unreadable]
        ended = {
            path for path, (_, said) in zip(chosen, read, strict=True) if said.error and said.error[0] == "too_much"
        }
        return [FileTables(path, made.get(path, ()), unreadable.get(path, ""), path in ended) for path in shown]

    async def query(self, sql: str, paths: Sequence[str] = (), *, save: bool = False) -> QueryAnswer:
        found = await self._profiles(paths, sql)
        used = tuple(self._named[table.name] for one in found for table in one.tables)
        said = await self._ask_tables(SqlQuestion(sql=sql, tables=used, save=save))
        assert said.query is not None
        return replace(said.query, saved=said.saved.encode("utf-8", "replace"))

    async def _read(self, sha256: str, ending: str) -> tuple[TableFile, TableAnswer]:
        async with self._reading, self._file_of(sha256) as content:
            file = TableFile(sha256, ending, str(content.absolute()))
            return file, await self._asker.read(file)

    async def _ask_tables(self, question: SqlQuestion) -> TableAnswer:
        """Ask the table process. Until it answers, keep local copies of the tables' files. Raises `WorkFailure`."""
        async with contextlib.AsyncExitStack() as held:
            for sha256 in dict.fromkeys(table.file.sha256 for table in question.tables):
                await held.enter_async_context(self._file_of(sha256))
            return _require_answer(await self._asker.ask(question))


def _without_values(profile: TableProfile) -> TableProfile:
    return replace(profile, columns=tuple(replace(column, values=()) for column in profile.columns))


def _require_answer(said: TableAnswer) -> TableAnswer:
    """Return the answer. Raises `WorkFailure` if the answer is an error."""
    match said.error:
        case None:
            return said
        case ("too_much", _, sentence):
            raise WorkFailure("too_much_work", sentence)
        case (_, _, sentence):
            raise WorkFailure("query_failed", sentence)
