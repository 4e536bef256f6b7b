"""Storage for workers: blobs, the description of stored content, and the workspace of a chat."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from agentsvc_nb.formats import media_types
from agentsvc_nb.formats import queries as grammar
from agentsvc_nb.formats.documents import has_text, is_quick, read_text
from agentsvc_nb.formats.engine.process import TableProcess
from agentsvc_nb.formats.indexing import IndexedText, indexed_text
from agentsvc_nb.formats.media_types import table_ending
from agentsvc_nb.service.records.files import Author, Content, FileRecord, UploadRecord
from agentsvc_nb.service.runner.readings import Readings
from agentsvc_nb.service.runner.tables import ChatTables
from agentsvc_nb.service.usecases import files, searching
from agentsvc_nb.service.usecases.context import UseCaseContext
from agentsvc_nb.tools.port import WorkFailure, WorkspaceEntry
from agentsvc_nb.tools.support.stopping import ReadTooLong
from agentsvc_nb.wire.limits import SEARCH_SECONDS


class SystemClock:
    """`ports.Clock` on the machine's clock."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000


class Blob(Protocol):
    """A stored blob; `head` is enough of its beginning to recognise the media type."""

    head: bytes
    size_bytes: int

    @property
    def sha256(self) -> str: ...


class Blobs(Protocol):
    """The blob store (`store.blobs.LocalBlobs`)."""

    def put(self, data: bytes) -> Blob: ...
    def path(self, sha256: str) -> Path: ...
    def stored_before(self, ms: int) -> Iterator[str]: ...
    def remove(self, sha256: str, before: int) -> bool: ...


_LARGE_TABLE_BYTES: Final = 300_000
"""Of such a table the first total is waited for: the process that computes it is started when the file is stored."""


@dataclass(frozen=True)
class Storage:
    """The use case context, the blob store, and who reads documents and tables, which every worker needs."""

    use_case: UseCaseContext
    blobs: Blobs
    readings: Readings
    tables: TableProcess

    async def describe(self, file_name: str, blob: Blob) -> Content:
        """The media type and size of a stored blob, and its text if that is read at once (`_read`)."""
        content = await asyncio.to_thread(self._describe, file_name, blob)
        if content.size_bytes >= _LARGE_TABLE_BYTES and table_ending(file_name, content.media_type):
            self.tables.warm()
        return content

    async def store(self, file_name: str, data: bytes) -> Content:
        """Store bytes as a blob and describe it."""
        blob = await asyncio.to_thread(self.blobs.put, data)
        return await self.describe(file_name, blob)

    async def describe_stored(self, upload: UploadRecord) -> Content:
        """The content of a staged upload; its text is read only now."""
        path = self.blobs.path(upload.sha256)
        found = await asyncio.to_thread(_read, path, upload.media_type, upload.size_bytes)
        return Content(upload.file_name, upload.media_type, upload.size_bytes, upload.sha256, found)

    def _describe(self, file_name: str, blob: Blob) -> Content:
        media_type = media_types.guess(file_name, blob.head)
        found = _read(self.blobs.path(blob.sha256), media_type, blob.size_bytes)
        return Content(file_name, media_type, blob.size_bytes, blob.sha256, found)


def _read(path: Path, media_type: str, size_bytes: int) -> IndexedText | None:
    """The indexed text of a file that has none, or is quick to read; None for others, which are read in a process
    (`readings`)."""
    if not has_text(media_type):
        return IndexedText()
    return indexed_text(read_text(path, media_type)) if is_quick(media_type, size_bytes) else None


FOUND_MAX: Final = 100


class ChatWorkspace:
    """`tools.port.Workspace` of a chat, on the database and the blobs."""

    def __init__(self, storage: Storage, chat: str) -> None:
        self._storage = storage
        self._use_case = storage.use_case
        self._chat = chat
        self.tables = ChatTables(self.list, lambda entry: storage.blobs.path(entry.sha256), storage.tables)

    async def list(self) -> Sequence[WorkspaceEntry]:
        return await files.list_all(self._use_case, self._chat)

    async def open(self, path: str) -> Path:
        return self._storage.blobs.path((await self._get(path)).sha256)

    async def text(self, path: str) -> str:
        record = await self._get(path)
        if grammar.is_scratch(path):  # not in the index
            return (await self._storage.readings.text(record)).text
        await self._storage.readings.caught_up(self._chat)
        return await files.text(self._use_case, self._chat, path)

    async def search(self, query: str) -> Sequence[tuple[str, float]]:
        """Up to `FOUND_MAX` paths, best first, each with a score (1, 1/2, 1/3, ...). Raises
        `WorkFailure("too_much_work")`."""
        parsed = grammar.parse(query)
        if parsed is None:
            return []
        await self._storage.readings.caught_up(self._chat)
        try:
            hits = await searching.find(self._use_case, self._chat, parsed, FOUND_MAX, SEARCH_SECONDS)
        except ReadTooLong:
            raise WorkFailure("too_much_work", grammar.TOO_LONG) from None
        return [(hit.file.path, 1.0 / (place + 1)) for place, hit in enumerate(hits)]

    async def write(self, path: str, data: bytes, author: Author) -> FileRecord:
        """Write a file. Raises `WorkFailure("invalid_path")` for a path outside the workspace."""
        safe = media_types.safe_path(path)
        if safe is None:
            raise WorkFailure("invalid_path", f"{path!r} is not a path inside the workspace.")
        content = await self._storage.store(safe.rpartition("/")[2], data)
        return await files.save(self._use_case, self._chat, safe, content, author)

    async def keep_whole(self, what: str, document: Any, author: Author) -> str:
        """Write a document that is shown shortened to a file, and return its path, which depends on its content.

        The file is scratch, so it is listed but search does not find it.
        """
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
