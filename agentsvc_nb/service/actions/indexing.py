"""The files of older versions come into the index when the service starts."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.service.ports.storage import Index, Tx
from agentsvc_nb.service.records import files
from agentsvc_nb.service.rules.indexing import reading
from agentsvc_nb.service.rules.search import is_scratch

Place = tuple[str, str]
"""The chat and path of a file."""

FIRST: Final[Place] = ("", "")
BATCH: Final = 200


def index_again(tx: Tx, index: Index, after: Place) -> Place | None:
    """Index some files, those next after `after`; the last of them, or None when all are indexed."""
    found = files.every(tx, after, BATCH)
    for record in found:
        if not is_scratch(record.path):
            text = index.text(tx, record.chat, record.path)
            index.put(tx, record.chat, record.path, record.names, reading(text))
    if len(found) == BATCH:
        return found[-1].chat, found[-1].path
    index.set_current(tx)
    return None
