"""The service in use: show or change it, its chat, project and session label; send reports to its team."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Self
from urllib.parse import urlsplit

from agentsvc_nb.client.errors import APIConnectionError, StefanBrainError
from agentsvc_nb.client.models import to_dataframe
from agentsvc_nb.data_folder import data_folder
from agentsvc_nb.key_forms import LOOKS_LIKE_KEY, looks_like_key, without_keys
from agentsvc_nb.notebook.ask.answer import CellAnswer
from agentsvc_nb.notebook.display.markdown import SMALL, to_html
from agentsvc_nb.notebook.display.render import Bundle, cost, moment
from agentsvc_nb.notebook.display.results import Preview, PrintedText, ResultTable, Row, code, grid
from agentsvc_nb.notebook.errors import AskError, RunFailed
from agentsvc_nb.notebook.jobs.foreground import JobResult
from agentsvc_nb.notebook.state.session import EMBEDDED, Session, errors_as_cells
from agentsvc_nb.wire import ids, limits
from agentsvc_nb.wire.limits import FEEDBACK_FIELD_CHARS
from agentsvc_nb.wire.resources import Category, FeedbackReport, Impact, Status
from agentsvc_nb.wire.runs import ModelInfo
from agentsvc_nb.wire.text import escape, label, plain

AskKey = Callable[[str], str]
"""Prompts for a key without echo, and returns it; empty if none was typed."""
LOCAL: Final = "local"
KNOCK_SECONDS: Final = 3.0
"""How long to wait for any response of a new address."""


def connect(session: Session, url: str, ask_key: AskKey | None = None, *, keep_key: bool = False) -> PrintedText:
    """Use the service at `url`, or with `local` the embedded one, from now on (docs/api/embedded.md "Address and key").

    If no key is known for it, `ask_key(prompt)` is called for one, if given; `keep_key` stores it in the keyring.
    Raises `AskError` for an invalid address, or when nothing responds there; the connection then stays as it was.
    """
    if url == LOCAL:
        session.connect(EMBEDDED)
        return status(session)
    address = service_address(url)
    _knock(address)
    wanted = ask_key is not None and (keep_key or session.keys.of(address) is None)
    key = ask_key(f"Key for {address} (not shown): ").strip() if ask_key is not None and wanted else ""
    if key:
        session.keys.typed(address, key, keep=keep_key)
    session.connect(address)
    return status(session)


def chat(session: Session, chat_id: str | None = None) -> PrintedText:
    """Ask in this chat from now on; without an id, show the current one.

    Raises `AskError` for an invalid id, a chat that this account does not have, or a failing service.
    """
    if chat_id is None:
        return PrintedText(session.known_chat(session.address()) or "none yet; the first ask begins one")
    if not ids.is_chat(chat_id):
        raise AskError(f"{label(chat_id, 80)!r} is no chat id; nothing was sent.", "Use a `chat_...` id or a UUID.")
    with errors_as_cells(session):
        next(iter(session.client().files.list(chat_id)), None)  # raises if there is no such chat
    session.move(chat_id)
    return status(session)


def workstream(session: Session, name: str | None = None) -> PrintedText:
    """Ask in the chat of this session label from now on; without a label, in the notebook's own chat.

    Raises `AskError` for an invalid label.
    """
    if name is not None and not (0 < len(name) <= limits.SESSION_CHARS and name.isprintable()):
        raise AskError(f"A session label has 1 to {limits.SESSION_CHARS} characters on one line.", "Choose another.")
    session.turn_to(label=name, project=session.project)
    return status(session)


def status(session: Session, chosen: str = "") -> PrintedText:
    """Describe the service, the origin of the key, the model, the chat and the journal in use. Sends nothing, shows no
    secret. `chosen`: the notebook's own default of a model."""
    lines = [f"service  {_service(session)}", f"model    {_model(session, chosen)}"]
    lines += [f"data     {data_folder(session.environ)}"] if session.base_url == EMBEDDED else []
    lines += [f"project  {session.project}"] if session.project else []
    lines += [f"session  {session.workstream}"] if session.workstream else []
    lines.append(f"chat     {session.known_chat(session.address()) or 'none yet; the first ask begins one'}")
    count = len(session.journal.runs(session.notebook or session.label))
    counted = f"{count} run{'' if count == 1 else 's'} of this notebook"
    lines.append(f"journal  {session.journal.warning or counted}")
    if spent := session.journal.spent(datetime.now(UTC).strftime("%Y-%m")):
        lines.append(f"month    {cost(spent)} for language models, by the notebooks on this machine (UTC)")
    return PrintedText("\n".join([*lines, *session.take_notes()]))


