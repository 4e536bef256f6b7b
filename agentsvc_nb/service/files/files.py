"""Use cases of a chat's files: stage, attach, write, list, rename, index and search (docs/api/files.md).

A staged file is an upload that a later request can attach to a run. To read a file means to extract its text, which
search indexes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import PurePosixPath
from typing import Final, TypeVar

from agentsvc_nb.documents import search_query
from agentsvc_nb.documents.indexing import IndexedText, index_text
from agentsvc_nb.documents.snippets import snippets
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats import chats
from agentsvc_nb.service.files import file_records
from agentsvc_nb.service.files.file_records import Content, FileChange, FileOrigin, FileRecord, UploadRecord
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
RESULT_FILES_MAX: Final = 100
"""The maximum number of files that a run's result lists."""
COPIED_CHARS: Final = 20_000
"""The text of a copied file is indexed in the background if it has more characters than this."""
_UPLOADED = FileOrigin("upload")
_PROTECTED: Final = (
    "{path} contains the user's rules for agents, and only the user can change it. Nothing was written. "
    "Describe the change in the answer, or write to another file."
)


async def upload(
    context: UseCaseContext, account: str, contents: Sequence[Content], where: chats.ChatSelector
) -> tuple[list[UploadRecord], str | None]:
    """Stage files for `upload_ttl_seconds`, so that later requests can attach them.

    If `where` names a chat or session, also put the files into that chat and return the chat's id.
    """
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

    A file replaces the chat's file of the same name, whose content remains as an earlier version. Files of one request
    that have the same name get different paths.
    """
    taken: set[str] = set()
    written = []
    for content in contents:
        path = _free_path(content.file_name, taken)
        taken.add(path)
        written.append(write(tx, index, chat, path, content, _UPLOADED, now))
    return written


async def find_staged(context: UseCaseContext, account: str, upload_ids: Sequence[str], now: int) -> list[UploadRecord]:
    """Return the staged files with these ids. Raises `upload_not_found`."""
    return await context.read(lambda tx: [_staged(tx, account, upload_id, now) for upload_id in upload_ids])


def _staged(tx: Tx, account: str, upload_id: str, now: int) -> UploadRecord:
    record = file_records.get_staged(tx, upload_id, account, now)
    if record is None:
        raise ApiError(
            "upload_not_found", f"There is no staged upload {upload_id!r}. It may have expired: upload the file again."
        )
    return record


async def save(context: UseCaseContext, chat: str, path: str, content: Content, author: FileOrigin) -> FileRecord:
    """Write a file that a run or job created, in a new transaction.

    Files named AGENTS.md or BRAND.md contain the user's rules for agents. If `path` has such a name and is an upload
    or in `uploads/`, raise `WorkFailure("file_protected")`.
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
    """Wake the background reader if it must read the text of any file in `written`. With `copied`, always wake it."""
    if copied or any(content.reading is None for content in written):
        context.workers.wake_readings()


def write(tx: Tx, index: Index, chat: str, path: str, content: Content, author: FileOrigin, now: int) -> FileRecord:
    """Write and index a file, within the transaction `tx`.

    If the file's text must still be read, call `wake_readings` after the commit.
    """
    record = file_records.put(tx, chat, path, content, author, now)
    if not search_query.is_scratch(path):
        index.put(tx, chat, path, record.names, content.reading or IndexedText())
        # The file may replace a file whose text must still be read.
        note = file_records.start_waiting if content.reading is None else file_records.stop_waiting
        note(tx, chat, path)
    return record


def copy_chat(tx: Tx, index: Index, account: str, source: str, chat: str, now: int) -> None:
    """Copy the uploads and outputs of the chat `source` into a new chat, without scratch files and `logs/`.

    Raises what `chats.get_of_account` raises, and `too_many_attachments`.
    """
    chats.get_of_account(tx, source, account)
    copied = [
        file
        for file in file_records.all(tx, source)
        if not (search_query.is_scratch(file.path) or file.path.startswith("logs/"))
    ]
    if len(copied) > FILES_FROM_MAX:
        why = (
            f"The chat of `files_from` has {len(copied):,} files, but a new chat can start with at most "
            f"{FILES_FROM_MAX}."
        )
        raise ApiError("too_many_attachments", why, field="files_from")
    for file in copied:
        text = index.text(tx, source, file.path)
        reading = index_text(text) if 0 < len(text) <= COPIED_CHARS else None
        content = Content(file.file_name, file.media_type, file.size_bytes, file.sha256, reading)
        write(tx, index, chat, file.path, content, FileOrigin(file.kind, None, file.output_id, file.output_type), now)
        if file.name:
            file_records.rename(tx, chat, file.path, file.name)


