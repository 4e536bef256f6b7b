"""Uploads and the files of a chat (docs/api/files.md)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Unpack, overload

from agentsvc_nb.client import downloads
from agentsvc_nb.client.core import ApiRequest
from agentsvc_nb.client.faces import AsyncPages, BlockingResource, Resource, blocking, paged, paging
from agentsvc_nb.client.models import FileSearch, Listing, listing
from agentsvc_nb.client.options import Options, hook, whole
from agentsvc_nb.client.references import ChatRef, IdRef, identifier, optional
from agentsvc_nb.client.transport.io import OnBytes
from agentsvc_nb.client.uploads import FileInput, parts
from agentsvc_nb.wire.files import FileFacts, FilePage, FileVersions, StagedFile, StagedFiles, WorkspaceFile


class DownloadArguments(Options, total=False):
    """The arguments of `download` except `path` and `to`, for its overloads."""

    chat: ChatRef | None
    on_progress: OnBytes | None


class AsyncFiles(Resource):
    """Uploads and the files of a chat."""

    async def upload(
        self,
        *files: FileInput,
        chat: ChatRef | None = None,
        session: str | None = None,
        project: IdRef | None = None,
        on_progress: OnBytes | None = None,
        **options: Unpack[Options],
    ) -> Listing[StagedFile]:
        """Stage up to 10 files as attachments for the next 24 hours (`file_ids`). With `chat`, add them to its files.

        Args:
            files: each a path, a file opened with `"rb"` (sent from its current position), bytes, a pandas DataFrame
                (as CSV), a matplotlib figure or a PIL picture (as PNG). Pass `(name, content)` to name content without
                a path.
            chat: a `chat_...` id or UUID: add the files to this chat.
            session, project: add the files to the chat of this label, which is created if needed. The returned files
                have its id in `chat`.
            on_progress: called with the number of bytes sent, and the number of bytes of the whole request.

        Raises `StefanBrainError` (`too_many_files` before anything is sent, `file_too_large`,
        `unsupported_attachment`), `OSError` for a path, `TypeError` for anything that is not a file.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> [staged] = client.files.upload("prices.csv")  # doctest: +SKIP
        >>> client.runs.start("What changed?", file_ids=[staged.id])  # doctest: +SKIP
        """
        if not files:
            return Listing([], StagedFile)
        core = self._core.scoped(options)  # the deadline includes the time to convert large content
        query = {"chat_id": chat, "session": session, "project": optional("project", project)}
        on_sent = hook("on_progress", on_progress)
        request = ApiRequest("files.upload", query=query, files=parts(files, "too_many_files"), on_sent=on_sent)
        return listing(await core.ask(StagedFiles, request), "files", StagedFile)

    @overload
    async def download(
        self, path: str | FileFacts, *, to: None = None, **arguments: Unpack[DownloadArguments]
    ) -> bytes: ...
    @overload
    async def download(
        self, path: str | FileFacts, *, to: str | os.PathLike[str], **arguments: Unpack[DownloadArguments]
    ) -> Path: ...
    async def download(
        self,
        path: str | FileFacts,
        *,
        chat: ChatRef | None = None,
        to: str | os.PathLike[str] | None = None,
        on_progress: OnBytes | None = None,
        **options: Unpack[Options],
    ) -> bytes | Path:
        """Return a file's bytes, or with `to` write them to disk and return the path.

        With `to`, the content is never completely in memory. The client writes to a `.part` file next to the target.
        The part file replaces the target when the download is complete and its SHA-256 matches. A target with the same
        content stays untouched. A broken download continues, within this call and in the next one.

        Args:
            path: a path of the chat, or an entry of `files.list`, whose `id` the content must match.
            chat: the chat of the file; not needed for an entry of a list.
            to: a file, or a folder; one that ends with `/` is created.
            on_progress: called with the bytes so far and the bytes in all (None if unknown).

        Raises:
            StefanBrainError: `file_not_found`, or the content differs from the listed entry.
            OSError: the file cannot be written.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.files.download("reports/plan.md", chat="chat_1", to="downloads/")  # doctest: +SKIP
        PosixPath('downloads/plan.md')
        """
        return await downloads.download(self._core.scoped(options), path, chat=chat, to=to, on_progress=on_progress)

    async def head(
        self, path: str | FileFacts, size: int, *, chat: ChatRef | None = None, **options: Unpack[Options]
    ) -> bytes:
        """Return the first `size` bytes of a file, or all of a shorter one, without downloading the rest.

        Args:
            path: a path of the chat, or an entry of `files.list`.
            size: how many bytes, at least 1.
            chat: the chat of the file; not needed for an entry of a list.

        Raises `StefanBrainError` (`file_not_found`).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.files.head("reports/prices.csv", 1000, chat="chat_1")  # doctest: +SKIP
        b'product,price\\nlamp,12\\n'
        """
        return await downloads.head(self._core.scoped(options), path, size, chat=chat)

    async def search(self, q: str, *, chat: ChatRef, **options: Unpack[Options]) -> FileSearch:
        """Search the chat's files by name and content: words, "phrases", `or`, `-without`; the last word as a prefix.

        Raises `StefanBrainError` (`chat_not_found`, `invalid_query`).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.files.search('"autumn sale" -draft', chat="chat_1").results[0].path  # doctest: +SKIP
        'reports/plan.md'
        """
        request = ApiRequest("files.search", query={"chat_id": identifier("chat", chat), "q": q})
        return await self._core.scoped(options).ask(FileSearch, request)

    async def rename(
        self, path: str | FileFacts, name: str, *, chat: ChatRef, **options: Unpack[Options]
    ) -> WorkspaceFile:
        """Give a file a display name, which `search` also finds. An empty name removes it. The path does not change.

        Raises `StefanBrainError` (`file_not_found`, `invalid_json` for a name of two lines).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.files.rename("reports/plan.md", "The plan", chat="chat_1").name  # doctest: +SKIP
        'The plan'
        """
        query = {"chat_id": chat, "path": identifier("path", path)}
        request = ApiRequest("files.rename", query=query, body={"name": name})
        return await self._core.scoped(options).ask(WorkspaceFile, request)

    async def versions(
        self, path: str | FileFacts, *, chat: ChatRef, **options: Unpack[Options]
    ) -> Listing[WorkspaceFile]:
        """List the versions of a file, the current one first. `files.download` accepts each version.

        Raises `StefanBrainError` (`file_not_found`).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> [each.version for each in client.files.versions("uploads/prices.csv", chat="chat_1")]  # doctest: +SKIP
        [2, 1]
        """
        request = ApiRequest("files.versions", query={"chat_id": chat, "path": identifier("path", path)})
        return listing(await self._core.scoped(options).ask(FileVersions, request), "data", WorkspaceFile)

    async def restore(
        self, path: str | FileFacts, version: int, *, chat: ChatRef, **options: Unpack[Options]
    ) -> WorkspaceFile:
        """Restore an earlier version of a file as a new version, so that the current version is kept. Safe to repeat.

        Raises `StefanBrainError` (`file_not_found`, also for a version that is not kept).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.files.restore("uploads/prices.csv", 1, chat="chat_1").version  # doctest: +SKIP
        3
        """
        query = {"chat_id": chat, "path": identifier("path", path)}
        request = ApiRequest("files.restore", query=query, body={"version": whole("version", version, least=1)})
        return await self._core.scoped(options).ask(WorkspaceFile, request)

    def list(self, chat: ChatRef, **options: Unpack[Options]) -> AsyncPages[WorkspaceFile]:
        """List the chat's files by path, over all pages. Raises `StefanBrainError` (`chat_not_found`) as you iterate.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> [file.path for file in client.files.list("chat_1")]  # doctest: +SKIP
        ['reports/plan.md', 'uploads/prices.csv']
        """
        core, query = self._core.scoped(options), {"chat_id": identifier("chat", chat)}
        return paged(core, "files.list", query, FilePage, WorkspaceFile, field="files")


class Files(BlockingResource):
    """Uploads and the files of a chat."""

    upload = blocking(AsyncFiles.upload)
    download = blocking(AsyncFiles.download)
    head = blocking(AsyncFiles.head)
    search = blocking(AsyncFiles.search)
    rename = blocking(AsyncFiles.rename)
    versions = blocking(AsyncFiles.versions)
    restore = blocking(AsyncFiles.restore)
    list = paging(AsyncFiles.list)
