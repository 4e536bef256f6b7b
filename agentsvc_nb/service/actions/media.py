"""Ad media and their transcripts (contract §6)."""

from __future__ import annotations

from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.records import media
from agentsvc_nb.service.records.media import MediaRecord


def get(tx: Tx, account: str, media_id: str) -> MediaRecord:
    record = media.get(tx, media_id, account)
    if record is None:
        raise Fail("media_not_found", f"There is no media {media_id[:80]!r}.")
    return record
