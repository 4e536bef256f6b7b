"""Landing pages as rows."""

from __future__ import annotations

import json
from dataclasses import dataclass

from agentsvc_nb.service.ports.storage import Row, Tx
from agentsvc_nb.service.records.queries import load
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.landing_pages import LandingPage

_sql = load("landing_pages")


@dataclass(frozen=True, slots=True)
class PageRecord:
    """A landing page; `version` counts the writes of its labels, from 1."""

    id: str
    account: str
    url: str
    labels: dict[str, str]
    version: int
    created_at: int

    def public(self) -> LandingPage:
        return LandingPage(id=self.id, url=self.url, labels=self.labels, version=self.version)


def add(tx: Tx, account: str, url: str, now: int) -> PageRecord:
    """The account's page at `url`, made when it is new."""
    row = tx.one(_sql["add"], id=ids.new("page"), account=account, url=url, now=now)
    assert row is not None
    return _read(row)


def get(tx: Tx, page: str, account: str) -> PageRecord | None:
    return _record(tx.one(_sql["get"], id=page, account=account))


def write(tx: Tx, page: str, account: str, labels: dict[str, str], expected: int) -> PageRecord | None:
    """Replace the labels of version `expected`; None when the page has another version."""
    text = json.dumps(labels, ensure_ascii=False)
    return _record(tx.one(_sql["write"], id=page, account=account, labels=text, expected=expected))


def _record(row: Row | None) -> PageRecord | None:
    return None if row is None else _read(row)


def _read(row: Row) -> PageRecord:
    return PageRecord(**{**row, "labels": json.loads(row["labels"])})
