"""Feedback reports as rows."""

from __future__ import annotations

from dataclasses import dataclass

from agentsvc_nb.service.new_ids import new_id
from agentsvc_nb.service.ports import Row, Tx
from agentsvc_nb.service.sql import load, record
from agentsvc_nb.service.times import rfc3339, rfc3339_or_none
from agentsvc_nb.wire.resources import FeedbackReport, NewFeedback

_sql = load("accounts/feedback")


@dataclass(frozen=True, slots=True)
class FeedbackRecord:
    """A feedback report's row; `public` is its wire model. Times are in ms."""

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
        return FeedbackReport(
            id=self.id,
            status=self.status,
            reply=self.reply,
            summary=self.summary,
            category=self.category,
            impact=self.impact,
            endpoint=self.endpoint,
            error_code=self.error_code,
            request_id=self.request_id,
            created_at=rfc3339(self.created_at),
            replied_at=rfc3339_or_none(self.replied_at),
        )


def insert(tx: Tx, account: str, given: NewFeedback, now: int) -> FeedbackRecord:
    row = tx.one(
        _sql["insert"],
        id=new_id("fb"),
        account=account,
        summary=given.summary,
        category=given.category,
        impact=given.impact,
        endpoint=given.endpoint,
        error_code=given.error_code,
        request_id=given.request_id,
        now=now,
    )
    assert row is not None
    return record(FeedbackRecord, row)


def get(tx: Tx, report: str) -> FeedbackRecord | None:
    return _record(tx.one(_sql["get"], id=report))


def page(tx: Tx, account: str, status: str | None, limit: int) -> list[FeedbackRecord]:
    """The account's reports, newest first; with `status`, only those that have it."""
    rows = tx.all(_sql["page"], account=account, status=status, limit=limit)
    return [record(FeedbackRecord, row) for row in rows]


def times_since(tx: Tx, account: str, since: int) -> list[int]:
    """The times (ms) of the account's reports after `since`, newest first."""
    return [row["created_at"] for row in tx.all(_sql["since"], account=account, since=since)]


def reply(tx: Tx, report: str, text: str, now: int) -> FeedbackRecord | None:
    return _record(tx.one(_sql["reply"], id=report, reply=text, now=now))


def close(tx: Tx, report: str) -> FeedbackRecord | None:
    return _record(tx.one(_sql["close"], id=report))


def _record(row: Row | None) -> FeedbackRecord | None:
    return None if row is None else record(FeedbackRecord, row)
