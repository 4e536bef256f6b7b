"""Feedback to the team that runs the service (contract.md §6)."""

from __future__ import annotations

from typing import Unpack

from agentsvc_nb.client.call import Call
from agentsvc_nb.client.core import Core
from agentsvc_nb.client.options import Options
from agentsvc_nb.client.results import Listing
from agentsvc_nb.wire.feedback import Category, FeedbackList, FeedbackReceipt, FeedbackReport, Impact, Status


async def send(
    core: Core,
    summary: str,
    *,
    category: Category | None = None,
    impact: Impact | None = None,
    endpoint: str | None = None,
    error_code: str | None = None,
    request_id: str | None = None,
    **options: Unpack[Options],
) -> FeedbackReceipt:
    """Send a report; never sent twice.

    Args:
        summary: what happened, or what is wished for: 1 to 2,000 characters.
        category: what kind of report it is.
        impact: how much it stands in the way.
        endpoint, error_code, request_id: what it is about, as an error of this client has them.

    Raises:
        StefanBrainError: `invalid_feedback`.
        RateLimitError: `feedback_rate_limited`, after 60 reports in an hour.
    """
    body = {
        "summary": summary,
        "category": category,
        "impact": impact,
        "endpoint": endpoint,
        "error_code": error_code,
        "request_id": request_id,
    }
    return await core.scoped(options).ask(FeedbackReceipt, Call("feedback.send", body=body))


async def list_(
    core: Core, *, status: Status | None = None, limit: int | None = None, **options: Unpack[Options]
) -> Listing[FeedbackReport]:
    """The reports of the account, newest first: of one `status`, and at most `limit` (1 to 100, default 20)."""
    call = Call("feedback.list", query={"status": status, "limit": limit})
    return Listing((await core.scoped(options).ask(FeedbackList, call)).data, FeedbackReport)


async def get(core: Core, id: str, **options: Unpack[Options]) -> FeedbackReport:
    """A report, with the team's `reply` once there is one. Raises `StefanBrainError` (`feedback_not_found`)."""
    return await core.scoped(options).ask(FeedbackReport, Call("feedback.get", {"id": id}))
