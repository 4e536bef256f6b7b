"""The commands behind the magics, as plain functions. Scripts and tests can call them without IPython.

Example:
    session = Session()
    ask(session, AskRequest("Which files are here?"), StaticScreen(output)).text
"""

# ruff: noqa: F401, F811 - magics and scripts use the names that are imported here
from __future__ import annotations

from agentsvc_nb import embedded
from agentsvc_nb.data_folder import data_folder
from agentsvc_nb.documents.markdown import anchor
from agentsvc_nb.notebook.ask import follower
from agentsvc_nb.notebook.ask.answer import CellAnswer
from agentsvc_nb.notebook.ask.background import ask_in_background
from agentsvc_nb.notebook.ask.each import RowsBar, ask_each
from agentsvc_nb.notebook.ask.follower import ask
from agentsvc_nb.notebook.ask.history import (
    approvals,
    approve,
    cancel,
    raise_limit,
    resolve_run,
    revoke,
    runs,
    show,
    show_sent,
    standing_approvals,
    undo,
    wait,
)
from agentsvc_nb.notebook.ask.request import prepare
from agentsvc_nb.notebook.connection import (
    chat,
    connect,
    feedback,
    feedback_send,
    project,
    rules,
    rules_remove,
    status,
)
from agentsvc_nb.notebook.display.render import note_bundle
from agentsvc_nb.notebook.display.results import Preview, PrintedText, ResultTable
from agentsvc_nb.notebook.display.screens import Screen
from agentsvc_nb.notebook.files.gallery import static_gallery
from agentsvc_nb.notebook.files.workspace import (
    files,
    files_get,
    files_matching,
    files_preview,
    files_put,
    files_restore,
    files_versions,
    search,
)
from agentsvc_nb.notebook.host import here, in_marimo
from agentsvc_nb.notebook.jobs.follower import start, work
from agentsvc_nb.notebook.jobs.history import jobs, jobs_cancel, jobs_show, jobs_watch, watch_in_background
from agentsvc_nb.notebook.jobs.servers import servers, servers_add, servers_remove
from agentsvc_nb.notebook.jobs.tools import call, tools, tools_describe
from agentsvc_nb.notebook.models import choose_model, models, switch_model
from agentsvc_nb.notebook.state.session import EMBEDDED, Session, convert_errors
from agentsvc_nb.notebook.widgets.form import ToolForm
from agentsvc_nb.notebook.widgets.outputs import WidgetWithFallback, fallback, static_front


def attach(session: Session, run_id: str, screen: Screen, *, timeout: float | None = None) -> CellAnswer:
    """Follow a run that has already started, from its first event. Returns and raises like `RunFollower.follow`."""
    return follower.attach(session, resolve_run(session, run_id), screen, timeout=timeout)


def resume(session: Session, run_id: str, screen: Screen, *, max_cents: float | None = None) -> CellAnswer:
    """Continue a failed run, and follow it like `attach`. Also raises `AskError` if the run can't be resumed."""
    run_id = resolve_run(session, run_id)
    with convert_errors(session):
        run = session.client().runs.resume(run_id, max_cents=max_cents)
    return attach(session, run.run_id, screen)


def Files(chat: str | None = None) -> WidgetWithFallback | ResultTable:
    """Return a browser for the files of a chat, like `%files browse`. On hosts without widgets, return a table.

    Args:
        chat: the id of a chat; by default this notebook's own.

    Raises:
        AskError: the service can't be reached, or this account has no such chat.

    >>> import agentsvc_nb
    >>> agentsvc_nb.Files()  # doctest: +SKIP
    """
    session, widgets = here()
    return files_browse(session, chat, widgets=widgets or in_marimo())


def Gallery(pattern: str = "*", *, chat: str | None = None) -> WidgetWithFallback | Preview:
    """Return a gallery of the pictures in a chat, like `%files gallery`. On hosts without widgets, the gallery is
    static.

    Args:
        pattern: a glob that a picture's path or file name must match.
        chat: the id of a chat; by default this notebook's own.

    Raises:
        AskError: no picture matches, the service can't be reached, or this account has no such chat.

    >>> import agentsvc_nb
    >>> agentsvc_nb.Gallery("*.png")  # doctest: +SKIP
    """
    session, widgets = here()
    return files_gallery(session, pattern, chat, widgets=widgets or in_marimo())


def files_browse(session: Session, chat: str | None = None, *, widgets: bool) -> WidgetWithFallback | ResultTable:
    """Return a widget with the files of this notebook's chat, or of another `chat`. Without `widgets`, return a table.

    Raises `AskError` when a request fails, or this account has no such chat.
    """
    where = session.for_chat(chat) if chat else session
    if not widgets:
        return files(where)
    from agentsvc_nb.notebook.widgets.browser import browse

    return browse(where, chat)


def files_gallery(
    session: Session, pattern: str = "*", chat: str | None = None, *, widgets: bool
) -> WidgetWithFallback | Preview:
    """Return a gallery of the pictures in this notebook's chat, or in `chat`. Without `widgets`, it is static.

    Raises `AskError` when no picture matches the glob, or a request fails.
    """
    where = session.for_chat(chat) if chat else session
    if not widgets:
        return Preview(static_gallery(where, pattern))
    from agentsvc_nb.notebook.widgets.browser import gallery

    return gallery(where, pattern, chat)


def page(session: Session, *, widgets: bool) -> WidgetWithFallback | PrintedText:
    """Return the address of this notebook's chat page. For the embedded service, return a link that also signs in.

    The sign-in link is a secret. It is shown in a widget, which the notebook does not save. Without `widgets`, return
    the address and how to sign in.

    Raises `AskError` when the service cannot be reached.
    """
    with convert_errors(session):
        base = session.client().base_url
    chat = session.known_chat(session.address())
    address = f"{base}/app/chats/{chat}" if chat else f"{base}/app"
    ready = embedded.status(data_folder(session.environ)) if session.base_url == EMBEDDED else None
    if ready is None:
        return PrintedText(f"{address}\nSign in there with the method that the team running the service gave you.")
    if not widgets:
        return PrintedText(
            f"{address}\nTo sign in, run `agentsvc sign-in` in a terminal and open the link that it prints."
        )
    link = f"{ready.sign_in_url}&chat={chat}" if chat else ready.sign_in_url
    words = f"Open {'this chat' if chat else 'the chats'} in the browser, signed in"
    shown = {"text/plain": words, "text/html": f"{anchor(link)}{words}</a>"}
    told = fallback("A link to the page of this chat.", "`%agentsvc open`", note_bundle(address))
    return WidgetWithFallback(told, static_front(shown))
