"""Files of a chat: stage, attach, write, list, rename (docs/api/files.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from agentsvc_nb.formats.indexing import IndexedText
from agentsvc_nb.formats.queries import is_scratch
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.ports import Index, Tx
from agentsvc_nb.service.records import files
from agentsvc_nb.service.records.files import Author, Content, FileRecord, UploadRecord
from agentsvc_nb.service.usecases import chats
from agentsvc_nb.service.usecases.context import UseCaseContext
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.files import FilePage

UPLOADS = "uploads/"
_UPLOADED = Author("upload")


async def upload(
    context: UseCaseContext, account: str, contents: Sequence[Content], chat: str | None
) -> list[UploadRecord]:
    """Stage files for a later start, for `upload_ttl_seconds`; with `chat`, also put them into that chat."""
    now, ttl_ms = context.now, int(context.settings.upload_ttl_seconds * 1000)

    def use(tx: Tx) -> list[UploadRecord]:
        if chat is not None:
            _put_uploads(tx, context.index, chat, contents, now)
        return [files.stage(tx, ids.new("upload"), account, content, now, now + ttl_ms) for content in contents]

    staged = await context.write(use, long=chat is not None)
    wake_readings(context, contents if chat is not None else ())
    return staged


def _put_uploads(tx: Tx, index: Index, chat: str, contents: Iterable[Content], now: int) -> list[FileRecord]:
    """Put uploaded files into a chat. Each replaces the chat's file of its name; two of one name within this upload get
    different paths."""
    taken: set[str] = set()
    written = []
    for content in contents:
        path = _free_path(content.file_name, taken.__contains__)
        taken.add(path)
        written.append(write(tx, index, chat, path, content, _UPLOADED, now))
    return written


def attach(tx: Tx, index: Index, chat: str, contents: Iterable[Content], now: int) -> list[FileRecord]:
    """Put a start's attachments into its chat. None replaces a file with other content: it gets another path."""
    taken: set[str] = set()
    written = []
    for content in contents:

        def occupied(path: str, content: Content = content) -> bool:
            there = files.get(tx, chat, path)
            return path in taken or (there is not None and there.sha256 != content.sha256)

        path = _free_path(content.file_name, occupied)
        taken.add(path)
        written.append(write(tx, index, chat, path, content, _UPLOADED, now))
    return written


async def find_staged(context: UseCaseContext, account: str, upload_ids: Sequence[str], now: int) -> list[UploadRecord]:
    """The staged files with these ids. Raises `upload_not_found`."""
    return await context.read(lambda tx: [_staged(tx, account, upload_id, now) for upload_id in upload_ids])


def _staged(tx: Tx, account: str, upload_id: str, now: int) -> UploadRecord:
    record = files.staged(tx, upload_id, account, now)
    if record is None:
        raise ApiError("upload_not_found", f"No staged upload {upload_id!r}; it may have expired.")
    return record


async def save(context: UseCaseContext, chat: str, path: str, content: Content, author: Author) -> FileRecord:
    """Write a file that a run or job made (`write`, in a transaction of its own)."""
    now = context.now
    record = await context.write(lambda tx: write(tx, context.index, chat, path, content, author, now), long=True)
    wake_readings(context, [content])
    return record


def wake_readings(context: UseCaseContext, written: Iterable[Content]) -> None:
    """Have those of the written contents read whose text is still to be read."""
    if any(content.reading is None for content in written):
        context.workers.wake_readings()


def write(tx: Tx, index: Index, chat: str, path: str, content: Content, author: Author, now: int) -> FileRecord:
    """Write one file into a chat and index its names and words, in one transaction. Of a file that is still to be read,
    wake who reads it (`wake_readings`)."""
    record = files.put(tx, chat, path, content, author, now)
    if not is_scratch(path):
        index.put(tx, chat, path, record.names, content.reading or IndexedText())
        note = files.wait if content.reading is None else files.stop_waiting
        note(tx, chat, path)
    return record


async def page(context: UseCaseContext, account: str, chat: str, after: str, limit: int) -> FilePage:
    """A page of the chat's files in the order of their paths, after the path `after`. Raises what `chats.of_account`
    raises."""

    def use(tx: Tx) -> list[FileRecord]:
        chats.of_account(tx, chat, account)
        return files.page(tx, chat, after, limit + 1)

    found = await context.read(use)
    shown = found[:limit]
    more = len(found) > limit
    return FilePage(
        chat=chat, files=[record.public() for record in shown], next_after=shown[-1].path if more and shown else None
    )


async def get(context: UseCaseContext, account: str, chat: str, path: str) -> FileRecord:
    """The file at `path`. Raises `file_not_found`, and what `chats.of_account` raises."""
    return await context.read(lambda tx: _file_of(tx, account, chat, path))


async def rename(context: UseCaseContext, account: str, chat: str, path: str, name: str | None) -> FileRecord:
    """Set the name that the file is shown by; None restores its own. Raises what `get` raises."""

    def use(tx: Tx) -> FileRecord:
        _file_of(tx, account, chat, path)
        record = files.rename(tx, chat, path, name)
        assert record is not None
        if not is_scratch(path):
            context.index.rename(tx, chat, path, record.names)
        return record

    return await context.write(use, long=True)


async def list_all(context: UseCaseContext, chat: str) -> list[FileRecord]:
    """Every file of the chat, including scratch."""
    return await context.read(lambda tx: files.all(tx, chat))


async def find(context: UseCaseContext, chat: str, paths: Sequence[str]) -> list[FileRecord]:
    """The files with these paths; those that are missing are left out."""
    found = await context.read(lambda tx: [files.get(tx, chat, path) for path in paths])
    return [record for record in found if record is not None]


async def text(context: UseCaseContext, chat: str, path: str) -> str:
    """The file's text as it was indexed; empty when it has none."""
    return await context.read(lambda tx: context.index.text(tx, chat, path))


def _file_of(tx: Tx, account: str, chat: str, path: str) -> FileRecord:
    chats.of_account(tx, chat, account)
    record = files.get(tx, chat, path)
    if record is None:
        raise ApiError("file_not_found", f"No file {path!r} in this chat.")
    return record


def _free_path(file_name: str, occupied: Callable[[str], bool]) -> str:
    """`uploads/NAME`, or the first of `uploads/NAME-2`, `-3`, ... that is not `occupied`."""
    stem, dot, ending = file_name.rpartition(".")
    stem, ending = (stem, dot + ending) if stem else (file_name, "")
    number, path = 1, UPLOADS + file_name
    while occupied(path):
        number += 1
        path = f"{UPLOADS}{stem}-{number}{ending}"
    return path
