"""The operations of `client.files`: upload, download, search and restore the files of a chat (docs/api/files.md)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Unpack, overload

from agentsvc_nb.client import downloads
from agentsvc_nb.client.core import ApiRequest
from agentsvc_nb.client.faces import AsyncPages, BlockingResource, Resource, blocking, paginate, paging
from agentsvc_nb.client.models import FileSearch, Listing, to_listing
from agentsvc_nb.client.options import Options, check_hook, check_integer
from agentsvc_nb.client.references import ChatRef, IdRef, identifier, optional
from agentsvc_nb.client.transport.io import OnBytes
from agentsvc_nb.client.uploads import FileInput, to_parts
from agentsvc_nb.wire.files import FileFacts, FilePage, FileVersions, StagedFile, StagedFiles, WorkspaceFile


class DownloadArguments(Options, total=False):
    """The arguments of `download` except `path` and `to`, for the overloads of this method."""

    chat: ChatRef | None
    on_progress: OnBytes | None


class AsyncFiles(Resource):
    """Upload files, and read, search and restore the files of a chat."""

    async def upload(
        self,
        *files: FileInput,
        chat: ChatRef | None = None,
        session: str | None = None,
        project: IdRef | None = None,
        on_progress: OnBytes | None = None,
        **options: Unpack[Options],
    ) -> Listing[StagedFile]:
        """Upload up to 10 files, and return a staged file for each. With `chat` or `session`, add the files to a chat.

        A staged file is an attachment for a later start: pass its `id` in `file_ids` within 24 hours.

        Args:
            files: the files. Each is a path, a file opened with `"rb"` (sent from its current position), bytes, a
                pandas DataFrame (sent as CSV), a matplotlib figure or a PIL picture (sent as PNG). To name content that
                has no path, pass `(name, content)`.
            chat: the chat that receives the files: a `chat_...` id, a UUID or a record such as a run.
            session: a label that selects the chat, in place of `chat`. The service creates the chat if needed. The
                staged files have the id of the chat in `chat`.
            project: the project of `session`.
            on_progress: the client calls this function with the number of bytes sent so far and the number of bytes of
                the request.

        Raises:
            StefanBrainError: `too_many_files` (the client sends nothing), `file_too_large` or `unsupported_attachment`.
            OSError: the client cannot read a file.
            TypeError: an argument is not a file.

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> [staged] = client.files.upload("prices.csv")  # doctest: +SKIP
        >>> client.runs.start("What changed?", file_ids=[staged.id])  # doctest: +SKIP
        """
        if not files:
            return Listing([], StagedFile)
        core = self._core.scoped(options)  # here, so that the deadline includes the conversion of large content
        query = {"chat_id": chat, "session": session, "project": optional("project", project)}
        on_sent = check_hook("on_progress", on_progress)
        request = ApiRequest("files.upload", query=query, files=to_parts(files, "too_many_files"), on_sent=on_sent)
        return to_listing(await core.ask(StagedFiles, request), "files", StagedFile)

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
        """Return the content of a file as bytes. With `to`, write it to disk, and return the local path.

        With `to`, the client never has the whole content in memory. It writes to a file that ends with `.part`, next to
        the target. If the download is complete and the SHA-256 matches, this file replaces the target. If the target
        already has this content, the client does not touch it. After a lost connection, the download continues where it
        stopped, within this call or in a later call.

        Args:
            path: the path of the file in the chat, or an entry of `files.list`. The content must match the SHA-256 in
                the entry's `id`.
            chat: the chat of the file. It is not needed for an entry of a list.
            to: a local file or folder. If `to` ends with `/`, it is a folder, which the client creates if needed.
            on_progress: the client calls this function with the number of bytes so far and the number of bytes of the
                file (None if unknown).

        Raises:
            StefanBrainError: the file does not exist (`file_not_found`), or its content does not match the entry.
            OSError: the client cannot write the file.

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.files.download("reports/plan.md", chat="chat_1", to="downloads/")  # doctest: +SKIP
        PosixPath('downloads/plan.md')
        """
        return await downloads.download(self._core.scoped(options), path, chat=chat, to=to, on_progress=on_progress)

    async def head(
        self, path: str | FileFacts, size: int, *, chat: ChatRef | None = None, **options: Unpack[Options]
    ) -> bytes:
        """Return the first `size` bytes of a file, without downloading the rest. A shorter file is returned whole.

        Args:
            path: the path of the file in the chat, or an entry of `files.list`.
            size: the number of bytes, at least 1.
            chat: the chat of the file. It is not needed for an entry of a list.

        Raises `StefanBrainError` (`file_not_found`).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.files.head("reports/prices.csv", 1000, chat="chat_1")  # doctest: +SKIP
        b'product,price\\nlamp,12\\n'
        """
        return await downloads.head(self._core.scoped(options), path, size, chat=chat)

    async def search(self, q: str, *, chat: ChatRef, **options: Unpack[Options]) -> FileSearch:
        """Search the files of a chat by name and content, and return the best results first.

        Args:
            q: the words to find. The last word also matches longer words that begin with it. Write a phrase in double
                quotes, `or` between alternatives, and `-` before a word that must not occur.
            chat: the chat whose files to search: a `chat_...` id, a UUID or a record such as a run.

        Raises `StefanBrainError` (`chat_not_found`, `invalid_query`).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.files.search('"autumn sale" -draft', chat="chat_1").results[0].path  # doctest: +SKIP
        'reports/plan.md'
        """
        request = ApiRequest("files.search", query={"chat_id": identifier("chat", chat), "q": q})
        return await self._core.scoped(options).ask(FileSearch, request)

    async def rename(
        self, path: str | FileFacts, name: str, *, chat: ChatRef, **options: Unpack[Options]
    ) -> WorkspaceFile:
        """Give a file a display name, and return its entry. The path of the file does not change.

        Args:
            path: the path of the file in the chat, or an entry of `files.list`.
            name: the display name, one line of text, which `search` also finds. "" removes the display name.
            chat: the chat of the file.

        Raises `StefanBrainError` (`file_not_found`, `invalid_json` for a name of two lines).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.files.rename("reports/plan.md", "The plan", chat="chat_1").name  # doctest: +SKIP
        'The plan'
        """
        query = {"chat_id": chat, "path": identifier("path", path)}
        request = ApiRequest("files.rename", query=query, body={"name": name})
        return await self._core.scoped(options).ask(WorkspaceFile, request)

    async def versions(
        self, path: str | FileFacts, *, chat: ChatRef, **options: Unpack[Options]
    ) -> Listing[WorkspaceFile]:
        """List the versions of a file, the current version first. You can pass a version to `files.download`.

        Args:
            path: the path of the file in the chat, or an entry of `files.list`.
            chat: the chat of the file.

        Raises `StefanBrainError` (`file_not_found`).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> [each.version for each in client.files.versions("uploads/prices.csv", chat="chat_1")]  # doctest: +SKIP
        [2, 1]
        """
        request = ApiRequest("files.versions", query={"chat_id": chat, "path": identifier("path", path)})
        return to_listing(await self._core.scoped(options).ask(FileVersions, request), "data", WorkspaceFile)

    async def restore(
        self, path: str | FileFacts, version: int, *, chat: ChatRef, **options: Unpack[Options]
    ) -> WorkspaceFile:
        """Restore an earlier version of a file, and return its entry. You can safely repeat this call.

        The service adds the restored content as a new version, so the current version is not lost.

        Args:
            path: the path of the file in the chat, or an entry of `files.list`.
            version: the number of the version to restore, at least 1.
            chat: the chat of the file.

        Raises `StefanBrainError` (`file_not_found`, also if the service no longer stores the version).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.files.restore("uploads/prices.csv", 1, chat="chat_1").version  # doctest: +SKIP
        3
        """
        query = {"chat_id": chat, "path": identifier("path", path)}
        request = ApiRequest("files.restore", query=query, body={"version": check_integer("version", version, least=1)})
        return await self._core.scoped(options).ask(WorkspaceFile, request)

    def list(self, chat: ChatRef, **options: Unpack[Options]) -> AsyncPages[WorkspaceFile]:
        """List the files of a chat, sorted by path. The iteration fetches page after page.

        `chat` is a `chat_...` id, a UUID or a record such as a run. Raises `StefanBrainError` (`chat_not_found`) during
        the iteration, not during this call.

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> [file.path for file in client.files.list("chat_1")]  # doctest: +SKIP
        ['reports/plan.md', 'uploads/prices.csv']
        """
        core, query = self._core.scoped(options), {"chat_id": identifier("chat", chat)}
        return paginate(core, "files.list", query, FilePage, WorkspaceFile, field="files")


class Files(BlockingResource):
    """Upload files, and read, search and restore the files of a chat."""

    upload = blocking(AsyncFiles.upload)
    download = blocking(AsyncFiles.download)
    head = blocking(AsyncFiles.head)
    search = blocking(AsyncFiles.search)
    rename = blocking(AsyncFiles.rename)
    versions = blocking(AsyncFiles.versions)
    restore = blocking(AsyncFiles.restore)
    list = paging(AsyncFiles.list)
