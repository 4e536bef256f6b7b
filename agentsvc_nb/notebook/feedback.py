"""Feedback to the team that runs the service, and its replies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.models import of
from agentsvc_nb.notebook.display.markdown import to_html
from agentsvc_nb.notebook.display.render import MUTED, Bundle, moment
from agentsvc_nb.notebook.display.results import Preview, PrintedText, ResultTable, Row, code, grid
from agentsvc_nb.notebook.errors import AskError, RunFailed
from agentsvc_nb.notebook.jobs.foreground import JobResult
from agentsvc_nb.notebook.runs.answer import CellAnswer
from agentsvc_nb.notebook.state.session import Session, errors_as_cells
from agentsvc_nb.wire.limits import FEEDBACK_FIELD_CHARS
from agentsvc_nb.wire.resources import Category, FeedbackReport, Impact, Status
from agentsvc_nb.wire.text import escape, label, plain

LIST_LIMIT: Final = 100


@dataclass(frozen=True, slots=True)
class FailedCall:
    """The failed call that a report is about, as far as known; never has the content of the request."""

    endpoint: str | None = None
    error_code: str | None = None
    request_id: str | None = None

    @classmethod
    def of(cls, error: object) -> Self | None:
        """Return the facts of a cell's error, or None if it did not come from the service."""
        error = error.error if isinstance(error, AskError) else error
        if isinstance(error, StefanBrainError):
            place = f"{error.method} {error.path}".strip()[:FEEDBACK_FIELD_CHARS]
            return cls(place or None, error.code, error.request_id)
        kept = error.answer if isinstance(error, RunFailed) else None
        if isinstance(kept, CellAnswer):
            return cls(f"GET /runs/{kept.run_id}", kept.run.last_error)
        if isinstance(kept, JobResult):
            return cls(f"GET /jobs/{kept.job.job_id}", kept.job.error.code if kept.job.error else None)
        return None


def feedback(session: Session, *, status: Status | None = None) -> ResultTable:
    """List at most 100 of the account's reports with the team's replies, newest first.

    Raises `AskError` when the service fails.
    """
    with errors_as_cells(session):
        found = session.client().feedback.list(status=status, limit=LIST_LIMIT)
    session.known.feedback = [report.id for report in found]
    return ResultTable(feedback_bundle(found), lambda: of(FeedbackReport, found))


def feedback_bundle(found: list[FeedbackReport]) -> Bundle:
    """Reports as a table."""
    note = f"{len(found)} report{'s' * (len(found) != 1)}"
    return grid("Feedback", ("report", "state", "sent", "summary", "reply"), [*map(_row, found)], [note])


def _row(report: FeedbackReport) -> Row:
    return (
        code(report.id),
        label(report.status, 30),
        moment(report.created_at),
        label(report.summary),
        label(report.reply or ""),
    )


def feedback_show(session: Session, report_id: str) -> Preview:
    """Show a report and the team's reply. Raises `AskError` when there is no such report, or the service fails."""
    with errors_as_cells(session):
        return Preview(report_bundle(session.client().feedback.get(report_id)))


def report_bundle(report: FeedbackReport) -> Bundle:
    """A report and its reply as an output. The reply is untrusted text, as an agent's answer is."""
    facts = [report.id, report.status, report.category, report.impact, report.endpoint, report.error_code]
    head = " · ".join(label(fact, 80) for fact in facts if fact)
    said = f"**You:** {report.summary}\n\n" + (f"**The team:** {report.reply}" if report.reply else "*No reply yet.*")
    return {
        "text/plain": f"{head}\n\nYou: {plain(report.summary)}\n\nThe team: {plain(report.reply or 'no reply yet')}",
        "text/html": f'<div style="{MUTED}">{escape(head, 600)}</div>{to_html(said)}',
    }


def feedback_send(
    session: Session,
    summary: str,
    *,
    category: Category | None = None,
    impact: Impact | None = None,
    about: FailedCall | None = None,
) -> PrintedText:
    """Send a report; it is never sent a second time. `about` is the failed call that it is about.

    Raises `AskError` when the report is empty, or the service fails.
    """
    if not summary.strip():
        raise AskError("The report is empty; nothing was sent.", 'For example: %feedback send "The search is slow"')
    known = about or FailedCall()
    with errors_as_cells(session):
        receipt = session.client().feedback.send(
            summary,
            category=category,
            impact=impact,
            endpoint=known.endpoint,
            error_code=known.error_code,
            request_id=known.request_id,
        )
    session.known.feedback.insert(0, receipt.id)
    return PrintedText(f"Sent as {receipt.id}. {receipt.guidance}".strip())


def last_error(session: Session, error: object) -> FailedCall:
    """Return the facts of a cell's error, or else of the last failed call of this notebook's client.

    Raises `AskError` when no call has failed.
    """
    found = FailedCall.of(error) or FailedCall.of(session.client().history.last_error)
    if found is None:
        raise AskError("No call has failed; nothing was sent.", "Leave out --error.")
    return found
