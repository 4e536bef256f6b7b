"""The commands behind the magics as plain functions, usable from scripts and tests without IPython.

Example:
    session = Session()
    ask(session, Question("Which files are here?"), StaticScreen(output)).text
"""

from __future__ import annotations

from agentsvc_nb.notebook.ask.answer import CellAnswer
from agentsvc_nb.notebook.ask.asking import ask, ask_in_background, ask_variants
from agentsvc_nb.notebook.ask.follow import RECONNECTS, Feed
from agentsvc_nb.notebook.ask.history import approvals, approve, cancel, runs, the_run, wait
from agentsvc_nb.notebook.ask.review import diff, export, show
from agentsvc_nb.notebook.ask.several import ask_each
from agentsvc_nb.notebook.ask.turn import RunWatcher
from agentsvc_nb.notebook.connection import (
    chat,
    connect,
    feedback,
    feedback_send,
    feedback_show,
    last_error,
    project,
    status,
    workstream,
)
from agentsvc_nb.notebook.display.screens import Screen
from agentsvc_nb.notebook.files.gallery import static_gallery
from agentsvc_nb.notebook.files.workspace import files, files_get, files_preview, files_put, search
from agentsvc_nb.notebook.jobs.background import start
from agentsvc_nb.notebook.jobs.calling import call
from agentsvc_nb.notebook.jobs.catalog import tools, tools_describe
from agentsvc_nb.notebook.jobs.foreground import work
from agentsvc_nb.notebook.jobs.history import jobs, jobs_artifacts, jobs_cancel, jobs_show, jobs_tend, jobs_watch
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets.files import files_browse, files_gallery
from agentsvc_nb.notebook.widgets.forms.tool_form import ToolForm

__all__ = [
    "ToolForm",
    "approvals",
    "approve",
    "ask",
    "ask_each",
    "ask_in_background",
    "ask_variants",
    "attach",
    "call",
    "cancel",
    "chat",
    "connect",
    "diff",
    "export",
    "feedback",
    "feedback_send",
    "feedback_show",
    "files",
    "files_browse",
    "files_gallery",
    "files_get",
    "files_preview",
    "files_put",
    "jobs",
    "jobs_artifacts",
    "jobs_cancel",
    "jobs_show",
    "jobs_tend",
    "jobs_watch",
    "last_error",
    "project",
    "runs",
    "search",
    "show",
    "start",
    "static_gallery",
    "status",
    "tools",
    "tools_describe",
    "wait",
    "work",
    "workstream",
]


def attach(session: Session, run_id: str, screen: Screen, *, timeout: float | None = None) -> CellAnswer:
    """Follow a run that was started before, from its first event. Returns and raises as `RunWatcher.watch`."""
    run_id, client = the_run(session, run_id), session.client()
    feed = Feed(lambda control: client.runs.attach(run_id, max_retries=RECONNECTS), client.runs.cancel)
    return RunWatcher(session, client, feed, screen, timeout).watch()
