"""Files: staged, attached, listed and renamed (docs/api/files.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from agentsvc_nb.formats.queries import is_scratch
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.ports import Index, Tx
from agentsvc_nb.service.records import files
from agentsvc_nb.service.records.files import Author, Content, FileRecord, UploadRecord
from agentsvc_nb.service.usecases import chats
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.files import FilePage

UPLOADS = "uploads/"
_UPLOADED = Author("upload")


def stage(tx: Tx, account: str, contents: Sequence[Content], now: int, ttl_ms: int) -> list[UploadRecord]:
    """Keep files for a later start; their ids are valid for `ttl_ms`."""
    return [files.stage(tx, ids.new("upload"), account, content, now, now + ttl_ms) for content in contents]


def put_uploads(tx: Tx, index: Index, chat: str, contents: Iterable[Content], now: int) -> list[FileRecord]:
    """Put files into a chat, each replacing the earlier one of its name; two of one name here stay two."""
    taken: set[str] = set()
    written = []
    for content in contents:
        path = _free_path(content.file_name, taken.__contains__)
        taken.add(path)
        written.append(write(tx, index, chat, path, content, _UPLOADED, now))
    return written


def attach(tx: Tx, index: Index, chat: str, contents: Iterable[Content], now: int) -> list[FileRecord]:
    """Put a start's attachments into its chat. No file is lost: another file of that name gets another path."""
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


def staged_contents(tx: Tx, account: str, upload_ids: Iterable[str], now: int) -> list[UploadRecord]:
    """The staged files with these ids. Raises `upload_not_found`."""
    found = []
    for upload_id in upload_ids:
        record = files.staged(tx, upload_id, account, now)
        if record is None:
            raise ApiError("upload_not_found", f"No staged upload {upload_id!r}; it may have expired.")
        found.append(record)
    return found


def write(tx: Tx, index: Index, chat: str, path: str, content: Content, author: Author, now: int) -> FileRecord:
    """Write one file into a chat and index its names and words, in one transaction."""
    record = files.put(tx, chat, path, content, author, now)
    if not is_scratch(path):
        index.put(tx, chat, path, record.names, content.reading)
    return record


def page(tx: Tx, account: str, chat: str, after: str, limit: int) -> FilePage:
    chats.of_account(tx, chat, account)
    found = files.page(tx, chat, after, limit + 1)
    shown = found[:limit]
    more = len(found) > limit
    return FilePage(
        chat=chat, files=[record.public() for record in shown], next_after=shown[-1].path if more and shown else None
    )


def get(tx: Tx, account: str, chat: str, path: str) -> FileRecord:
    chats.of_account(tx, chat, account)
    record = files.get(tx, chat, path)
    if record is None:
        raise ApiError("file_not_found", f"No file {path!r} in this chat.")
    return record


def rename(tx: Tx, index: Index, account: str, chat: str, path: str, name: str | None) -> FileRecord:
    get(tx, account, chat, path)
    record = files.rename(tx, chat, path, name)
    assert record is not None
    if not is_scratch(path):
        index.rename(tx, chat, path, record.names)
    return record


def _free_path(file_name: str, occupied: Callable[[str], bool]) -> str:
    stem, dot, ending = file_name.rpartition(".")
    stem, ending = (stem, dot + ending) if stem else (file_name, "")
    number, path = 1, UPLOADS + file_name
    while occupied(path):
        number += 1
        path = f"{UPLOADS}{stem}-{number}{ending}"
    return path
