"""Read and write rows of files and of staged uploads, which expire unless a request puts them into a chat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from agentsvc_nb.documents.indexing import IndexedText
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.sql import fetch_one, load, public, record, sql_list
from agentsvc_nb.service.times import rfc3339
from agentsvc_nb.wire.files import StagedFile, TypedOutput, WorkspaceFile
from agentsvc_nb.wire.limits import FILE_VERSIONS_MAX
from agentsvc_nb.wire.routes import ROUTES

_sql = load("files/files")

WITH_CONTENTS: Final = ("file", "file_version", "media", "upload")
"""The tables that refer to blobs, in a column `sha256`. The service removes blobs to which no row refers."""


@dataclass(frozen=True, slots=True)
class Content:
    """A stored blob with its name, type and size."""

    file_name: str
    media_type: str
    size_bytes: int
    sha256: str
    reading: IndexedText | None = field(default_factory=IndexedText)
    """The text to index (at most 1 MB), or None if the service must still read the text from the blob."""


@dataclass(frozen=True, slots=True)
class FileOrigin:
    """The origin of a file."""

    kind: str
    """`upload`, or `output` for a file that a run or job wrote."""
    run_id: str | None = None
    output_id: str | None = None
    """The id of the typed output to which the file belongs (`wire.files.TypedOutput`), if any."""
    output_type: str | None = None


@dataclass(frozen=True, slots=True)
class FileRecord:
    """The row of a chat's file. Implements `tools.workspace_port.WorkspaceEntry`."""

    chat: str
    path: str
    file_name: str
    name: str | None
    kind: str
    media_type: str
    size_bytes: int
    sha256: str
    updated_at: int
    run_id: str | None
    output_id: str | None
    output_type: str | None
    unreadable: str
    """Why the service could not read all of the file's text, or ""."""
    version: int
    changed_by: str | None
    """The run that created this version. `run_id` may be a later run that wrote the same content."""

    @property
    def names(self) -> list[str]:
        """The names by which search finds the file: its own name, and the name that a user gave it, if any."""
        return [self.file_name, *([self.name] if self.name else [])]

    def facts(self) -> dict[str, Any]:
        """Return the fields of `wire.files.FileFacts`, except `object`."""
        return {
            "id": self.sha256,
            "path": self.path,
            "file_name": self.file_name,
            "name": self.name,
            "kind": self.kind,
            "media_type": self.media_type,
            "size_bytes": self.size_bytes,
            "updated_at": rfc3339(self.updated_at),
            "unreadable": self.unreadable or None,
        }

    @property
    def previous_version(self) -> int | None:
        """The number of the version before the run `run_id` wrote the file, or None if the run created the file.

        If the run did not change the content, this is the current version.
        """
        if self.changed_by != self.run_id:
            return self.version
        return self.version - 1 or None

    def public(self, *, earlier: bool = False, removed: bool = False) -> WorkspaceFile:
        """Return the file as clients receive it.

        Set `earlier` for a replaced or removed version, so that the URL names the version.
        """
        output = TypedOutput(id=self.output_id, type=self.output_type or "") if self.output_id else None
        query = urlencode({"chat_id": self.chat, "path": self.path} | ({"version": self.version} if earlier else {}))
        return WorkspaceFile(
            **self.facts(),
            run_id=self.run_id,
            output=output,
            version=self.version,
            removed=removed,
            download_url=f"{ROUTES['files.download'].path}?{query}",
        )


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file version that a run created."""

    path: str
    version: int


@dataclass(frozen=True, slots=True)
class UploadRecord:
    """A staged upload's row. `sha256` names its blob. Times are in ms."""

    id: str
    account: str
    file_name: str
    media_type: str
    size_bytes: int
    sha256: str
    created_at: int
    expires_at: int

    def public(self, chat: str | None = None) -> StagedFile:
        """Return the upload as clients receive it. `chat` is the chat into which the service also put it, if any."""
        return public(StagedFile, self, chat=chat)


def put(tx: Tx, chat: str, path: str, content: Content, author: FileOrigin, now: int) -> FileRecord:
    """Write a file's row. It replaces the row at that path, but keeps the name that a user gave the file.

    Different content creates a new version, and the old row remains as the earlier version. All writes of one run
    create one version, so an attempt that repeats a step adds no version.
    """
    there = get(tx, chat, path)
    version, name, kind, changed_by = 1, None, author.kind, author.run_id
    if there is None:
        if removed := versions(tx, chat, path):
            version, name = removed[0].version + 1, removed[0].name
    else:
        version = there.version
        if there.sha256 == content.sha256:
            kind, changed_by = "upload" if there.kind == "upload" else kind, there.changed_by
        elif author.run_id is None or not author.run_id == there.run_id == there.changed_by:
            tx.run(_sql["keep_version"], chat=chat, path=path, removed=0)
            # Keep a version that has the new content, because a client may retry a restore of the oldest version.
            oldest = version - FILE_VERSIONS_MAX
            tx.run(_sql["drop_versions"], chat=chat, path=path, up_to=oldest, sha256=content.sha256)
            version += 1
    row = fetch_one(
        tx,
        _sql["put"],
        chat=chat,
        path=path,
        file_name=path.rpartition("/")[2],
        name=name,
        kind=kind,
        media_type=content.media_type,
        size_bytes=content.size_bytes,
        sha256=content.sha256,
        now=now,
        run_id=author.run_id,
        output_id=author.output_id,
        output_type=author.output_type,
        unreadable=content.reading.unreadable if content.reading else "",
        version=version,
        changed_by=changed_by,
    )
    return record(FileRecord, row)


def remove(tx: Tx, chat: str, path: str) -> None:
    """Remove a file. Its content remains as the latest version."""
    tx.run(_sql["keep_version"], chat=chat, path=path, removed=1)
    tx.run(_sql["remove"], chat=chat, path=path)


