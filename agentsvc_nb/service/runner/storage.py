"""Storage for workers: blobs, descriptions of stored content, and documents that wait to be read.

Rows of waiting documents are written with the files and deleted when the text is indexed, so that a crash loses none
(docs/decisions/10).
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
TOO_MUCH: Final = "Reading the file takes too much time or memory."


class SystemClock:
    """`ports.Clock` on the machine's clock."""

    def now(self) -> int:
        return clock.now_ms()


class Readings:
    """Reads the waiting documents: one at a time for each account, and the accounts in parallel."""

    def __init__(self, use_case: UseCaseContext, blobs: Blobs) -> None:
        self._use_case = use_case
        self._blobs = blobs
        self._reader = DocumentReader()
        self._accounts: dict[str, asyncio.Task[None]] = {}
        self._reading: dict[tuple[str, str, str], asyncio.Task[None]] = {}
        self._closed = False

    async def text(self, file: FileRecord) -> IndexedText:
        """Read a file now and return its text. Empty if the file exceeds the limits of reading."""
        try:
            return await self._text(file)
        except NoChild:
            raise
        except NoAnswer:
            return IndexedText(unreadable=TOO_MUCH)

    async def wake(self) -> None:
        """Start reading the waiting documents. Call this after their rows are written, and when the service starts."""
        for account in await files.accounts_waiting(self._use_case):
            if account not in self._accounts and not self._closed:
                self._accounts[account] = asyncio.create_task(self._read_all(account), name="readings")

    async def caught_up(self, chat: str, run_id: str | None = None) -> None:
        """Wait until all documents of the chat, or of the run, are read. Wait at most `WAIT_SECONDS`."""
        waiting = await files.waiting_in(self._use_case, chat, run_id)
        if waiting and not self._closed:
            await asyncio.wait([self._begin(file) for file in waiting], timeout=WAIT_SECONDS)

    async def close(self) -> None:
        """Stop reading. After the next start, the service reads the documents that still wait."""
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
                if tries and self._reading:  # it may have failed for lack of memory, so try again with no other file
                    await asyncio.wait(self._reading.values(), timeout=WAIT_SECONDS)
                read = self._begin(file)
                await asyncio.wait([read])
                read.result()
        except Exception:  # such as a full disk, or a child process that can't start; the rows remain
            log.exception(
                "some files could not be read; the service tries again with the next file, or at its next start"
            )
        finally:
            del self._accounts[account]

    def _begin(self, file: FileRecord) -> asyncio.Task[None]:
        """Return the task that reads the file. All callers for the same file share the task."""
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
                log.warning("the service can't extract the text of %s in %s: %s", file.path, file.chat, error)
            return
        if not self._closed:
            await files.finish_reading(self._use_case, file, found)

    async def _text(self, file: FileRecord) -> IndexedText:
        """Read a file. Raises `NoAnswer` and `NoChild`."""
        async with self._blobs.file(file.sha256) as content:
            return await self._reader.read(content, file.media_type, file.file_name)


def _index(file: Path, media_type: str) -> IndexedText:
    document = read_quick(file, media_type)
    return indexed_text(document.text, document.unreadable)


_LARGE_TABLE_BYTES: Final = 300_000
"""For files of at least this size, start the table process when the file is stored, because users wait for the first
total.
"""


@dataclass(frozen=True)
class Storage:
    """The use case context, the blob store, and the readers of documents and tables, for every worker."""

    use_case: UseCaseContext
    blobs: Blobs
    readings: Readings
    tables: TableProcess

    async def describe(self, file_name: str, blob: Blob) -> Content:
        """Return the media type and size of a stored blob, and its text if it is quick to read (`_read`)."""
        media_type = media_types.guess(file_name, blob.head)
        text = await self._read(blob.sha256, media_type, blob.size_bytes)
        content = Content(file_name, media_type, blob.size_bytes, blob.sha256, text)
        if content.size_bytes >= _LARGE_TABLE_BYTES and table_ending(file_name, content.media_type):
            self.tables.warm()
        return content

    async def store(self, file_name: str, data: bytes) -> Content:
        """Store bytes as a blob and describe the blob."""
        return await self.describe(file_name, await self.blobs.store(data))

    async def describe_stored(self, upload: UploadRecord) -> Content:
        """Return the content of a staged upload. The upload's text is read only now."""
        found = await self._read(upload.sha256, upload.media_type, upload.size_bytes)
        return Content(upload.file_name, upload.media_type, upload.size_bytes, upload.sha256, found)

    async def _read(self, sha256: str, media_type: str, size_bytes: int) -> IndexedText | None:
        """Return the text to index if the file has none or is quick to read.

        Return None for other files, which `readings` reads in a child process.
        """
        if not has_text(media_type):
            return IndexedText(unreadable=why_not_read(media_type))
        if not is_quick(media_type, size_bytes):
            return None
        async with self.blobs.file(sha256) as file:
            return await asyncio.to_thread(_index, file, media_type)
