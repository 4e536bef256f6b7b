"""What the magics do, as plain functions: usable from scripts and tests, without IPython.

Example:
    session = Session()
    ask(session, Question("Which files are here?"), StaticScreen(output)).text
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.frames import frame
from agentsvc_nb.notebook import frames
from agentsvc_nb.notebook.answer import Answer
from agentsvc_nb.notebook.asking import ask, ask_in_background
from agentsvc_nb.notebook.connecting import connect, status
from agentsvc_nb.notebook.failures import AskError, told
from agentsvc_nb.notebook.feed import Feed
from agentsvc_nb.notebook.session import Session
from agentsvc_nb.notebook.storing import files, files_get, files_put
from agentsvc_nb.notebook.stream import Screen
from agentsvc_nb.notebook.watching import Turn
from agentsvc_nb.notebook.working import work
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.runs import TERMINAL

if TYPE_CHECKING:
    import pandas as pd

    from agentsvc_nb.client.surface import AgentService

__all__ = [
    "ask",
    "ask_in_background",
    "attach",
    "cancel",
    "connect",
    "files",
    "files_get",
    "files_put",
    "runs",
    "status",
    "work",
]


def attach(session: Session, run_id: str, screen: Screen, *, timeout: float | None = None) -> Answer:
    """Follow a run that was started before, from its beginning. Returns and raises as `asking.Turn.watch`."""
    client, run_id = session.client(), _run(run_id)
    feed = Feed(lambda door: client.runs.attach(run_id), client.runs.cancel)
    return Turn(session, client, feed, screen, timeout).watch()


def cancel(session: Session, run_id: str) -> str:
    """Ask a run to stop; safe to repeat. Raises `AskError`."""
    try:
        run = session.client().runs.cancel(_run(run_id))
    except StefanBrainError as error:
        raise told(error, session.base_url) from None
    session.journal.seen(run)
    return f"Run {run.run_id} is {run.status}."


def runs(session: Session) -> pd.DataFrame:
    """This notebook's runs from the journal, oldest first, a row each; the state of active ones is read anew."""
    rows = session.journal.runs(_name(session))
    if any(_stale(session, row["base_url"], row["status"], row["run_id"]) for row in rows):
        client = session.client()
        for row in rows:
            if _stale(session, row["base_url"], row["status"], row["run_id"]):
                _refresh(session, client, row["run_id"])
        rows = session.journal.runs(_name(session))
    wanted = [{name: row[name] for name in frames.RUNS} for row in rows]
    return frame(wanted, frames.RUNS, notebook=session.notebook)


def _stale(session: Session, base_url: str, status: str, run_id: str | None) -> bool:
    return run_id is not None and status not in TERMINAL and base_url == session.base_url


def _refresh(session: Session, client: AgentService, run_id: str) -> None:
    try:
        session.journal.seen(client.runs.get(run_id))
    except StefanBrainError as error:
        if error.status != 404:  # of another account: its last known state stays
            raise told(error, session.base_url) from None


def _run(run_id: str) -> str:
    if not ids.is_run(run_id):
        raise AskError(f"{run_id!r} is no run id; nothing was sent.", "`%runs` lists this notebook's runs.")
    return run_id


def _name(session: Session) -> str:
    return session.notebook or session.label
