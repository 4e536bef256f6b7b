"""Files of a chat (docs/api/files.md): staged, attached, written, listed, renamed; read later, if that takes long; and
searched by name and content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import PurePosixPath
from typing import Final, TypeVar

from agentsvc_nb.documents import search_query
from agentsvc_nb.documents.indexing import IndexedText, indexed_text
from agentsvc_nb.documents.snippets import snippets
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats import chats
from agentsvc_nb.service.files import file_records
from agentsvc_nb.service.files.file_records import Author, Content, FileChange, FileRecord, UploadRecord
from agentsvc_nb.service.new_ids import new_id
from agentsvc_nb.service.ports import Index, Tx
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.tools.support.stopping import ReadTooLong
from agentsvc_nb.tools.workspace_port import RULES
from agentsvc_nb.wire.files import FilePage, FileSearch, FileVersions, SearchResult, SnippetPart
from agentsvc_nb.wire.limits import (
    FILES_FROM_MAX,
    QUERY_MAX_WORDS,
    SEARCH_MAX_RESULTS,
    SEARCH_SECONDS,
    SNIPPETS_PER_MATCH,
)

T = TypeVar("T")

UPLOADS = "uploads/"
MADE_MAX: Final = 100
"""Files of a run that are named with its result."""
COPIED_CHARS: Final = 20_000
"""A longer text of a file that is copied is indexed aside, as that of a new file is."""
_UPLOADED = Author("upload")
_PROTECTED: Final = (
    "{path} holds the user's rules for agents, and only the user can change it: nothing was written. Say in the answer "
    "what to change, or write to another file."
)


async def upload(
    context: UseCaseContext, account: str, contents: Sequence[Content], where: chats.ChatSelector
) -> tuple[list[UploadRecord], str | None]:
    """Stage files for a later start, for `upload_ttl_seconds`; if `where` names a chat or session, also put them into
    that chat, which is returned."""
    now, ttl_ms = context.now, int(context.settings.upload_ttl_seconds * 1000)
    into = where.chat is not None or where.session is not None

    def use(tx: Tx) -> tuple[list[UploadRecord], str | None]:
        chat = chats.resolve(tx, where, account, now, shared=False).id if into else None
        if chat is not None:
            put_uploads(tx, context.index, chat, contents, now)
        return [
            file_records.stage(tx, new_id("upload"), account, content, now, now + ttl_ms) for content in contents
        ], chat

    found = await context.write(use, long=into)
    wake_readings(context, contents if into else ())
    return found


def put_uploads(tx: Tx, index: Index, chat: str, contents: Iterable[Content], now: int) -> list[FileRecord]:
    """Put uploaded or attached files into a chat.

    Each replaces the chat's file of its name, which keeps the earlier version. Two files of one name within one
    request get different paths.
    """
    taken: set[str] = set()
    written = []
    for content in contents:
        path = _free_path(content.file_name, taken.__contains__)
        taken.add(path)
        written.append(write(tx, index, chat, path, content, _UPLOADED, now))
    return written


async def find_staged(context: UseCaseContext, account: str, upload_ids: Sequence[str], now: int) -> list[UploadRecord]:
    """The staged files with these ids. Raises `upload_not_found`."""
    return await context.read(lambda tx: [_staged(tx, account, upload_id, now) for upload_id in upload_ids])


def _staged(tx: Tx, account: str, upload_id: str, now: int) -> UploadRecord:
    record = file_records.staged(tx, upload_id, account, now)
    if record is None:
        raise ApiError("upload_not_found", f"No staged upload {upload_id!r}; it may have expired.")
    return record


async def save(context: UseCaseContext, chat: str, path: str, content: Content, author: Author) -> FileRecord:
    """Write a file that a run or job made (`write`, in a transaction of its own).

    Raises `WorkFailure("file_protected")` for a file that gives agents rules, and for the place where one is uploaded.
    """
    now = context.now

    def use(tx: Tx) -> FileRecord:
        if PurePosixPath(path).name in RULES:
            there = file_records.get(tx, chat, path)
            if path.startswith(UPLOADS) or (there is not None and there.kind == "upload"):
                raise WorkFailure("file_protected", _PROTECTED.format(path=path))
        return write(tx, context.index, chat, path, content, author, now)

    record = await context.write(use, long=True)
    wake_readings(context, [content])
    return record


def wake_readings(context: UseCaseContext, written: Iterable[Content], *, copied: bool = False) -> None:
    """Have those of the written contents read whose text is still to be read, and those that were `copied`."""
    if copied or any(content.reading is None for content in written):
        context.workers.wake_readings()


def write(tx: Tx, index: Index, chat: str, path: str, content: Content, author: Author, now: int) -> FileRecord:
    """Write one file into a chat and index its names and words, in one transaction. Of a file that is still to be read,
    wake who reads it (`wake_readings`)."""
    record = file_records.put(tx, chat, path, content, author, now)
    if not search_query.is_scratch(path):
        index.put(tx, chat, path, record.names, content.reading or IndexedText())
        # What replaces a file that waits to be read may need no reading itself.
        note = file_records.wait if content.reading is None else file_records.stop_waiting
        note(tx, chat, path)
    return record


def copy_chat(tx: Tx, index: Index, account: str, source: str, chat: str, now: int) -> None:
    """Copy the files of the chat `source` into a new one: uploads and outputs, but neither scratch nor what the service
    keeps of the chat's turns (`logs/`). Raises what `chats.of_account` raises, and `too_many_attachments`."""
    chats.of_account(tx, source, account)
    copied = [
        file
        for file in file_records.all(tx, source)
        if not (search_query.is_scratch(file.path) or file.path.startswith("logs/"))
    ]
    if len(copied) > FILES_FROM_MAX:
        why = f"The chat of `files_from` has {len(copied):,} files; a new chat begins with {FILES_FROM_MAX} at most."
        raise ApiError("too_many_attachments", why, field="files_from")
    for file in copied:
        text = index.text(tx, source, file.path)
        reading = indexed_text(text) if 0 < len(text) <= COPIED_CHARS else None
        content = Content(file.file_name, file.media_type, file.size_bytes, file.sha256, reading)
        write(tx, index, chat, file.path, content, Author(file.kind, None, file.output_id, file.output_type), now)
        if file.name:
            file_records.rename(tx, chat, file.path, file.name)


