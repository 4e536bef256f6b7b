"""What tools keep for an account beside the files of its chats: landing pages and ad media."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from agentsvc_nb.service.actions import landing_pages
from agentsvc_nb.service.actions import media as actions
from agentsvc_nb.service.records import media as records
from agentsvc_nb.service.records.media import Facts
from agentsvc_nb.service.work import durations
from agentsvc_nb.service.work.storage import Storage
from agentsvc_nb.wire.media import MediaKind


@dataclass(frozen=True, slots=True)
class Kept:
    """`ports.tools.Media`."""

    id: str
    kind: str
    url: str | None
    duration_s: float | None
    transcript: dict[str, Any] | None
    file: Path


class Shelf:
    """Of one account."""

    def __init__(self, storage: Storage, account: str) -> None:
        self._storage, self._account = storage, account

    async def keep_page(self, url: str) -> str:
        now = self._storage.clock.now()
        record = await self._storage.db.write(lambda tx: landing_pages.add(tx, self._account, url, now))
        return record.id

    async def keep_media(self, name: str, data: bytes, source: str, url: str) -> str | None:
        content = await self._storage.store(name, data)
        kind = content.media_type.partition("/")[0]
        if kind not in get_args(MediaKind):
            return None  # its blob is removed with other leftovers
        file = self._storage.blobs.path(content.sha256)
        length = None if kind == "image" else await asyncio.to_thread(durations.seconds, file)
        facts, now = Facts(cast(MediaKind, kind), source, url, length), self._storage.clock.now()
        record = await self._storage.db.write(lambda tx: actions.keep(tx, self._account, content, facts, now))
        return record.id

    def media(self, media_id: str) -> Kept | None:
        found = self._storage.db.read(lambda tx: records.get(tx, media_id, self._account))
        if found is None:
            return None
        file = self._storage.blobs.path(found.sha256)
        return Kept(found.id, found.kind, found.url, found.duration_s, found.transcript, file)

    async def keep_transcript(self, media_id: str, transcript: Mapping[str, Any]) -> None:
        await self._storage.db.write(lambda tx: records.transcribe(tx, media_id, self._account, transcript))