async def page(context: UseCaseContext, account: str, chat: str, after: str, limit: int) -> FilePage:
    """Return a page of the chat's files, ordered by path, after the path `after`. Raises errors of `get_of_account`."""

    def use(tx: Tx) -> list[FileRecord]:
        chats.get_of_account(tx, chat, account)
        return file_records.page(tx, chat, after, limit + 1)

    found = await context.read(use)
    shown = found[:limit]
    more = len(found) > limit
    return FilePage(
        chat=chat, files=[record.public() for record in shown], next_after=shown[-1].path if more and shown else None
    )


async def get(context: UseCaseContext, account: str, chat: str, path: str, version: int | None = None) -> FileRecord:
    """Return the current version of the file at `path`, or the version with the number `version`, if given.

    Raises `file_not_found`, and errors of `get_of_account`.
    """

    def use(tx: Tx) -> FileRecord:
        if version is None:
            return _file_of(tx, account, chat, path)
        return _version_of(_versions_of(tx, account, chat, path), version)

    return await context.read(use)


async def versions(context: UseCaseContext, account: str, chat: str, path: str) -> FileVersions:
    """Return the versions of the file at `path`, even if it was removed. Raises what `get` raises."""

    def use(tx: Tx) -> FileVersions:
        found = _versions_of(tx, account, chat, path)
        current = file_records.get(tx, chat, path)
        data = [each.public(earlier=each != current, removed=current is None) for each in found]
        return FileVersions(chat=chat, data=data)

    return await context.read(use)


async def restore(context: UseCaseContext, account: str, chat: str, path: str, version: int) -> FileRecord:
    """Write the content of a version as a new version, unless it is the current content. Raises what `get` raises."""
    now = context.now

    def use(tx: Tx) -> FileRecord:
        found = _version_of(_versions_of(tx, account, chat, path), version)
        file = file_records.get(tx, chat, path)
        return file if file and found.sha256 == file.sha256 else put_version(tx, context.index, found, None, now)

    record = await context.write(use, long=True)
    context.workers.wake_readings()
    return record


def put_version(tx: Tx, index: Index, version: FileRecord, run_id: str | None, now: int) -> FileRecord:
    """Write the content of `version` as a new version of the file.

    The new version belongs to the run `run_id`, or to no run (None) if a user restores the content.

    After the commit, call `wake_readings`.
    """
    content = Content(version.file_name, version.media_type, version.size_bytes, version.sha256, reading=None)
    # Keep the kind: a run's file must not become an upload, because uploads can contain the user's rules for runs.
    author = FileOrigin(version.kind, run_id, version.output_id, version.output_type)
    return write(tx, index, version.chat, version.path, content, author, now)


def remove(tx: Tx, index: Index, chat: str, path: str) -> None:
    """Remove a file from the chat. Its versions remain."""
    file_records.remove(tx, chat, path)
    index.drop(tx, chat, path)
    file_records.stop_waiting(tx, chat, path)


async def rename(context: UseCaseContext, account: str, chat: str, path: str, name: str | None) -> FileRecord:
    """Set the name that users see for the file. None restores the original name. Raises what `get` raises."""

    def use(tx: Tx) -> FileRecord:
        _file_of(tx, account, chat, path)
        record = file_records.rename(tx, chat, path, name)
        assert record is not None
        if not search_query.is_scratch(path):
            context.index.rename(tx, chat, path, record.names)
        return record

    return await context.write(use, long=True)


async def list_all(context: UseCaseContext, chat: str) -> list[FileRecord]:
    """Return every file of the chat, including scratch files."""
    return await context.read(lambda tx: file_records.all(tx, chat))


async def find(context: UseCaseContext, chat: str, paths: Sequence[str]) -> list[FileRecord]:
    """Return the files with these paths. Leave out missing files."""
    found = await context.read(lambda tx: [file_records.get(tx, chat, path) for path in paths])
    return [record for record in found if record is not None]


