"""What workers share: database, blobs, index, clock, signals; how content becomes a file's row; the files of a chat."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, Protocol

from agentsvc_nb.formats import media_types
from agentsvc_nb.formats import queries as grammar
from agentsvc_nb.formats.documents import read_text
from agentsvc_nb.service.ports import Clock, Database, Index, IndexedText, Tx
from agentsvc_nb.service.records import files
from agentsvc_nb.service.records.files import Author, Content, FileRecord, UploadRecord
from agentsvc_nb.service.runner.signals import Signals
from agentsvc_nb.service.usecases import files as file_usecases
from agentsvc_nb.service.usecases import searching
from agentsvc_nb.service.usecases.searching import FIRST, index_again, indexed_text
from agentsvc_nb.tools.port import ReadTooLong, WorkFailure, WorkspaceEntry
from agentsvc_nb.wire.limits import SEARCH_SECONDS


class SystemClock:
    """`ports.storage.Clock`, strictly the machine's."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000


class Blob(Protocol):
    """A stored content."""

    head: bytes
    size_bytes: int

    @property
    def sha256(self) -> str: ...


class Blobs(Protocol):
    """Where contents are stored (`engines.blobs`)."""

    def put(self, data: bytes) -> Blob: ...
    def path(self, sha256: str) -> Path: ...
    def stored_before(self, ms: int) -> Iterator[str]: ...
    def remove(self, sha256: str, before: int) -> bool: ...


@dataclass(frozen=True)
class Storage:
    """What every worker needs."""

    db: Database
    blobs: Blobs
    index: Index
    clock: Clock
    signals: Signals
    origin: str

    async def describe(self, file_name: str, blob: Blob) -> Content:
        """Recognise a stored blob and read its words, in a thread."""
        return await asyncio.to_thread(self._describe, file_name, blob)

    async def store(self, file_name: str, data: bytes) -> Content:
        """Store bytes as a blob and describe it."""
        blob = await asyncio.to_thread(self.blobs.put, data)
        return await self.describe(file_name, blob)

    async def describe_stored(self, upload: UploadRecord) -> Content:
        """A staged upload again, with its words."""
        path = self.blobs.path(upload.sha256)
        found = await asyncio.to_thread(_read, path, upload.media_type)
        return Content(upload.file_name, upload.media_type, upload.size_bytes, upload.sha256, found)

    async def index_older_files(self) -> None:
        """Bring the index to this version's tokens: once, and minutes for 100,000 files."""
        place = None if self.db.read(self.index.is_current) else FIRST
        while place is not None:
            place = await self.db.write(partial(index_again, index=self.index, after=place), long=True)

    def _describe(self, file_name: str, blob: Blob) -> Content:
        media_type = media_types.guess(file_name, blob.head)
        found = _read(self.blobs.path(blob.sha256), media_type)
        return Content(file_name, media_type, blob.size_bytes, blob.sha256, found)


def _read(path: Path, media_type: str) -> IndexedText:
    return indexed_text(read_text(path, media_type))


FOUND_MAX: Final = 100


class ChatWorkspace:
    """`ports.tools.Workspace` on the database and the blobs."""

    def __init__(self, storage: Storage, chat: str) -> None:
        self._storage = storage
        self._chat = chat

    async def list(self) -> Sequence[WorkspaceEntry]:
        return self._storage.db.read(lambda tx: files.all(tx, self._chat))

    async def open(self, path: str) -> Path:
        return self._storage.blobs.path(self._get(path).sha256)

    async def text(self, path: str) -> str:
        record = self._get(path)
        if grammar.is_scratch(path):  # not in the index
            return await asyncio.to_thread(read_text, self._storage.blobs.path(record.sha256), record.media_type)
        return self._storage.db.read(lambda tx: self._storage.index.text(tx, self._chat, path))

    async def search(self, query: str) -> Sequence[tuple[str, float]]:
        """Paths with their ranks, best first. Raises `WorkFailure("too_much_work")`."""
        parsed = grammar.parse(query)
        if parsed is None:
            return []
        index, chat = self._storage.index, self._chat

        def find(tx: Tx) -> list[searching.SearchHit]:
            return list(islice(searching.find(tx, index, chat, parsed), FOUND_MAX))

        try:
            hits = await asyncio.to_thread(self._storage.db.read, find, SEARCH_SECONDS)
        except ReadTooLong:
            raise WorkFailure("too_much_work", grammar.TOO_LONG) from None
        return [(hit.file.path, 1.0 / (place + 1)) for place, hit in enumerate(hits)]

    async def write(self, path: str, data: bytes, author: Author) -> FileRecord:
        """Write a file. Raises `WorkFailure("invalid_path")` for a path outside the workspace."""
        safe = media_types.safe_path(path)
        if safe is None:
            raise WorkFailure("invalid_path", f"{path!r} is not a path inside the workspace.")
        content = await self._storage.store(safe.rpartition("/")[2], data)
        now = self._storage.clock.now()
        return await self._storage.db.write(
            lambda tx: file_usecases.write(tx, self._storage.index, self._chat, safe, content, author, now), long=True
        )

    async def keep_whole(self, what: str, document: Any, author: Author) -> str:
        """Write all of what is told in part only; its path, the same for the same. Scratch: listed, never found."""
        data = await asyncio.to_thread(_as_json, document)
        path = f"logs/{what}-{hashlib.sha256(data).hexdigest()[:16]}.json"
        await self.write(path, data, author)
        return path

    def _get(self, path: str) -> FileRecord:
        record = self._storage.db.read(lambda tx: files.get(tx, self._chat, path))
        if record is None:
            raise FileNotFoundError(path)
        return record


def _as_json(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False, indent=1).encode("utf-8", "replace")
