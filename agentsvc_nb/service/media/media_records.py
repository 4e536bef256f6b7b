"""Read and write rows of ad media with their transcripts, and of landing pages with their labels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentsvc_nb.service.files.file_records import Content
from agentsvc_nb.service.new_ids import new_id
from agentsvc_nb.service.ports import Row, Tx
from agentsvc_nb.service.sql import fetch_one, load, public, record
from agentsvc_nb.wire.resources import AdMedia, LandingPage, MediaKind, Transcript

_sql = load("media/media")


@dataclass(frozen=True, slots=True)
class MediaFacts:
    """Metadata of a media file. `transcript` has `language`, `text` and `segments`."""

    kind: MediaKind
    source: str
    url: str | None = None
    duration_s: float | None = None
    transcript: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class MediaRecord:
    """A media file's row. `sha256` names the blob. `created_at` is in ms."""

    id: str
    account: str
    kind: str
    source: str
    url: str | None
    file_name: str
    media_type: str
    size_bytes: int
    sha256: str
    duration_s: float | None
    transcript: dict[str, Any] | None
    created_at: int

    def public(self) -> AdMedia:
        return public(AdMedia, self, transcript=self.public_transcript())

    def public_transcript(self) -> Transcript | None:
        return None if self.transcript is None else Transcript(media_id=self.id, **self.transcript)


def insert(tx: Tx, account: str, content: Content, facts: MediaFacts, now: int) -> MediaRecord:
    row = fetch_one(
        tx,
        _sql["insert"],
        id=new_id("media"),
        account=account,
        kind=facts.kind,
        source=facts.source,
        url=facts.url,
        file_name=content.file_name,
        media_type=content.media_type,
        size_bytes=content.size_bytes,
        sha256=content.sha256,
        duration_s=facts.duration_s,
        transcript=None if facts.transcript is None else json.dumps(facts.transcript, ensure_ascii=False),
        now=now,
    )
    return _read(row)


def find_same(tx: Tx, account: str, content: Content, facts: MediaFacts) -> MediaRecord | None:
    """Return the account's media record with this content, source and address, or None."""
    row = tx.one(_sql["same"], account=account, sha256=content.sha256, source=facts.source, url=facts.url)
    return None if row is None else _read(row)


def set_transcript(tx: Tx, media: str, account: str, transcript: Mapping[str, Any]) -> None:
    """Store the transcript of a media record."""
    text = json.dumps(transcript, ensure_ascii=False)
    tx.run(_sql["transcribe"], id=media, account=account, transcript=text)


def get(tx: Tx, media: str, account: str) -> MediaRecord | None:
    row = tx.one(_sql["get"], id=media, account=account)
    return None if row is None else _read(row)


def _read(row: Row) -> MediaRecord:
    return record(MediaRecord, row, transcript=row["transcript"] and json.loads(row["transcript"]))


_pages = load("media/landing_pages")


@dataclass(frozen=True, slots=True)
class PageRecord:
    """A landing page's row. `version` starts at 1 and increases with each write of the labels."""

    id: str
    account: str
    url: str
    labels: dict[str, str]
    version: int
    created_at: int

    def public(self) -> LandingPage:
        return public(LandingPage, self)


def add(tx: Tx, account: str, url: str, now: int) -> PageRecord:
    """Return the account's page at `url`. Insert the page if it is new."""
    return _read_page(fetch_one(tx, _pages["add"], id=new_id("page"), account=account, url=url, now=now))


def get_page(tx: Tx, page: str, account: str) -> PageRecord | None:
    return _record(tx.one(_pages["get"], id=page, account=account))


def write(tx: Tx, page: str, account: str, labels: dict[str, str], expected: int) -> PageRecord | None:
    """Replace the page's labels if its version is `expected`, otherwise return None."""
    text = json.dumps(labels, ensure_ascii=False)
    return _record(tx.one(_pages["write"], id=page, account=account, labels=text, expected=expected))


def _record(row: Row | None) -> PageRecord | None:
    return None if row is None else _read_page(row)


def _read_page(row: Row) -> PageRecord:
    return record(PageRecord, row, labels=json.loads(row["labels"]))