async def get_replacement_times(context: UseCaseContext, chat: str, paths: Sequence[str]) -> dict[str, int]:
    """Return the time (ms) at which each file's previous version was written, by path.

    Leave out files without a previous version.
    """

    def use(tx: Tx) -> dict[str, int]:
        earlier = {path: found[1:] for path in paths if (found := file_records.versions(tx, chat, path))}
        return {path: max(each.updated_at for each in versions) for path, versions in earlier.items() if versions}

    return await context.read(use)


async def list_changes(context: UseCaseContext, run_ids: Sequence[str]) -> dict[str, list[FileChange]]:
    """Return, by run id, the file versions that each of the runs created and that still exist."""
    return await context.read(lambda tx: {run_id: file_records.list_changes(tx, run_id) for run_id in run_ids})


async def list_by_run(context: UseCaseContext, chat: str, run_id: str) -> list[FileRecord]:
    """Return the files of the chat that the run wrote, at most `RESULT_FILES_MAX` of them."""
    return await context.read_single(lambda tx: file_records.list_by_run(tx, chat, run_id, RESULT_FILES_MAX))


async def text(context: UseCaseContext, chat: str, path: str) -> str:
    """Return the indexed text of the file, or "" if it has none."""
    return await context.read(lambda tx: context.index.text(tx, chat, path))


def _file_of(tx: Tx, account: str, chat: str, path: str) -> FileRecord:
    chats.get_of_account(tx, chat, account)
    record = file_records.get(tx, chat, path)
    if record is None:
        raise ApiError("file_not_found", f"This chat has no file {path!r}.")
    return record


def _versions_of(tx: Tx, account: str, chat: str, path: str) -> list[FileRecord]:
    chats.get_of_account(tx, chat, account)
    found = file_records.versions(tx, chat, path)
    if not found:
        raise ApiError("file_not_found", f"This chat has no file {path!r}.")
    return found


def _version_of(versions: Sequence[FileRecord], version: int) -> FileRecord:
    for each in versions:
        if each.version == version:
            return each
    raise ApiError("file_not_found", f"The file {versions[0].path!r} has no version {version}.")


def _free_path(file_name: str, taken: Set[str]) -> str:
    """Return `uploads/NAME`, or the first of `uploads/NAME-2`, `uploads/NAME-3`, ... that is not in `taken`."""
    stem, dot, ending = file_name.rpartition(".")
    stem, ending = (stem, dot + ending) if stem else (file_name, "")
    number, path = 1, UPLOADS + file_name
    while path in taken:
        number += 1
        path = f"{UPLOADS}{stem}-{number}{ending}"
    return path


# Files whose text is not yet read. A row for each is written with the file and deleted when the text is indexed, so a
# crash loses none of them.

TRIES: Final = 2


async def list_waiting_accounts(context: UseCaseContext) -> list[str]:
    """Return the accounts with files whose text must still be read."""
    return await context.read_single(file_records.list_waiting_accounts)


async def get_next_waiting(context: UseCaseContext, account: str) -> tuple[FileRecord, int] | None:
    """Return the account's next file to read, with the number of attempts so far, or None if no file waits.

    The files with the fewest attempts come first.
    """
    return await context.read_single(lambda tx: file_records.get_next_waiting(tx, account))


async def list_waiting(context: UseCaseContext, chat: str, run_id: str | None) -> list[FileRecord]:
    """Return the chat's files that wait for the first attempt to read their text.

    With `run_id`, return only files that the run wrote.
    """
    return await context.read_single(lambda tx: file_records.list_waiting(tx, chat, run_id))


async def finish_reading(context: UseCaseContext, file: FileRecord, found: IndexedText) -> None:
    """Index `found`, the text of the file. If the file was replaced or removed while it was read, do nothing."""

    def use(tx: Tx) -> None:
        current = file_records.get(tx, file.chat, file.path)
        if current is not None and current.sha256 == file.sha256:
            context.index.fill(tx, file.chat, file.path, found)
            file_records.set_unreadable(tx, file.chat, file.path, found.unreadable)
            file_records.stop_waiting(tx, file.chat, file.path)

    await context.write(use, long=True)


async def fail_reading(context: UseCaseContext, file: FileRecord, reason: str) -> bool:
    """Count a failed attempt to read a file.

    After the last attempt, store the `reason` and return True. Return False if another attempt follows, or if the file
    was replaced or removed.
    """

    def use(tx: Tx) -> bool:
        current = file_records.get(tx, file.chat, file.path)
        if current is None or current.sha256 != file.sha256 or file_records.count_try(tx, file.chat, file.path) < TRIES:
            return False
        file_records.set_unreadable(tx, file.chat, file.path, reason)
        file_records.stop_waiting(tx, file.chat, file.path)
        return True

    return await context.write(use)


