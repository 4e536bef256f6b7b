"""Feedback to the team that runs the service (docs/api/feedback.md)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from agentsvc_nb.wire.failures import Model, Request
from agentsvc_nb.wire.limits import FEEDBACK_FIELD_CHARS, FEEDBACK_SUMMARY_CHARS

Category = Literal["bug", "idea", "question", "praise", "other"]
Impact = Literal["blocking", "major", "minor"]
Status = Literal["open", "answered", "closed"]
Fact = Annotated[str, StringConstraints(max_length=FEEDBACK_FIELD_CHARS)]


class NewFeedback(Request):
    """The body of `POST /feedback`."""

    summary: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=FEEDBACK_SUMMARY_CHARS)
    ] = Field(description="What happened, or what is wished for.", examples=["The search finds what I look for."])
    category: Category | None = Field(default=None, description="What kind of report it is.")
    impact: Impact | None = Field(default=None, description="How much it stands in the way.")
    endpoint: Fact | None = Field(default=None, description="The endpoint that it is about.")
    error_code: Fact | None = Field(default=None, description="The `error.code` that came.")
    request_id: Fact | None = Field(default=None, description="The `X-Request-Id` of the answer.")


class FeedbackReceipt(Model):
    """What a report is answered with: its id, and where the team's reply will stand."""

    object: str = "feedback_receipt"
    id: str
    guidance: str = ""


class FeedbackReport(Model):
    """A stored report. `reply` is the team's, once `status` is `answered`."""

    object: str = "feedback"
    id: str
    status: Status | str = "open"
    reply: str | None = None
    summary: str = ""
    category: Category | str | None = None
    impact: Impact | str | None = None
    endpoint: str | None = None
    error_code: str | None = None
    request_id: str | None = None
    created_at: str | None = None
    replied_at: str | None = None


class FeedbackList(Model):
    object: str = "list"
    data: list[FeedbackReport] = Field(default_factory=list)