def _service(session: Session) -> str:
    if undecided := session.undecided():
        return f"{undecided} {undecided.hint}"
    if session.base_url == EMBEDDED:
        known = "SERVICE_API_KEY is set, for another service" if session.keys.given else "no SERVICE_API_KEY"
        return f"the embedded service of this machine ({known})"
    found = session.keys.of(session.base_url)
    return f"{session.base_url} ({found[1] if found else 'no SERVICE_API_KEY'})"


def _model(session: Session, chosen: str) -> str:
    others = "`%agentsvc model` lists what could answer"
    if chosen:
        return f"{without_keys(chosen)} (`%config Ask.model`)"
    if session.base_url != EMBEDDED or session.undecided():
        return f"{session.known.models[0]}, its default" if session.known.models else f"its default; {others}"
    from agentsvc_nb.language_models.catalog import current_model
    from agentsvc_nb.service.folder import DataFolder
    from agentsvc_nb.settings import SettingsError

    try:
        return f"{current_model(DataFolder(data_folder(os.environ)))}; {others}"
    except SettingsError as error:
        return str(error)


def service_address(url: str) -> str:
    """Return a service's address without trailing slashes. Raises `AskError` when it is not a valid address."""
    if looks_like_key(url):
        raise AskError(f"{LOOKS_LIKE_KEY} Nothing was changed.", "Give the service's address: its key is asked for.")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise AskError(
            f"{url!r} is no address of a service.", "Give one like https://agents.example.com, or `local` for your own."
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise AskError("The address must not carry a password or a query.", "The key comes from SERVICE_API_KEY.")
    return url.rstrip("/")


def _knock(address: str) -> None:
    """Check that anything responds at an address, with whatever status; else raise `AskError`.

    No key is sent, because it may be the wrong address.
    """
    from agentsvc_nb.client.transport.http import knock

    try:
        knock(address, KNOCK_SECONDS)
    except APIConnectionError as error:
        raise AskError(
            f"Nothing answers at {address}; the connection is left as it was. {error.message}",
            "Check the address; `%agentsvc connect local` takes the embedded service.",
        ) from None
    except StefanBrainError as error:
        raise AskError(f"{error.message} The connection is left as it was.", error.hint or "") from None


def service_models(session: Session) -> list[ModelInfo]:
    """The models that a question may name, the default first. Raises `AskError` when the service fails."""
    with errors_as_cells(session):
        found = session.client().models.list()
    session.known.models = [model.id for model in found]
    return found


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
    return ResultTable(feedback_bundle(found), lambda: to_dataframe(FeedbackReport, found))


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
    said = f"**You:** {report.summary}\n\n" + (f"**Reply:** {report.reply}" if report.reply else "*No reply yet.*")
    return {
        "text/plain": f"{head}\n\nYou: {plain(report.summary)}\n\nReply: {plain(report.reply or 'none yet')}",
        "text/html": f'<div style="{SMALL}">{escape(head, 600)}</div>{to_html(said)}',
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
    if session.base_url == EMBEDDED:
        kept = f"Kept as {receipt.id} by the service on this machine, which is your own: nobody else reads it."
        return PrintedText(f"{kept} `%feedback` lists your reports.")
    return PrintedText(f"Sent as {receipt.id}. {receipt.guidance}".strip())


def last_error(session: Session, error: object) -> FailedCall:
    """Return the facts of a cell's error, or else of the last failed call of this notebook's client.

    Raises `AskError` when no call has failed.
    """
    found = FailedCall.of(error) or FailedCall.of(session.client().history.last_error)
    if found is None:
        raise AskError("No call has failed; nothing was sent.", "Leave out --error.")
    return found
