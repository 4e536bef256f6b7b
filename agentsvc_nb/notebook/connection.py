"""Choose the service, chat and project of a notebook, show which are in use, and send reports to the service's team."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import urlsplit

from agentsvc_nb import clock
from agentsvc_nb.client.errors import APIConnectionError, StefanBrainError
from agentsvc_nb.client.models import to_dataframe
from agentsvc_nb.data_folder import data_folder
from agentsvc_nb.key_forms import LOOKS_LIKE_KEY, looks_like_key, without_keys
from agentsvc_nb.notebook.ask.answer import CellAnswer
from agentsvc_nb.notebook.display.render import Bundle, cost, format_time
from agentsvc_nb.notebook.display.results import PrintedText, QuotedText, ResultTable, code, grid
from agentsvc_nb.notebook.errors import AskError, RunFailed
from agentsvc_nb.notebook.jobs.follower import JobResult
from agentsvc_nb.notebook.state.session import EMBEDDED, Session, convert_errors
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.files import Project
from agentsvc_nb.wire.limits import FEEDBACK_FIELD_CHARS
from agentsvc_nb.wire.resources import FeedbackReport
from agentsvc_nb.wire.text import label

LOCAL: Final = "local"
PROBE_SECONDS: Final = 3.0
"""How many seconds to wait for a response from a new address."""
RULE_CHARS: Final = 1_000
REPORTS: Final = 100
"""The maximum number of reports that `%feedback` lists."""


def connect(
    session: Session, url: str, ask_key: Callable[[str], str] | None = None, *, keep_key: bool = False
) -> PrintedText:
    """Use the service at `url`; `local` means the embedded service (docs/api/embedded.md "Address and key").

    If the key of the service is unknown, `ask_key(prompt)` asks the user for it. With `keep_key`, it always asks, and
    stores the key in the keyring. Raises `AskError` when the address is invalid or no service responds there. The
    previous connection then stays in use.
    """
    if url == LOCAL:
        session.connect(EMBEDDED)
        return status(session)
    from agentsvc_nb.client.transport.http import check_reachable

    address = _service_address(url)
    try:
        check_reachable(address, PROBE_SECONDS)  # send no key, because the address may be wrong
    except APIConnectionError as error:
        raise AskError(
            f"No service responds at {address}; the connection was not changed. {error.message}",
            "Check the address, or use the embedded service with `%agentsvc connect local`.",
        ) from None
    except StefanBrainError as error:
        raise AskError(f"{error.message} The connection was not changed.", error.hint or "") from None
    if ask_key is not None and (keep_key or session.keys.find(address) is None):
        key = ask_key(f"Key for {address} (not shown): ").strip()
        if key:
            session.keys.use_typed(address, key, keep=keep_key)
    session.connect(address)
    return status(session)


def _service_address(url: str) -> str:
    """Return the address without slashes at its end. Raises `AskError` when the address is not valid."""
    if looks_like_key(url):
        raise AskError(
            f"{LOOKS_LIKE_KEY} Nothing was changed.",
            "Enter only the service's address. The notebook asks for the key next.",
        )
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise AskError(
            f"{url!r} is not a valid service address; nothing was changed.",
            "Use an address such as https://agents.example.com, or `local` for the embedded service.",
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise AskError(
            "The address must not contain a user name, password, query or fragment; nothing was changed.",
            "Set the key in SERVICE_API_KEY.",
        )
    return url.rstrip("/")


def status(session: Session, chosen: str = "") -> PrintedText:
    """Describe the service in use, the source of its key, the model, the chat and the journal.

    The text contains no secret. Requests the service's models and today's usage, but only if this notebook has already
    used the service. `chosen` is the notebook's default model.
    """
    lines = [f"service  {_service(session)}", f"model    {_model(session, chosen)}"]
    at_hand = _is_at_hand(session)
    lines += _tools_warning(session, chosen) if at_hand else []
    lines += [f"data     {data_folder(session.environ)}"] if session.base_url == EMBEDDED else []
    lines += [f"project  {session.project}"] if session.project else []
    lines.append(f"chat     {session.known_chat(session.address()) or 'none yet; your first question starts one'}")
    count = len(session.journal.runs(session.name))
    counted = f"{count} run{'' if count == 1 else 's'} of this notebook"
    lines.append(f"journal  {session.journal.warning or counted}")
    lines += _describe_budget(session) if at_hand else []
    if spent := session.journal.cost_in_month(clock.now().strftime("%Y-%m")):
        lines.append(f"month    {cost(spent)} for language models, in the notebooks on this machine (UTC)")
    return PrintedText("\n".join([*lines, *session.take_notes()]))


def _is_at_hand(session: Session) -> bool:
    """Return True if this notebook has used the service, and requests do not have to start the service first."""
    from agentsvc_nb import embedded  # imported here, because the import is slow

    return session.in_use and (
        session.base_url != EMBEDDED or embedded.status(data_folder(session.environ)) is not None
    )


def _tools_warning(session: Session, chosen: str) -> list[str]:
    """Return a warning if the `chosen` model can't call tools. If `chosen` is empty, check the service's default model.

    Return no lines if there is nothing to warn of, or the request fails.
    """
    try:
        models = session.client().models.list(timeout=PROBE_SECONDS, max_retries=0)
    except (StefanBrainError, AskError):
        return []
    asked = [model for model in models if (model.id == chosen if chosen else model.default)]
    return [f"         {label(model.only_reads, 300)}" for model in asked if model.only_reads]


def _describe_budget(session: Session) -> list[str]:
    """Return how much of today's budget the account has used. Return no lines without a budget."""
    try:
        today = session.client().usage.today(timeout=PROBE_SECONDS, max_retries=0)
    except (StefanBrainError, AskError):
        return []
    if today.limit_cents is None:  # without a budget, this line would only repeat the costs that each answer shows
        return []
    held = f", {today.held_cents:,.2f} reserved for active work" if today.held_cents else ""
    return [f"today    {today.billed_cents:,.2f} of {today.limit_cents:,.2f} cents billed{held}"]