# Search files, and upgrade an index that an older version wrote.

FilePosition = tuple[str, str]
"""The position of a file in the order of all files: its chat and its path."""

INDEX_BATCH: Final = 200
TEXTS_AT_ONCE: Final = 10
"""The number of texts that a search reads in one statement."""


async def index_older_files(context: UseCaseContext) -> None:
    """Rebuild the search index if an older version wrote it. This takes minutes for 100,000 files."""
    index = context.index
    if await context.read(index.is_current):
        return
    last: FilePosition | None = ("", "")

    def next_files(tx: Tx, after: FilePosition) -> FilePosition | None:
        """Index the next files after the position `after`. Return the last file's position, or None after all files."""
        found = file_records.list_across_chats(tx, after, INDEX_BATCH)
        for record in found:
            if not search_query.is_scratch(record.path):
                text = index.text(tx, record.chat, record.path)
                index.put(tx, record.chat, record.path, record.names, index_text(text))
        if len(found) == INDEX_BATCH:
            return found[-1].chat, found[-1].path
        index.set_current(tx)
        return None

    while last is not None:
        last = await context.write(partial(next_files, after=last), long=True)


async def search(
    context: UseCaseContext, account: str, chat: str, q: str, seconds: float | None = SEARCH_SECONDS
) -> FileSearch:
    """Search a chat's files by name and content (docs/api/files.md "Search").

    Matches by name come first, then matches by content, best first. Return at most 50 files. Of several files of one
    typed output, return only the best match.

    Raises `ReadTooLong` after `seconds` of CPU time, and what `chats.get_of_account` raises.
    """
    return await context.search(lambda tx: search_within(tx, context.index, account, chat, q), seconds)


def search_within(tx: Tx, index: Index, account: str, chat: str, q: str) -> FileSearch:
    """Search as `search` does, but within a transaction."""
    chats.get_of_account(tx, chat, account)
    query = search_query.parse(q)
    if query is None:
        return FileSearch(chat=chat, results=[])
    shown = islice(_one_per_output(_matches(tx, index, chat, query)), SEARCH_MAX_RESULTS)
    results = []
    for hits in _batches(shown, TEXTS_AT_ONCE):
        by_content = [hit.file.path for hit in hits if hit.by == "content"]
        texts = index.texts(tx, chat, by_content) if by_content else {}
        for hit in hits:
            text = texts.get(hit.file.path)  # None for a match by name
            passages = [] if text is None else snippets(query, text, SNIPPETS_PER_MATCH, tx.check_time)
            parts = [[SnippetPart(text=part, match=match) for part, match in passage] for passage in passages]
            results.append(SearchResult(**hit.file.facts(), match=hit.by, snippets=parts))
    return FileSearch(chat=chat, results=results)


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A file that a search found. `by` says what matched: `name` or `content`."""

    file: FileRecord
    by: str


async def find_matches(
    context: UseCaseContext, chat: str, query: search_query.Query, limit: int, seconds: float
) -> list[SearchHit]:
    """Return the `limit` best matches in the chat, best first. Raises `ReadTooLong` after `seconds` of CPU time."""
    return await context.search(lambda tx: list(islice(_matches(tx, context.index, chat, query), limit)), seconds)


def _matches(tx: Tx, index: Index, chat: str, query: search_query.Query) -> Iterator[SearchHit]:
    """Yield the chat's matching files, best first. Raises `ReadTooLong` if the query has too many words."""
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
    """Yield the files at these paths. Each SQL statement reads at most `SEARCH_MAX_RESULTS` files."""
    for batch in _batches(paths, SEARCH_MAX_RESULTS):
        tx.check_time()  # a search may skip very many files that belong to one typed output
        found = file_records.get_many(tx, chat, batch)
        yield from (found[path] for path in batch)  # index and file rows have the same paths


def _batches(values: Iterator[T], size: int) -> Iterator[list[T]]:
    while batch := list(islice(values, size)):
        yield batch


def _one_per_output(hits: Iterable[SearchHit]) -> Iterator[SearchHit]:
    """Yield only the best hit of each typed output."""
    seen: set[str] = set()
    for hit in hits:
        output = hit.file.output_id or f"path:{hit.file.path}"
        if output not in seen:
            seen.add(output)
            yield hit