async def page(context: UseCaseContext, account: str, chat: str, after: str, limit: int) -> FilePage:
    """A page of the chat's files in the order of their paths, after the path `after`. Raises what `chats.of_account`
    raises."""

    def use(tx: Tx) -> list[FileRecord]:
        chats.of_account(tx, chat, account)
        return file_records.page(tx, chat, after, limit + 1)

    found = await context.read(use)
    shown = found[:limit]
    more = len(found) > limit
    return FilePage(
        chat=chat, files=[record.public() for record in shown], next_after=shown[-1].path if more and shown else None
    )


async def get(context: UseCaseContext, account: str, chat: str, path: str, version: int | None = None) -> FileRecord:
    """The file at `path`, or its `version`. Raises `file_not_found`, and what `chats.of_account` raises."""

    def use(tx: Tx) -> FileRecord:
        if version is None:
            return _file_of(tx, account, chat, path)
        return _version_of(_versions_of(tx, account, chat, path), version)

    return await context.read(use)


async def versions(context: UseCaseContext, account: str, chat: str, path: str) -> FileVersions:
    """The versions of the file at `path`, also of one that was removed. Raises what `get` raises."""

    def use(tx: Tx) -> FileVersions:
        found = _versions_of(tx, account, chat, path)
        current = file_records.get(tx, chat, path)
        data = [each.public(earlier=each != current, removed=current is None) for each in found]
        return FileVersions(chat=chat, data=data)

    return await context.read(use)


async def restore(context: UseCaseContext, account: str, chat: str, path: str, version: int) -> FileRecord:
    """Write the content of a version as a new one, unless it is the current content. Raises what `get` raises."""
    now = context.now

    def use(tx: Tx) -> FileRecord:
        found = _version_of(_versions_of(tx, account, chat, path), version)
        file = file_records.get(tx, chat, path)
        return file if file and found.sha256 == file.sha256 else put_version(tx, context.index, found, None, now)

    record = await context.write(use, long=True)
    context.workers.wake_readings()
    return record


def put_version(tx: Tx, index: Index, version: FileRecord, run_id: str | None, now: int) -> FileRecord:
    """Write the content of a version as a new one, which the run made if it is given. Wake who reads it."""
    content = Content(version.file_name, version.media_type, version.size_bytes, version.sha256, reading=None)
    # Of the same kind as it was: what a run wrote does not become the user's, whose files can give it rules.
    author = Author(version.kind, run_id, version.output_id, version.output_type)
    return write(tx, index, version.chat, version.path, content, author, now)


def remove(tx: Tx, index: Index, chat: str, path: str) -> None:
    """Remove a file from the chat; its versions stay."""
    file_records.remove(tx, chat, path)
    index.drop(tx, chat, path)
    file_records.stop_waiting(tx, chat, path)


async def rename(context: UseCaseContext, account: str, chat: str, path: str, name: str | None) -> FileRecord:
    """Set the name that the file is shown by; None restores its own. Raises what `get` raises."""

    def use(tx: Tx) -> FileRecord:
        _file_of(tx, account, chat, path)
        record = file_records.rename(tx, chat, path, name)
        assert record is not None
        if not search_query.is_scratch(path):
            context.index.rename(tx, chat, path, record.names)
        return record

    return await context.write(use, long=True)


