"""`ports.Task` for real: what a tool writes becomes files of its chat."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from agentsvc_nb.service.records.files import Author, FileRecord
from agentsvc_nb.service.work.storage import Storage
from agentsvc_nb.service.work.workspace import ChatWorkspace

Report = Callable[[float, float | None, str], Awaitable[None]]


class WorkspaceTask:
    """What a tool gets in hand; progress goes to `report`, files to `on_write` when it is set."""

    def __init__(self, storage: Storage, chat: str, author: Author, report: Report) -> None:
        self.workspace = ChatWorkspace(storage, chat)
        self.on_write: Callable[[FileRecord], Awaitable[None]] | None = None
        self._author = author
        self._report = report

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        await self._report(done, total, message)

    async def write(self, path: str, data: bytes, *, output: tuple[str, str] | None = None) -> None:
        author = self._author
        if output is not None:
            author = replace(author, output_id=output[0], output_type=output[1])
        record = await self.workspace.write(path, data, author)
        if self.on_write is not None:
            await self.on_write(record)


def file_written(record: FileRecord) -> dict[str, Any]:
    """The payload of `file.written` (contract §3)."""
    return {
        "id": record.sha256,
        "path": record.path,
        "file_name": record.file_name,
        "media_type": record.media_type,
        "size_bytes": record.size_bytes,
    }
