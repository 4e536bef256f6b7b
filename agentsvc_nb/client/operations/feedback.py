"""Feedback to the team that runs the service (docs/api/feedback.md)."""

from __future__ import annotations

from typing import Unpack

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.models import Listing
from agentsvc_nb.client.request.options import Options
from agentsvc_nb.client.request.request import ApiRequest, Core
from agentsvc_nb.wire.feedback import Category, FeedbackList, FeedbackReceipt, FeedbackReport, Impact, Status
from agentsvc_nb.wire.limits import FEEDBACK_FIELD_CHARS


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

    >>> client.feedback.send("More fonts, please", category="idea").id  # doctest: +SKIP
    """
    body = {
        "summary": summary,
        "category": category,
        "impact": impact,
        "endpoint": endpoint,
        "error_code": error_code,
        "request_id": request_id,
    }
    return await core.scoped(options).ask(FeedbackReceipt, ApiRequest("feedback.send", body=body))


async def from_last_error(
    core: Core,
    summary: str,
    *,
    category: Category | None = "bug",
    impact: Impact | None = None,
    **options: Unpack[Options],
) -> FeedbackReceipt:
    """Send a report about the last call of this client that failed: its endpoint, error code and request id go along.

    Raises as `send`; `StefanBrainError` when no call in `client.history` failed.

    >>> client.feedback.from_last_error("A start with a CSV fails", impact="blocking").id  # doctest: +SKIP
    """
    failed = core.history.last_error
    if failed is None:
        raise StefanBrainError("No call of this client has failed; send a report of your own with feedback.send.")
    return await send(
        core,
        summary,
        category=category,
        impact=impact,
        endpoint=f"{failed.method} {failed.path}"[:FEEDBACK_FIELD_CHARS],
        error_code=failed.code,
        request_id=failed.request_id,
        **options,
    )


async def list_(
    core: Core, *, status: Status | None = None, limit: int | None = None, **options: Unpack[Options]
) -> Listing[FeedbackReport]:
    """The reports of the account, newest first: of one `status`, and at most `limit` (1 to 100, default 20).

    Raises `StefanBrainError` (`invalid_query`).

    >>> client.feedback.list(status="open").to_frame()  # doctest: +SKIP
    """
    request = ApiRequest("feedback.list", query={"status": status, "limit": limit})
    return Listing((await core.scoped(options).ask(FeedbackList, request)).data, FeedbackReport)


async def get(core: Core, id: str, **options: Unpack[Options]) -> FeedbackReport:
    """A report, with the team's `reply` once there is one. Raises `StefanBrainError` (`feedback_not_found`).

    >>> client.feedback.get("fb_1").reply  # doctest: +SKIP
    """
    return await core.scoped(options).ask(FeedbackReport, ApiRequest("feedback.get", {"id": id}))