async def list_all(context: UseCaseContext, chat: str) -> list[FileRecord]:
    """Every file of the chat, including scratch."""
    return await context.read(lambda tx: file_records.all(tx, chat))


async def find(context: UseCaseContext, chat: str, paths: Sequence[str]) -> list[FileRecord]:
    """The files with these paths; those that are missing are left out."""
    found = await context.read(lambda tx: [file_records.get(tx, chat, path) for path in paths])
    return [record for record in found if record is not None]


async def last_replaced(context: UseCaseContext, chat: str, paths: Sequence[str]) -> dict[str, int]:
    """When the content before the present one was last written, by path; only of files with earlier versions."""

    def use(tx: Tx) -> dict[str, int]:
        earlier = {path: found[1:] for path in paths if (found := file_records.versions(tx, chat, path))}
        return {path: max(each.updated_at for each in versions) for path, versions in earlier.items() if versions}

    return await context.read(use)


async def changed_by(context: UseCaseContext, run_ids: Sequence[str]) -> dict[str, list[FileChange]]:
    """Return by run the versions of files that it made and that are still there."""
    return await context.read(lambda tx: {run_id: file_records.changed_by(tx, run_id) for run_id in run_ids})


async def of_run(context: UseCaseContext, chat: str, run_id: str) -> list[FileRecord]:
    """The files of the chat that the run wrote, at most `MADE_MAX`."""
    return await context.read_single(lambda tx: file_records.of_run(tx, chat, run_id, MADE_MAX))


async def text(context: UseCaseContext, chat: str, path: str) -> str:
    """The file's text as it was indexed; empty when it has none."""
    return await context.read(lambda tx: context.index.text(tx, chat, path))


def _file_of(tx: Tx, account: str, chat: str, path: str) -> FileRecord:
    chats.of_account(tx, chat, account)
    record = file_records.get(tx, chat, path)
    if record is None:
        raise ApiError("file_not_found", f"No file {path!r} in this chat.")
    return record


def _versions_of(tx: Tx, account: str, chat: str, path: str) -> list[FileRecord]:
    chats.of_account(tx, chat, account)
    found = file_records.versions(tx, chat, path)
    if not found:
        raise ApiError("file_not_found", f"No file {path!r} in this chat.")
    return found


def _version_of(versions: Sequence[FileRecord], version: int) -> FileRecord:
    for each in versions:
        if each.version == version:
            return each
    raise ApiError("file_not_found", f"The file {versions[0].path!r} has no version {version}.")


def _free_path(file_name: str, occupied: Callable[[str], bool]) -> str:
    """`uploads/NAME`, or the first of `uploads/NAME-2`, `-3`, ... that is not `occupied`."""
    stem, dot, ending = file_name.rpartition(".")
    stem, ending = (stem, dot + ending) if stem else (file_name, "")
    number, path = 1, UPLOADS + file_name
    while occupied(path):
        number += 1
        path = f"{UPLOADS}{stem}-{number}{ending}"
    return path


# Files whose text is still to be read: a row is written with the file, and goes when the text is indexed, so that none
# is lost in a crash.

TRIES: Final = 2


async def accounts_waiting(context: UseCaseContext) -> list[str]:
    """The accounts with files that wait."""
    return await context.read_single(file_records.accounts_waiting)


async def next_waiting(context: UseCaseContext, account: str) -> tuple[FileRecord, int] | None:
    """The account's file that has waited the longest, and how often its reading was tried; those that were tried come
    last."""
    return await context.read_single(lambda tx: file_records.longest_waiting(tx, account))


async def waiting_in(context: UseCaseContext, chat: str, run_id: str | None) -> list[FileRecord]:
    """The files of the chat that wait and were not tried yet; with `run_id` only those that the run wrote."""
    return await context.read_single(lambda tx: file_records.waiting_in(tx, chat, run_id))


async def finish_reading(context: UseCaseContext, file: FileRecord, found: IndexedText) -> None:
    """Index the text that was read of the file; of one that was replaced meanwhile, the new content still waits."""

    def use(tx: Tx) -> None:
        current = file_records.get(tx, file.chat, file.path)
        if current is not None and current.sha256 == file.sha256:
            context.index.fill(tx, file.chat, file.path, found)
            file_records.set_unreadable(tx, file.chat, file.path, found.unreadable)
            file_records.stop_waiting(tx, file.chat, file.path)

    await context.write(use, long=True)


async def fail_reading(context: UseCaseContext, file: FileRecord, reason: str) -> bool:
    """Count a reading that was broken off. Return True if it was the last try: the file then tells the `reason`."""

    def use(tx: Tx) -> bool:
        current = file_records.get(tx, file.chat, file.path)
        if current is None or current.sha256 != file.sha256 or file_records.count_try(tx, file.chat, file.path) < TRIES:
            return False
        file_records.set_unreadable(tx, file.chat, file.path, reason)
        file_records.stop_waiting(tx, file.chat, file.path)
        return True

    return await context.write(use)


