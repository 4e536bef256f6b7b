"""The service in use: its address and key, its chat and project; reports to its team."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from agentsvc_nb.client.errors import APIConnectionError, StefanBrainError
from agentsvc_nb.client.models import to_dataframe
from agentsvc_nb.data_folder import data_folder
from agentsvc_nb.key_forms import LOOKS_LIKE_KEY, looks_like_key, without_keys
from agentsvc_nb.notebook.ask.answer import CellAnswer
from agentsvc_nb.notebook.display.markdown import SMALL, to_html
from agentsvc_nb.notebook.display.render import Bundle, cost, moment
from agentsvc_nb.notebook.display.results import Preview, PrintedText, ResultTable, code, grid
from agentsvc_nb.notebook.errors import AskError, RunFailed
from agentsvc_nb.notebook.jobs.follower import JobResult
from agentsvc_nb.notebook.state.session import EMBEDDED, Session, errors_as_cells
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.limits import FEEDBACK_FIELD_CHARS, SKILL_BYTES
from agentsvc_nb.wire.resources import FeedbackReport
from agentsvc_nb.wire.text import escape, label, plain

LOCAL: Final = "local"
KNOCK_SECONDS: Final = 3.0
"""How long to wait for any response of a new address."""
REPORTS: Final = 100
"""How many reports `%feedback` lists."""
NONE: Final = "-"
"""Given instead of a file or folder, it removes the project's instructions or skills."""
_SKILL: Final = "SKILL.md"
_SKILLS_FOLDER: Final = "A folder of skills has NAME/SKILL.md for each."


def connect(
    session: Session, url: str, ask_key: Callable[[str], str] | None = None, *, keep_key: bool = False
) -> PrintedText:
    """Use the service at `url`, or with `local` the embedded one, from now on (docs/api/embedded.md "Address and key").

    If no key is known for it, `ask_key(prompt)` is called for one, if given; `keep_key` stores it in the keyring.
    Raises `AskError` for an invalid address, or when nothing responds there; the connection then stays as it was.
    """
    if url == LOCAL:
        session.connect(EMBEDDED)
        return status(session)
    from agentsvc_nb.client.transport.http import knock

    address = _service_address(url)
    try:
        knock(address, KNOCK_SECONDS)  # without a key, because it may be the wrong address
    except APIConnectionError as error:
        raise AskError(
            f"Nothing answers at {address}; the connection is left as it was. {error.message}",
            "Check the address; `%agentsvc connect local` takes the embedded service.",
        ) from None
    except StefanBrainError as error:
        raise AskError(f"{error.message} The connection is left as it was.", error.hint or "") from None
    if ask_key is not None and (keep_key or session.keys.of(address) is None):
        key = ask_key(f"Key for {address} (not shown): ").strip()
        if key:
            session.keys.typed(address, key, keep=keep_key)
    session.connect(address)
    return status(session)


