"""Store content for workers, and read documents: extract their text in the background and index it.

A document waits until it is read. The row of a waiting document is written together with the file, and deleted when the
text is indexed, so that a crash loses no document (docs/decisions/10).
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
from agentsvc_nb.documents.indexing import DocumentReader, IndexedText, index_text
from agentsvc_nb.documents.media_types import table_ending
from agentsvc_nb.documents.texts import has_text, is_quick, read_quick, why_not_read
from agentsvc_nb.service.files import files
from agentsvc_nb.service.files.file_records import Content, FileRecord, UploadRecord
from agentsvc_nb.service.ports import Blob, Blobs
from agentsvc_nb.service.use_cases import UseCaseContext

log = logging.getLogger(__name__)

WAIT_SECONDS: Final = 60.0
"""The maximum time that an agent, or the end of a run, waits until documents are read."""
TOO_MUCH: Final = "Reading the file takes too much time or memory."


class ServiceClock:
    """Implements `ports.Clock` with the machine's clock."""

    def now(self) -> int:
        return clock.now_ms()


class BackgroundReader:
    """Reads the waiting documents: one at a time for each account, and different accounts in parallel."""

    def __init__(self, use_case: UseCaseContext, blobs: Blobs) -> None:
        self._use_case = use_case
        self._blobs = blobs
        self._reader = DocumentReader()
        self._accounts: dict[str, asyncio.Task[None]] = {}
        self._reading: dict[tuple[str, str, str], asyncio.Task[None]] = {}
        self._closed = False

    async def text(self, file: FileRecord) -> IndexedText:
        """Read a file now and return its text. If reading takes too much time or memory, the text is empty."""
        try:
            return await self._text(file)
        except NoChild:
            raise
        except NoAnswer:
            return IndexedText(unreadable=TOO_MUCH)

    async def wake(self) -> None:
        """Start to read the waiting documents. Call this when the service starts, and after documents are stored."""
        for account in await files.list_waiting_accounts(self._use_case):
            if account not in self._accounts and not self._closed:
                self._accounts[account] = asyncio.create_task(self._read_all(account), name="readings")

    async def wait_until_read(self, chat: str, run_id: str | None = None) -> None:
        """Wait until the documents of the chat, or only those of the run, are read, but at most `WAIT_SECONDS`."""
        waiting = await files.list_waiting(self._use_case, chat, run_id)
        if waiting and not self._closed:
            await asyncio.wait([self._start_reading(file) for file in waiting], timeout=WAIT_SECONDS)

    async def close(self) -> None:
        """Stop reading. The next start of the service continues with the documents that still wait."""
        self._closed = True
        tasks = [*self._accounts.values(), *self._reading.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await asyncio.to_thread(self._reader.close)

    async def _read_all(self, account: str) -> None:
        try:
            while (found := await files.get_next_waiting(self._use_case, account)) is not None:
                file, tries = found
                # The first try may have failed for lack of memory, so try again while no other file is being read.
                if tries and self._reading:
                    await asyncio.wait(self._reading.values(), timeout=WAIT_SECONDS)
                read = self._start_reading(file)
                await asyncio.wait([read])
                read.result()
        # for example, the disk is full or a child process can't start; the rows of the documents remain
        except Exception:
            log.exception(
                "some files could not be read; the service tries again with the next file, or at its next start"
            )
        finally:
            del self._accounts[account]

    def _start_reading(self, file: FileRecord) -> asyncio.Task[None]:
        """Return the task that reads the file. Callers for the same file get the same task."""
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
                log.warning(
                    "the service can't extract the text of the file %s in the chat %s: %s", file.path, file.chat, error
                )
            return
        if not self._closed:
            await files.finish_reading(self._use_case, file, found)

    async def _text(self, file: FileRecord) -> IndexedText:
        """Read a file and return its text.

        Raises `NoAnswer` if reading takes too much time or memory, and `NoChild` if no child process can read it now.
        """
        async with self._blobs.file(file.sha256) as content:
            return await self._reader.read(content, file.media_type, file.file_name)


def _read_quickly(file: Path, media_type: str) -> IndexedText:
    document = read_quick(file, media_type)
    return index_text(document.text, document.unreadable)


_LARGE_TABLE_BYTES: Final = 300_000
"""When a file of at least this size is stored, the table process starts, because a user may soon wait for a total."""


@dataclass(frozen=True)
class Storage:
    """Contains what all workers share to store content.

    These are the use case context, the blobs, and the readers of documents and tables.
    """

    use_case: UseCaseContext
    blobs: Blobs
    readings: BackgroundReader
    tables: TableProcess

    async def describe(self, file_name: str, blob: Blob) -> Content:
        """Return a stored blob as `Content`: its media type and size, and its text if the text can be read quickly."""
        media_type = media_types.guess(file_name, blob.head)
        text = await self._read(blob.sha256, media_type, blob.size_bytes)
        content = Content(file_name, media_type, blob.size_bytes, blob.sha256, text)
        if content.size_bytes >= _LARGE_TABLE_BYTES and table_ending(file_name, content.media_type):
            self.tables.warm()
        return content

    async def store(self, file_name: str, data: bytes) -> Content:
        """Store bytes as a blob and return the blob as `Content`."""
        return await self.describe(file_name, await self.blobs.store(data))

    async def describe_upload(self, upload: UploadRecord) -> Content:
        """Return an uploaded file as `Content`. This call reads the file's text, because the upload did not read it."""
        found = await self._read(upload.sha256, upload.media_type, upload.size_bytes)
        return Content(upload.file_name, upload.media_type, upload.size_bytes, upload.sha256, found)

    async def _read(self, sha256: str, media_type: str, size_bytes: int) -> IndexedText | None:
        """Return the text to index, which is empty if the media type has no text.

        Return None if a child process should read the text later.
        """
        if not has_text(media_type):
            return IndexedText(unreadable=why_not_read(media_type))
        if not is_quick(media_type, size_bytes):
            return None
        async with self.blobs.file(sha256) as file:
            return await asyncio.to_thread(_read_quickly, file, media_type)
