"""Files whose text is not indexed yet: which are next, and their text when it was read."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.formats.indexing import IndexedText
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.records import chats, files
from agentsvc_nb.service.records.files import FileRecord
from agentsvc_nb.service.usecases.context import UseCaseContext

TRIES: Final = 2


async def owner(context: UseCaseContext, chat: str) -> str:
    """The chat's account."""
    return await context.read_single(lambda tx: chats.owner(tx, chat))


async def accounts_waiting(context: UseCaseContext) -> list[str]:
    """The accounts with files that wait."""
    return await context.read_single(files.accounts_waiting)


async def next_of(context: UseCaseContext, account: str) -> tuple[FileRecord, int] | None:
    """The account's file that has waited the longest, and how often its reading was tried; those that were tried come
    last."""
    return await context.read_single(lambda tx: files.longest_waiting(tx, account))


async def waiting_in(context: UseCaseContext, chat: str, run_id: str | None) -> list[FileRecord]:
    """The files of the chat that wait and were not tried yet; with `run_id` only those that the run wrote."""
    return await context.read_single(lambda tx: files.waiting_in(tx, chat, run_id))


async def finish(context: UseCaseContext, file: FileRecord, found: IndexedText) -> None:
    """Index the text that was read of the file; of one that was replaced meanwhile, the new content still waits."""

    def use(tx: Tx) -> None:
        current = files.get(tx, file.chat, file.path)
        if current is not None and current.sha256 == file.sha256:
            context.index.fill(tx, file.chat, file.path, found)
            files.stop_waiting(tx, file.chat, file.path)

    await context.write(use, long=True)


async def fail(context: UseCaseContext, file: FileRecord) -> bool:
    """Count a reading that was broken off. True when there are to be no more: the file then says that it is unread."""

    def use(tx: Tx) -> bool:
        current = files.get(tx, file.chat, file.path)
        if current is None or current.sha256 != file.sha256 or files.count_try(tx, file.chat, file.path) < TRIES:
            return False
        files.set_unread(tx, file.chat, file.path)
        files.stop_waiting(tx, file.chat, file.path)
        return True

    return await context.write(use)