# Search, and the index that an older version has written.

Place = tuple[str, str]
"""The chat and path of a file."""

INDEX_BATCH: Final = 200
TEXTS_AT_ONCE: Final = 10
"""Texts that a search reads in one statement."""


async def index_older_files(context: UseCaseContext) -> None:
    """Index all files again if an older version indexed them. Takes minutes for 100,000 files."""
    index = context.index
    if await context.read(index.is_current):
        return
    last: Place | None = ("", "")

    def next_files(tx: Tx, after: Place) -> Place | None:
        """Index the files after the place `after`; the place of the last one, or None when all are done."""
        found = file_records.every(tx, after, INDEX_BATCH)
        for record in found:
            if not search_query.is_scratch(record.path):
                text = index.text(tx, record.chat, record.path)
                index.put(tx, record.chat, record.path, record.names, indexed_text(text))
        if len(found) == INDEX_BATCH:
            return found[-1].chat, found[-1].path
        index.set_current(tx)
        return None

    while last is not None:
        last = await context.write(partial(next_files, after=last), long=True)


async def search(
    context: UseCaseContext, account: str, chat: str, q: str, seconds: float | None = SEARCH_SECONDS
) -> FileSearch:
    """Matches by name first, then by content, best first; one per typed output; at most 50 (docs/api/files.md
    "Search").

    Raises `ReadTooLong` after `seconds` of processor time, and what `chats.of_account` raises.
    """
    return await context.search(lambda tx: search_within(tx, context.index, account, chat, q), seconds)


def search_within(tx: Tx, index: Index, account: str, chat: str, q: str) -> FileSearch:
    """`search`, within a transaction."""
    chats.of_account(tx, chat, account)
    query = search_query.parse(q)
    if query is None:
        return FileSearch(chat=chat, results=[])
    shown = islice(_one_per_output(_matches(tx, index, chat, query)), SEARCH_MAX_RESULTS)
    results = []
    for hits in _batches(shown, TEXTS_AT_ONCE):
        by_content = [hit.file.path for hit in hits if hit.by == "content"]
        texts = index.texts(tx, chat, by_content) if by_content else {}
        for hit in hits:
            text = texts.get(hit.file.path)  # None for a file that was found by its name
            passages = [] if text is None else snippets(query, text, SNIPPETS_PER_MATCH, tx.check_time)
            parts = [[SnippetPart(text=part, match=match) for part, match in passage] for passage in passages]
            results.append(SearchResult(**hit.file.facts(), match=hit.by, snippets=parts))
    return FileSearch(chat=chat, results=results)


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A file that matched; `by` is `name` or `content`."""

    file: FileRecord
    by: str


async def find_matches(
    context: UseCaseContext, chat: str, query: search_query.Query, limit: int, seconds: float
) -> list[SearchHit]:
    """The best `limit` matches in the chat, best first. Raises `ReadTooLong` after `seconds` of processor time."""
    return await context.search(lambda tx: list(islice(_matches(tx, context.index, chat, query), limit)), seconds)


def _matches(tx: Tx, index: Index, chat: str, query: search_query.Query) -> Iterator[SearchHit]:
    """The files of the chat that match, best first. Lazy, because there may be very many.

    Raises `ReadTooLong` for a query of too many words: each is looked up apart.
    """
    if query.words > QUERY_MAX_WORDS:
        raise ReadTooLong
    named = set[str]()
    for file in _matching_files(tx, chat, index.by_name(tx, chat, query)):
        named.add(file.path)
        yield SearchHit(file, "name")
    by_words = (path for path in index.by_words(tx, chat, query) if path not in named)
    for file in _matching_files(tx, chat, by_words):
        yield SearchHit(file, "content")


def _matching_files(tx: Tx, chat: str, paths: Iterator[str]) -> Iterator[FileRecord]:
    """The files at these paths, as many in one statement as are shown."""
    for batch in _batches(paths, SEARCH_MAX_RESULTS):
        tx.check_time()  # a search may pass over very many files of one output
        found = file_records.among(tx, chat, batch)
        yield from (found[path] for path in batch)  # the index is written with the files, in one transaction


def _batches(values: Iterator[T], size: int) -> Iterator[list[T]]:
    while batch := list(islice(values, size)):
        yield batch


def _one_per_output(hits: Iterable[SearchHit]) -> Iterator[SearchHit]:
    """The hits, with only the best one of each typed output."""
    seen: set[str] = set()
    for hit in hits:
        output = hit.file.output_id or f"path:{hit.file.path}"
        if output not in seen:
            seen.add(output)
            yield hit