def versions(tx: Tx, chat: str, path: str) -> list[FileRecord]:
    """Return the versions of a file, newest first. If the file was removed, return its earlier versions."""
    there = get(tx, chat, path)
    file_name, found = path.rpartition("/")[2], [] if there is None else [there]
    for row in tx.all(_sql["earlier_versions"], chat=chat, path=path):
        name = row["name"] if there is None else there.name
        found.append(record(FileRecord, row, file_name=file_name, name=name, unreadable=""))
    return found


def removed_versions(tx: Tx, chat: str, path: str) -> set[int]:
    """Return the numbers of the versions after which the file was removed."""
    return {row["version"] for row in tx.all(_sql["earlier_versions"], chat=chat, path=path) if row["removed"]}


def list_changes(tx: Tx, run_id: str) -> list[FileChange]:
    """Return the file versions that the run created and that still exist, ordered by path."""
    return sorted(
        (record(FileChange, row) for row in tx.all(_sql["changed_by"], run_id=run_id)),
        key=lambda change: (change.path, change.version),
    )


def get(tx: Tx, chat: str, path: str) -> FileRecord | None:
    return record(FileRecord, tx.one(_sql["get"], chat=chat, path=path))


def get_many(tx: Tx, chat: str, paths: Sequence[str]) -> dict[str, FileRecord]:
    """Return the chat's files at these paths, by path. Use this for a few paths only."""
    these, params = sql_list(paths)
    rows = tx.all(f"{_sql['among']} {these}", chat=chat, **params)
    return {row["path"]: record(FileRecord, row) for row in rows}


def page(tx: Tx, chat: str, after: str, limit: int) -> list[FileRecord]:
    """Return the chat's files after the path `after`, in the order of their paths."""
    return [record(FileRecord, row) for row in tx.all(_sql["page"], chat=chat, after=after, limit=limit)]


def all(tx: Tx, chat: str) -> list[FileRecord]:
    return [record(FileRecord, row) for row in tx.all(_sql["all"], chat=chat)]


def list_by_run(tx: Tx, chat: str, run_id: str, limit: int) -> list[FileRecord]:
    """Return at most `limit` files of the chat that the run wrote, ordered by path."""
    return [record(FileRecord, row) for row in tx.all(_sql["of_run"], chat=chat, run_id=run_id, limit=limit)]


def list_across_chats(tx: Tx, after: tuple[str, str], limit: int) -> list[FileRecord]:
    """Return `limit` files of all chats after the position `after`, ordered by chat and path."""
    chat, path = after
    return [record(FileRecord, row) for row in tx.all(_sql["every"], chat=chat, path=path, limit=limit)]


def rename(tx: Tx, chat: str, path: str, name: str | None) -> FileRecord | None:
    return record(FileRecord, tx.one(_sql["rename"], chat=chat, path=path, name=name))


def stage(tx: Tx, upload_id: str, account: str, content: Content, now: int, expires_at: int) -> UploadRecord:
    record = UploadRecord(
        upload_id,
        account,
        content.file_name,
        content.media_type,
        content.size_bytes,
        content.sha256,
        now,
        expires_at,
    )
    tx.run(_sql["stage"], **asdict(record))
    return record


def get_staged(tx: Tx, upload_id: str, account: str, now: int) -> UploadRecord | None:
    """Return the staged upload, or None if it is unknown or has expired."""
    return record(UploadRecord, tx.one(_sql["staged"], id=upload_id, account=account, now=now))


def expire_uploads(tx: Tx, before: int, limit: int) -> int:
    """Delete up to `limit` uploads that expired before `before` (ms). Return the number deleted."""
    return tx.run(_sql["expire_uploads"], before=before, limit=limit)


def start_waiting(tx: Tx, chat: str, path: str) -> None:
    """Record that the file's text must still be read."""
    tx.run(_sql["wait"], chat=chat, path=path)


def stop_waiting(tx: Tx, chat: str, path: str) -> None:
    tx.run(_sql["stop_waiting"], chat=chat, path=path)


def list_waiting_accounts(tx: Tx) -> list[str]:
    """Return the accounts with files whose text must still be read."""
    return [row["account"] for row in tx.all(_sql["accounts_waiting"])]


def get_next_waiting(tx: Tx, account: str) -> tuple[FileRecord, int] | None:
    """Return the account's next file to read, with the number of attempts so far, or None if no file waits.

    The files with the fewest attempts come first.
    """
    row = tx.one(_sql["longest_waiting"], account=account)
    return None if row is None else (record(FileRecord, row), row["tries"])


def count_try(tx: Tx, chat: str, path: str) -> int:
    """Count an attempt to read a waiting file. Return the number of attempts so far."""
    row = tx.one(_sql["count_try"], chat=chat, path=path)
    return 0 if row is None else row["tries"]


def set_unreadable(tx: Tx, chat: str, path: str, reason: str) -> None:
    """Store why the file's text could not be read, or "" if it could."""
    tx.run(_sql["set_unreadable"], chat=chat, path=path, reason=reason)


def list_waiting(tx: Tx, chat: str, run_id: str | None) -> list[FileRecord]:
    """Return the chat's files that wait for the first attempt to read their text.

    With `run_id`, return only files that the run wrote.
    """
    return [record(FileRecord, row) for row in tx.all(_sql["waiting_in"], chat=chat, run_id=run_id)]


def referenced_contents(tx: Tx) -> set[str]:
    """Return the hashes of all blobs to which rows refer."""
    named = " UNION ".join(f"SELECT sha256 FROM {table} WHERE sha256 IS NOT NULL" for table in WITH_CONTENTS)
    return {row["sha256"] for row in tx.all(named)}