def _service(session: Session) -> str:
    if undecided := session.address_error():
        return f"{undecided} {undecided.hint}"
    if session.base_url == EMBEDDED:
        known = "SERVICE_API_KEY is set, for another service" if session.keys.given else "no SERVICE_API_KEY"
        from agentsvc_nb import embedded  # imported here, because the import is slow

        ready = embedded.status(data_folder(session.environ))
        where = f"at {ready.base_url}" if ready else "not running; the next question starts it"
        return f"the embedded service of this machine, {where} ({known})"
    found = session.keys.find(session.base_url)
    return f"{session.base_url} ({found[1] if found else 'no SERVICE_API_KEY'})"


def _model(session: Session, chosen: str) -> str:
    others = "list the models with `%agentsvc model`"
    if chosen:
        return f"{without_keys(chosen)} (`%config Ask.model`)"
    if session.base_url != EMBEDDED or session.address_error():
        return f"{session.known.models[0]}, its default" if session.known.models else f"its default; {others}"
    from agentsvc_nb.language_models.catalog import current_model
    from agentsvc_nb.service.folder import DataFolder
    from agentsvc_nb.settings import SettingsError

    try:
        return f"{current_model(DataFolder(data_folder(os.environ)))}; {others}"
    except SettingsError as error:
        return str(error)


def chat(session: Session, chat_id: str | None = None) -> PrintedText:
    """From now on, ask in this chat. Without an id, return the id of the current chat.

    Raises `AskError` when the id is invalid, this account has no such chat, or a request fails.
    """
    if chat_id is None:
        return PrintedText(session.known_chat(session.address()) or "none yet; your first question starts one")
    if not ids.is_chat(chat_id):
        raise AskError(f"{label(chat_id, 80)!r} is not a chat id; nothing was sent.", "Use a `chat_...` id or a UUID.")
    with convert_errors(session):
        next(iter(session.client().files.list(chat_id)), None)  # raises an error if there is no such chat
    session.switch_chat(chat_id)
    return status(session)


def project(session: Session, named: str | None = None, *, create: bool = False) -> PrintedText:
    """From now on, ask in the project with this id or name. Without an id or name, ask in no project.

    With `create`, create the project if no project has the name. Raises `AskError` when no project or several projects
    have the name, or a request fails.
    """
    session.switch_project(None if named is None else _resolve_project(session, named, create))
    return status(session)


