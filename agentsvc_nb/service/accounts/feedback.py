"""Use cases of feedback: an account sends and reads reports, and the team replies to them (docs/api/feedback.md)."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.service.accounts import feedback_records, money
from agentsvc_nb.service.accounts.feedback_records import FeedbackRecord
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.times import rfc3339
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.limits import FEEDBACK_PER_HOUR
from agentsvc_nb.wire.resources import NewFeedback

HOUR_MS: Final = 3_600_000


async def send(context: UseCaseContext, account: str, given: NewFeedback) -> FeedbackRecord:
    """Store a report. Raises `feedback_rate_limited`, with the time to retry, after 60 reports in an hour."""
    now = context.now

    def use(tx: Tx) -> FeedbackRecord:
        sent = feedback_records.list_times(tx, account, now - HOUR_MS)
        if len(sent) >= FEEDBACK_PER_HOUR:
            reset = sent[FEEDBACK_PER_HOUR - 1] + HOUR_MS
            raise ApiError(
                "feedback_rate_limited",
                headers=money.retry_after(reset, now),
                limit=FEEDBACK_PER_HOUR,
                observed=len(sent),
                reset_at=rfc3339(reset),
            )
        return feedback_records.insert(tx, account, given, now)

    return await context.write(use)


async def page(context: UseCaseContext, account: str, status: str | None, limit: int) -> list[FeedbackRecord]:
    """Return at most `limit` reports of the account, newest first. With `status`, return only those of this status."""
    return await context.read(lambda tx: feedback_records.page(tx, account, status, limit))


async def get(context: UseCaseContext, account: str, report: str) -> FeedbackRecord:
    """Return the account's report. Raises `invalid_feedback` for a malformed id, and `feedback_not_found`."""
    record = await context.read(lambda tx: _known(tx, report))
    if record.account != account:
        raise ApiError("feedback_not_found")
    return record


def reply(tx: Tx, report: str, text: str, now: int) -> FeedbackRecord:
    """Store the team's reply, replacing any earlier reply. Raises `invalid_feedback` and `feedback_not_found`."""
    if not text.strip():
        raise ApiError("invalid_feedback", "The reply is empty. Add a text.")
    return feedback_records.reply(tx, _known(tx, report).id, text.strip(), now) or _known(tx, report)


def close(tx: Tx, report: str) -> FeedbackRecord:
    """Close the report. Raises `invalid_feedback` for a malformed id, and `feedback_not_found`."""
    return feedback_records.close(tx, _known(tx, report).id) or _known(tx, report)


def _known(tx: Tx, report: str) -> FeedbackRecord:
    if not ids.is_feedback(report):
        raise ApiError("invalid_feedback", f"{report[:80]!r} is not a valid report id (`fb_...`).")
    record = feedback_records.get(tx, report)
    if record is None:
        raise ApiError("feedback_not_found", f"There is no report {report}.")
    return record
