"""Storage for workers: blobs, the description of stored content, and the documents that wait to be read.

The rows of those are written with the files and go when their text is indexed, so that none is lost when the service is
killed (docs/decisions/10).
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentsvc_nb import clock
from agentsvc_nb.documents import media_types
from agentsvc_nb.documents.child_process import NoAnswer, NoChild
from agentsvc_nb.documents.engine.process import TableProcess
from agentsvc_nb.documents.indexing import DocumentReader, IndexedText, indexed_text
from agentsvc_nb.documents.media_types import table_ending
from agentsvc_nb.documents.texts import has_text, is_quick, read_quick, why_not_read
from agentsvc_nb.service.files import files
from agentsvc_nb.service.files.file_records import Content, FileRecord, UploadRecord
from agentsvc_nb.service.ports import Blob, Blobs
from agentsvc_nb.service.use_cases import UseCaseContext

log = logging.getLogger(__name__)

WAIT_SECONDS: Final = 60.0
"""How long an agent, or the end of a run, waits for documents."""
TOO_MUCH: Final = "Reading it takes too long or too much memory."


class SystemClock:
    """`ports.Clock` on the machine's clock."""

    def now(self) -> int:
        return clock.now_ms()


class Readings:
    """Reads the documents that wait: of each account one after the other, the accounts in turn."""

    def __init__(self, use_case: UseCaseContext, blobs: Blobs) -> None:
        self._use_case = use_case
        self._blobs = blobs
        self._reader = DocumentReader()
        self._accounts: dict[str, asyncio.Task[None]] = {}
        self._reading: dict[tuple[str, str, str], asyncio.Task[None]] = {}
        self._closed = False

    async def text(self, file: FileRecord) -> IndexedText:
        """The text of a file, read now; empty when it could not be read within the limits."""
        try:
            return await self._text(file)
        except NoChild:
            raise
        except NoAnswer:
            return IndexedText(unreadable=TOO_MUCH)

    async def wake(self) -> None:
        """Begin to read what waits, after its rows were written or when the service starts."""
        for account in await files.accounts_waiting(self._use_case):
            if account not in self._accounts and not self._closed:
                self._accounts[account] = asyncio.create_task(self._read_all(account), name="readings")

    async def caught_up(self, chat: str, run_id: str | None = None) -> None:
        """Wait until no document of the chat waits any more, or none that the run wrote; for `WAIT_SECONDS` at most."""
        waiting = await files.waiting_in(self._use_case, chat, run_id)
        if waiting and not self._closed:
            await asyncio.wait([self._begin(file) for file in waiting], timeout=WAIT_SECONDS)

    async def close(self) -> None:
        """Stop reading; what waits is read after the next start."""
        self._closed = True
        tasks = [*self._accounts.values(), *self._reading.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await asyncio.to_thread(self._reader.close)

    async def _read_all(self, account: str) -> None:
        try:
            while (found := await files.next_waiting(self._use_case, account)) is not None:
                file, tries = found
                if tries and self._reading:  # it may have failed for want of memory: it is tried again alone
                    await asyncio.wait(self._reading.values(), timeout=WAIT_SECONDS)
                read = self._begin(file)
                await asyncio.wait([read])
                read.result()
        except Exception:  # such as a full disk, or no process for a child; the rows stay
            log.exception("documents could not be read; they are read when the next one comes, or after a start")
        finally:
            del self._accounts[account]

    def _begin(self, file: FileRecord) -> asyncio.Task[None]:
        """The task that reads the file: the same for all that wait for it."""
        key = (file.chat, file.path, file.sha256)
        task = self._reading.get(key)
        if task is None:
            task = self._reading[key] = asyncio.create_task(self._read(file), name="reading")
            task.add_done_callback(lambda _: self._reading.pop(key))
        return task

    async def _read(self, file: FileRecord) -> None:
        try:
            found = await self._text(file)
        except NoChild:
            raise
        except NoAnswer as error:
            if not self._closed and await files.fail_reading(self._use_case, file, TOO_MUCH):
                log.warning("the text of %s in %s can't be read: %s", file.path, file.chat, error)
            return
        if not self._closed:
            await files.finish_reading(self._use_case, file, found)

    async def _text(self, file: FileRecord) -> IndexedText:
        """Raises `NoAnswer` and `NoChild`."""
        async with self._blobs.file(file.sha256) as content:
            return await self._reader.read(content, file.media_type, file.file_name)


def _index(file: Path, media_type: str) -> IndexedText:
    document = read_quick(file, media_type)
    return indexed_text(document.text, document.unreadable)


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
        media_type = media_types.guess(file_name, blob.head)
        text = await self._read(blob.sha256, media_type, blob.size_bytes)
        content = Content(file_name, media_type, blob.size_bytes, blob.sha256, text)
        if content.size_bytes >= _LARGE_TABLE_BYTES and table_ending(file_name, content.media_type):
            self.tables.warm()
        return content

    async def store(self, file_name: str, data: bytes) -> Content:
        """Store bytes as a blob and describe it."""
        return await self.describe(file_name, await self.blobs.store(data))

    async def describe_stored(self, upload: UploadRecord) -> Content:
        """The content of a staged upload; its text is read only now."""
        found = await self._read(upload.sha256, upload.media_type, upload.size_bytes)
        return Content(upload.file_name, upload.media_type, upload.size_bytes, upload.sha256, found)

    async def _read(self, sha256: str, media_type: str, size_bytes: int) -> IndexedText | None:
        """The indexed text of a file that has none, or is quick to read; None for others, which are read in a process
        (`readings`)."""
        if not has_text(media_type):
            return IndexedText(unreadable=why_not_read(media_type))
        if not is_quick(media_type, size_bytes):
            return None
        async with self.blobs.file(sha256) as file:
            return await asyncio.to_thread(_index, file, media_type)
