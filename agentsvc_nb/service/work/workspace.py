"""The files of one chat, as agents and tools see them (`ports.tools.Workspace`)."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.service.actions import files as actions
from agentsvc_nb.service.actions import searching
from agentsvc_nb.service.ports.agents import AgentFailure
from agentsvc_nb.service.ports.storage import ReadTooLong, Tx
from agentsvc_nb.service.ports.tools import WorkspaceEntry
from agentsvc_nb.service.records import files
from agentsvc_nb.service.records.files import Author, FileRecord
from agentsvc_nb.service.rules import media_types
from agentsvc_nb.service.rules import search as grammar
from agentsvc_nb.service.work.reading import read_text
from agentsvc_nb.service.work.storage import Storage
from agentsvc_nb.wire.limits import SEARCH_SECONDS

FOUND_MAX: Final = 100


class ChatWorkspace:
    """`ports.tools.Workspace` on the database and the blobs."""

    def __init__(self, storage: Storage, chat: str) -> None:
        self._storage = storage
        self._chat = chat

    async def list(self) -> Sequence[WorkspaceEntry]:
        return self._storage.db.read(lambda tx: files.all(tx, self._chat))

    async def open(self, path: str) -> Path:
        return self._storage.blobs.path(self._get(path).sha256)

    async def text(self, path: str) -> str:
        record = self._get(path)
        if grammar.is_scratch(path):  # not in the index
            return await asyncio.to_thread(read_text, self._storage.blobs.path(record.sha256), record.media_type)
        return self._storage.db.read(lambda tx: self._storage.index.text(tx, self._chat, path))

    async def search(self, query: str) -> Sequence[tuple[str, float]]:
        """Paths with their ranks, best first. Raises `AgentFailure("too_much_work")`."""
        parsed = grammar.parse(query)
        if parsed is None:
            return []
        index, chat = self._storage.index, self._chat

        def find(tx: Tx) -> list[searching.Hit]:
            return list(islice(searching.find(tx, index, chat, parsed), FOUND_MAX))

        try:
            hits = await asyncio.to_thread(self._storage.db.read, find, SEARCH_SECONDS)
        except ReadTooLong:
            raise AgentFailure("too_much_work", grammar.TOO_LONG) from None
        return [(hit.file.path, 1.0 / (place + 1)) for place, hit in enumerate(hits)]

    async def write(self, path: str, data: bytes, author: Author) -> FileRecord:
        """Write a file. Raises `AgentFailure("invalid_path")` for a path outside the workspace."""
        safe = media_types.safe_path(path)
        if safe is None:
            raise AgentFailure("invalid_path", f"{path!r} is not a path inside the workspace.")
        content = await self._storage.store(safe.rpartition("/")[2], data)
        now = self._storage.clock.now()
        return await self._storage.db.write(
            lambda tx: actions.write(tx, self._storage.index, self._chat, safe, content, author, now), long=True
        )

    async def keep_whole(self, what: str, document: Any, author: Author) -> str:
        """Write all of what is told in part only; its path, the same for the same. Scratch: listed, never found."""
        data = await asyncio.to_thread(_as_json, document)
        path = f"logs/{what}-{hashlib.sha256(data).hexdigest()[:16]}.json"
        await self.write(path, data, author)
        return path

    def _get(self, path: str) -> FileRecord:
        record = self._storage.db.read(lambda tx: files.get(tx, self._chat, path))
        if record is None:
            raise FileNotFoundError(path)
        return record


def _as_json(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False, indent=1).encode("utf-8", "replace")
