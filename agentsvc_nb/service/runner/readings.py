"""Documents that wait to be read. Their rows are written with the files and go when their text is indexed, so that none
is lost when the service is killed (docs/decisions/0035-costly-work-in-lanes.md)."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Final, Protocol

from agentsvc_nb.formats.children.pool import NoAnswer, NoChild
from agentsvc_nb.formats.indexing import DocumentReader, IndexedText
from agentsvc_nb.service.records.files import FileRecord
from agentsvc_nb.service.usecases import reading
from agentsvc_nb.service.usecases.context import UseCaseContext

log = logging.getLogger(__name__)

WAIT_SECONDS: Final = 60.0
"""How long an agent, or the end of a run, waits for documents."""


class BlobPaths(Protocol):
    """What is needed of the blob store."""

    def path(self, sha256: str) -> Path: ...


class Readings:
    """Reads the documents that wait: of each account one after the other, the accounts in turn."""

    def __init__(self, use_case: UseCaseContext, blobs: BlobPaths) -> None:
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
            return IndexedText()

    async def wake(self) -> None:
        """Begin to read what waits, after its rows were written or when the service starts."""
        for account in await reading.accounts_waiting(self._use_case):
            if account not in self._accounts and not self._closed:
                self._accounts[account] = asyncio.create_task(self._read_all(account), name="readings")

    async def caught_up(self, chat: str, run_id: str | None = None) -> None:
        """Wait until no document of the chat waits any more, or none that the run wrote; for `WAIT_SECONDS` at most."""
        waiting = await reading.waiting_in(self._use_case, chat, run_id)
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
            while (found := await reading.next_of(self._use_case, account)) is not None:
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
            if not self._closed and await reading.fail(self._use_case, file):
                log.warning("the text of %s in %s can't be read: %s", file.path, file.chat, error)
            return
        if not self._closed:
            await reading.finish(self._use_case, file, found)

    async def _text(self, file: FileRecord) -> IndexedText:
        """Raises `NoAnswer` and `NoChild`."""
        account = await reading.owner(self._use_case, file.chat)
        return await self._reader.read(self._blobs.path(file.sha256), file.media_type, account)