def rules(session: Session) -> QuotedText:
    """List the rules of this notebook's project with their numbers. A rule is one line of the project's instructions.

    Raises `AskError` when the notebook uses no project, or a request fails.
    """
    found = _project(session)
    lines = [f"{number:>3}  {label(line, RULE_CHARS)}" for number, line in _rules(found)]
    said = [f"The agent follows these rules in all chats of project {label(found.name, 80)}:", *lines]
    none = [f"Project {label(found.name, 80)} has no rules. Ask the agent to remember one."]
    return QuotedText("\n".join([*said, "Remove a rule with `%agentsvc rules remove NUMBER`."] if lines else none))


def rules_remove(session: Session, number: str) -> QuotedText:
    """Remove the rule with this number from this notebook's project, and list the remaining rules.

    Raises `AskError` when the rule does not exist, the notebook uses no project, or a request fails.
    """
    found = _project(session)
    if number not in [str(each) for each, _ in _rules(found)]:
        raise AskError(
            f"Rule {label(number, 40)} does not exist; nothing was removed.", "List the rules with `%agentsvc rules`."
        )
    lines = found.instructions.splitlines()
    del lines[int(number) - 1]
    with convert_errors(session):
        session.client().projects.update(found.id, instructions="\n".join(lines))
    return rules(session)


def _project(session: Session) -> Project:
    with convert_errors(session):
        found = [each for each in session.client().projects.list() if each.id == session.project]
    if not found:
        raise AskError(
            "This notebook uses no project, and only projects have rules.",
            "Choose a project with `%agentsvc project NAME`.",
        )
    return found[0]


def _rules(found: Project) -> list[tuple[int, str]]:
    """Return the lines of a project's instructions that are not blank, each with its line number."""
    return [(number, line) for number, line in enumerate(found.instructions.splitlines(), 1) if line.strip()]


def _resolve_project(session: Session, named: str, create: bool) -> str:
    with convert_errors(session):
        known = session.client().projects.list()
        session.known.projects = {each.name: each.id for each in known}
        found = [each.id for each in known if named in (each.id, each.name)]
        if not found and create:
            found = [session.client().projects.create(named).id]
            session.known.projects[named] = found[0]
    if len(found) != 1:
        problem = "There is no project" if not found else f"{len(found)} projects have the name"
        hint = "Add --create to create it." if not found else "Use the id of the project."
        raise AskError(f"{problem} {label(named, 80)}.", hint)
    return found[0]


def feedback(session: Session) -> ResultTable:
    """List the newest reports of the account (at most 100), newest first, each with the replies to it.

    Raises `AskError` when the request fails.
    """
    with convert_errors(session):
        found = session.client().feedback.list(limit=REPORTS)
    return ResultTable(feedback_bundle(found), lambda: to_dataframe(FeedbackReport, found))


def feedback_bundle(found: Sequence[FeedbackReport]) -> Bundle:
    rows = [
        (
            code(each.id),
            label(each.status, 30),
            format_time(each.created_at),
            label(each.summary),
            label(each.reply or ""),
        )
        for each in found
    ]
    columns = ("report", "state", "sent", "summary", "reply")
    return grid("Feedback", columns, rows, [f"{len(found)} report{'s' * (len(found) != 1)}"])


def feedback_send(session: Session, summary: str, *, error: object = None, about_error: bool = False) -> PrintedText:
    """Send a report to the service's team. The client does not retry, so that the team gets the report only once.

    With `about_error`, the report names the request that failed with `error`. If `error` comes from no request, it
    names the last failed request of this notebook. It never includes the content of the request.

    Raises `AskError` when the report is empty, `about_error` is set but no request has failed, or sending fails.
    """
    if not summary.strip():
        raise AskError("The report is empty; nothing was sent.", 'For example: %feedback send "The search is slow"')
    with convert_errors(session):
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
            raise AskError(
                "No request of this notebook has failed; nothing was sent.",
                "Remove --error to send a report without an error.",
            )
    if session.base_url != EMBEDDED:
        return PrintedText(f"Sent. {receipt.guidance}".strip() + f" (report {receipt.id})")
    return PrintedText(
        "Your own service stored the report on this machine. Nobody else can read it. List your reports"
        " with `%feedback`."
        f" (report {receipt.id})"
    )


def _failed_call(error: object) -> tuple[str | None, str | None, str | None] | None:
    """Return the endpoint, error code and request id of the request that made a cell fail, or None."""
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
