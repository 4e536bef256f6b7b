"""Ad media and their transcripts (contract §6)."""

from __future__ import annotations

from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.ports.storage import Tx
from agentsvc_nb.service.records import media
from agentsvc_nb.service.records.files import Content
from agentsvc_nb.service.records.media import Facts, MediaRecord
from agentsvc_nb.service.rules.addresses import is_web_address


def add(tx: Tx, account: str, content: Content, facts: Facts, now: int) -> MediaRecord:
    """Store what a blob is and says. Raises `invalid_query` for a `url` that is none."""
    if facts.url is not None and not is_web_address(facts.url):
        raise Fail("invalid_query", f"{facts.url[:80]!r} is no address: give http://... or https://...")
    return media.insert(tx, account, content, facts, now)


def keep(tx: Tx, account: str, content: Content, facts: Facts, now: int) -> MediaRecord:
    """Store it once: the same content from the same place is the same media. Raises as `add`."""
    return media.same(tx, account, content, facts) or add(tx, account, content, facts, now)


def get(tx: Tx, account: str, media_id: str) -> MediaRecord:
    record = media.get(tx, media_id, account)
    if record is None:
        raise Fail("media_not_found", f"There is no media {media_id[:80]!r}.")
    return record