def _service_address(url: str) -> str:
    """Return a service's address without trailing slashes. Raises `AskError` when it is not a valid address."""
    if looks_like_key(url):
        raise AskError(f"{LOOKS_LIKE_KEY} Nothing was changed.", "Give the service's address: its key is asked for.")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise AskError(
            f"{url!r} is not the address of a service.",
            "Give one like https://agents.example.com, or `local` for your own.",
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise AskError("The address must not carry a password or a query.", "The key comes from SERVICE_API_KEY.")
    return url.rstrip("/")


def status(session: Session, chosen: str = "") -> PrintedText:
    """Describe the service, the origin of the key, the model, the chat and the journal in use.

    Sends nothing, and shows no secret. `chosen` is the notebook's own default of a model.
    """
    lines = [f"service  {_service(session)}", f"model    {_model(session, chosen)}"]
    lines += [f"data     {data_folder(session.environ)}"] if session.base_url == EMBEDDED else []
    lines += [f"project  {session.project}"] if session.project else []
    lines.append(f"chat     {session.known_chat(session.address()) or 'none yet; the first ask begins one'}")
    count = len(session.journal.runs(session.name))
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


def chat(session: Session, chat_id: str | None = None) -> PrintedText:
    """Ask in this chat from now on; without an id, show the current one.

    Raises `AskError` for an invalid id, a chat that this account does not have, or a failing service.
    """
    if chat_id is None:
        return PrintedText(session.known_chat(session.address()) or "none yet; the first ask begins one")
    if not ids.is_chat(chat_id):
        raise AskError(f"{label(chat_id, 80)!r} is not a chat id; nothing was sent.", "Use a `chat_...` id or a UUID.")
    with errors_as_cells(session):
        next(iter(session.client().files.list(chat_id)), None)  # raises if there is no such chat
    session.move(chat_id)
    return status(session)


def project(
    session: Session,
    named: str | None = None,
    *,
    create: bool = False,
    instructions: str | None = None,
    skills: str | None = None,
) -> PrintedText:
    """Ask in the project of this id or name from now on; without one, in no project.

    Args:
        create: create the project if there is none of this name.
        instructions: a text file that the agent reads in all chats of the project (of the one in use, if none is
            named); `-` removes them.
        skills: a folder with NAME/SKILL.md for each skill, which replace the project's; `-` removes all.

    Raises `AskError` when none or several have the name, a file can't be read, or the service fails.
    """
    text = None if instructions is None else "" if instructions == NONE else _instructions(Path(instructions))
    found, left_out = _skills_in(Path(skills).expanduser()) if skills not in (None, NONE) else ({}, [])
    changes = text is not None or skills is not None
    chosen = session.project if named is None and changes else None if named is None else _find(session, named, create)
    lines: list[str] = []
    if changes:
        if chosen is None:
            raise AskError("Which project?", "For example: %agentsvc project NAME --instructions FILE")
        with errors_as_cells(session):
            projects = session.client().projects
            if text is not None:
                projects.update(chosen, instructions=text)
            if skills is not None:
                before = next((each.skills for each in projects.list() if each.id == chosen), [])
                # One by one: together they may be larger than a request.
                for name in {**{skill.name: None for skill in before}, **found}:
                    projects.update(chosen, skills={name: found.get(name, {})})
                lines = [f"skills   {', '.join(found) or 'none'}"]
                lines += [f"left out {label(', '.join(left_out), 300)} (not text)"] if left_out else []
    session.turn_to(chosen)
    return PrintedText("\n".join([status(session), *lines]))


def _find(session: Session, named: str, create: bool) -> str:
    with errors_as_cells(session):
        known = session.client().projects.list()
        session.known.projects = {each.name: each.id for each in known}
        found = [each.id for each in known if named in (each.id, each.name)]
        if not found and create:
            found = [session.client().projects.create(named).id]
            session.known.projects[named] = found[0]
    if len(found) != 1:
        problem = "There is no project" if not found else f"{len(found)} projects are called"
        hint = "--create makes one." if not found else "Name it by its id."
        raise AskError(f"{problem} {label(named, 80)}.", hint)
    return found[0]


def _instructions(file: Path) -> str:
    try:
        return file.expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise AskError(f"{label(str(file), 200)} can't be read: {error}", "Give a text file in UTF-8.") from None


def _skills_in(folder: Path) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return the texts of a folder's skills by name and path, and the paths of files that are not text.

    The folder has the skills, or is one. Hidden files and links are left out.
    """
    texts: dict[str, dict[str, str]] = {}
    left_out = []
    try:
        inside = [folder.resolve()] if (folder / _SKILL).is_file() else sorted(folder.iterdir())
        for skill in inside:
            if not (skill / _SKILL).is_file():
                continue
            texts[skill.name] = {}
            for file in sorted(skill.rglob("*")):
                path = file.relative_to(skill)
                if file.is_symlink() or not file.is_file() or any(part.startswith(".") for part in path.parts):
                    continue
                if file.stat().st_size > SKILL_BYTES:
                    raise AskError(
                        f"{label(str(file), 200)} is too large; nothing was sent.",
                        f"A skill may have {SKILL_BYTES:,} bytes of text.",
                    )
                try:
                    texts[skill.name][path.as_posix()] = file.read_text(encoding="utf-8-sig")
                except UnicodeDecodeError:
                    left_out.append(f"{skill.name}/{path.as_posix()}")
    except OSError as error:
        raise AskError(f"{label(str(folder), 200)} can't be read: {error}", _SKILLS_FOLDER) from None
    if not texts:
        raise AskError(f"{label(str(folder), 200)} has no skills; nothing was sent.", _SKILLS_FOLDER)
    return texts, left_out


def feedback(session: Session) -> ResultTable:
    """List at most 100 of the account's reports with the team's replies, newest first.

    Raises `AskError` when the service fails.
    """
    with errors_as_cells(session):
        found = session.client().feedback.list(limit=REPORTS)
    session.known.feedback = [report.id for report in found]
    return ResultTable(feedback_bundle(found), lambda: to_dataframe(FeedbackReport, found))


def feedback_bundle(found: Sequence[FeedbackReport]) -> Bundle:
    """Return a table of reports."""
    rows = [
        (code(each.id), label(each.status, 30), moment(each.created_at), label(each.summary), label(each.reply or ""))
        for each in found
    ]
    columns = ("report", "state", "sent", "summary", "reply")
    return grid("Feedback", columns, rows, [f"{len(found)} report{'s' * (len(found) != 1)}"])


def feedback_show(session: Session, report_id: str) -> Preview:
    """Show a report and the team's reply. Raises `AskError` when there is no such report, or the service fails."""
    with errors_as_cells(session):
        return Preview(report_bundle(session.client().feedback.get(report_id)))


def report_bundle(report: FeedbackReport) -> Bundle:
    """Return a report and its reply as an output. The reply is untrusted text, as an agent's answer is."""
    facts = [report.status, report.category, report.impact, report.endpoint, report.error_code, report.id]
    head = " · ".join(label(fact, 80) for fact in facts if fact)
    said = f"**You:** {report.summary}\n\n" + (f"**Reply:** {report.reply}" if report.reply else "*No reply yet.*")
    return {
        "text/plain": f"{head}\n\nYou: {plain(report.summary)}\n\nReply: {plain(report.reply or 'none yet')}",
        "text/html": f'<div style="{SMALL}">{escape(head, 600)}</div>{to_html(said)}',
    }


def feedback_send(session: Session, summary: str, *, error: object = None, about_error: bool = False) -> PrintedText:
    """Send a report; it is never sent a second time.

    With `about_error`, it is about the call that failed with `error`, or else about the last failed call of this
    notebook's client; the content of the request is never sent. Raises `AskError` when the report is empty, no call
    has failed, or the service fails.
    """
    if not summary.strip():
        raise AskError("The report is empty; nothing was sent.", 'For example: %feedback send "The search is slow"')
    with errors_as_cells(session):
        client = session.client()
        if not about_error:
            receipt = client.feedback.send(summary)
        elif failed := _failed_call(error):
            endpoint, code, request = failed
            receipt = client.feedback.send(
                summary, category="bug", endpoint=endpoint, error_code=code, request_id=request
            )
        elif client.history.last_error:
            receipt = client.feedback.from_last_error(summary)
        else:
            raise AskError("No call has failed; nothing was sent.", "Leave out --error.")
    session.known.feedback.insert(0, receipt.id)
    if session.base_url != EMBEDDED:
        return PrintedText(f"Sent. {receipt.guidance}".strip() + f" (report {receipt.id})")
    return PrintedText(
        "Kept by the service on this machine, which is your own: nobody else reads it. `%feedback` lists your reports."
        f" (report {receipt.id})"
    )


def _failed_call(error: object) -> tuple[str | None, str | None, str | None] | None:
    """Return endpoint, error code and request id of the call that failed with a cell's error; None if none did."""
    error = error.error if isinstance(error, AskError) else error
    if isinstance(error, StefanBrainError):
        place = f"{error.method} {error.path}".strip()[:FEEDBACK_FIELD_CHARS]
        return place or None, error.code, error.request_id
    match error.answer if isinstance(error, RunFailed) else None:
        case CellAnswer() as answer:
            return f"GET /runs/{answer.run_id}", answer.run.last_error, None
        case JobResult(job=job):
            return f"GET /jobs/{job.job_id}", job.error.code if job.error else None, None
    return None
