"""Read and write rows of feedback reports."""

from __future__ import annotations

from dataclasses import dataclass

from agentsvc_nb.service.new_ids import new_id
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.sql import fetch_one, load, public, record
from agentsvc_nb.wire.resources import FeedbackReport, NewFeedback

_sql = load("accounts/feedback")


@dataclass(frozen=True, slots=True)
class FeedbackRecord:
    """A feedback report's row. `public` returns its wire model. Times are in ms."""

    id: str
    account: str
    summary: str
    category: str | None
    impact: str | None
    endpoint: str | None
    error_code: str | None
    request_id: str | None
    status: str
    reply: str | None
    created_at: int
    replied_at: int | None

    def public(self) -> FeedbackReport:
        return public(FeedbackReport, self)


def insert(tx: Tx, account: str, given: NewFeedback, now: int) -> FeedbackRecord:
    row = fetch_one(tx, _sql["insert"], id=new_id("fb"), account=account, now=now, **given.model_dump())
    return record(FeedbackRecord, row)


def get(tx: Tx, report: str) -> FeedbackRecord | None:
    return record(FeedbackRecord, tx.one(_sql["get"], id=report))


def page(tx: Tx, account: str, status: str | None, limit: int) -> list[FeedbackRecord]:
    """Return the account's reports, newest first. With `status`, leave out reports of another status."""
    rows = tx.all(_sql["page"], account=account, status=status, limit=limit)
    return [record(FeedbackRecord, row) for row in rows]


def list_times(tx: Tx, account: str, since: int) -> list[int]:
    """Return the times (ms) of the account's reports after `since`, newest first."""
    return [row["created_at"] for row in tx.all(_sql["since"], account=account, since=since)]


def reply(tx: Tx, report: str, text: str, now: int) -> FeedbackRecord | None:
    return record(FeedbackRecord, tx.one(_sql["reply"], id=report, reply=text, now=now))


def close(tx: Tx, report: str) -> FeedbackRecord | None:
    return record(FeedbackRecord, tx.one(_sql["close"], id=report))
