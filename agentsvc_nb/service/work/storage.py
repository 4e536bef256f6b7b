"""The parts that workers share: database, blobs, index, clock, signals; and how content becomes a file's row."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from agentsvc_nb.service.actions.indexing import FIRST, index_again
from agentsvc_nb.service.ports.storage import Clock, Database, Index, Reading
from agentsvc_nb.service.records.files import Content, UploadRecord
from agentsvc_nb.service.rules import media_types
from agentsvc_nb.service.rules.indexing import reading
from agentsvc_nb.service.work.reading import read_text
from agentsvc_nb.service.work.signals import Signals


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


def _read(path: Path, media_type: str) -> Reading:
    return reading(read_text(path, media_type))
