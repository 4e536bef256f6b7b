"""What the magics do, as plain functions: usable from scripts and tests, without IPython.

Example:
    session = Session()
    ask(session, Question("Which files are here?"), StaticScreen(output)).text
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook import frames
from agentsvc_nb.notebook.answer import Answer
from agentsvc_nb.notebook.asking import Turn, ask
from agentsvc_nb.notebook.failures import AskError, told
from agentsvc_nb.notebook.question import Attachment, attachments
from agentsvc_nb.notebook.reuse import listed_uploads
from agentsvc_nb.notebook.session import EMBEDDED, Session
from agentsvc_nb.notebook.stream import Screen
from agentsvc_nb.notebook.working import work
from agentsvc_nb.wire import ids, limits
from agentsvc_nb.wire.runs import TERMINAL

if TYPE_CHECKING:
    import pandas as pd

    from agentsvc_nb.client.surface import AgentService

__all__ = ["ask", "attach", "cancel", "connect", "files", "files_get", "files_put", "runs", "status", "work"]


@dataclass(frozen=True, slots=True)
class Put:
    """What `files_put` did: names that went up, and names of files that were there already."""

    sent: tuple[str, ...]
    same: tuple[str, ...]
    staged: bool

    def __str__(self) -> str:
        where = "they go along with the next %%ask" if self.staged and self.sent else ""
        counts = f"{len(self.sent)} sent" + (f", {len(self.same)} unchanged" if self.same else "")
        return f"{counts}: {', '.join((*self.sent, *self.same))}" + (f" ({where})" if where else "")


def connect(session: Session, url: str) -> str:
    """Use the service at `url` from now on (contract.md §8). Sends nothing. Raises `AskError` for no address."""
    session.connect(url)
    return status(session)


def status(session: Session) -> str:
    """Which service, key, chat and journal are in use, in words; sends nothing and names no secret."""
    key = "SERVICE_API_KEY is set" if session.environ.get("SERVICE_API_KEY") else "no SERVICE_API_KEY"
    service = "the embedded service of this machine" if session.base_url == EMBEDDED else session.base_url
    chat = session.known_chat(session.address()) or "none yet; the first ask begins one"
    journal = session.journal.warning or f"{len(session.journal.runs(_name(session)))} runs of this notebook"
    lines = [f"service  {service} ({key})", f"chat     {chat}", f"journal  {journal}", *session.take_notes()]
    return "\n".join(lines)


def attach(session: Session, run_id: str, screen: Screen, *, timeout: float | None = None) -> Answer:
    """Follow a run that was started before, from its beginning. Returns and raises as `asking.Turn.watch`."""
    client, run_id = session.client(), _run(run_id)
    return Turn(session, client, screen, timeout).watch(lambda: client.runs.attach(run_id))


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
    return frames.frame(wanted, frames.RUNS, notebook=session.notebook)


def _stale(session: Session, base_url: str, status: str, run_id: str | None) -> bool:
    return run_id is not None and status not in TERMINAL and base_url == session.base_url


def _refresh(session: Session, client: AgentService, run_id: str) -> None:
    try:
        session.journal.seen(client.runs.get(run_id))
    except StefanBrainError as error:
        if error.status != 404:  # of another account: its last known state stays
            raise told(error, session.base_url) from None


def files(session: Session) -> pd.DataFrame:
    """The files of this notebook's chat, a row each, and those that go along with the next ask."""
    chat = session.known_chat(session.address())
    rows = [
        {"path": f"uploads/{file.file_name}", "id": file.sha256, "kind": "upload"}
        | file.model_dump(include={"file_name", "media_type", "size_bytes"})
        for file in session.staged.values()
    ]
    if chat:
        try:
            listed = [file.model_dump(exclude={"object", "download_url"}) for file in session.client().files.list(chat)]
        except StefanBrainError as error:
            raise told(error, session.base_url) from None
        rows = [*listed, *rows]
    return frames.frame(rows, frames.FILES, chat=chat)


def files_put(session: Session, patterns: Iterable[str | Path]) -> Put:
    """Upload files (paths or globs) into this notebook's chat; one whose name and content are there is not sent again.

    Before the chat's first ask they are staged and go along with it. Raises `AskError`.
    """
    wanted = attachments(patterns)
    if not wanted:
        raise AskError("Name the files to put.", "For example: %files put data/*.csv")
    client = session.client()
    chat = session.known_chat(session.address())
    try:
        there = listed_uploads(client, chat) if chat else set()
        there |= {(file.file_name, file.sha256) for file in session.staged.values()}
        fresh = [file for file in wanted if (file.path.name, file.sha256) not in there]
        _send(session, client, chat, fresh)
    except StefanBrainError as error:
        raise told(error, session.base_url) from None
    same = [file.path.name for file in wanted if file not in fresh]
    return Put(tuple(file.path.name for file in fresh), tuple(same), staged=chat is None)


def _send(session: Session, client: AgentService, chat: str | None, wanted: Sequence[Attachment]) -> None:
    names = {*session.staged, *(file.path.name for file in wanted)}
    if chat is None and len(names) > limits.ATTACHMENTS_MAX:
        raise AskError("More than 10 files can't go along with one ask; nothing was sent.", "Ask once, then put more.")
    for start in range(0, len(wanted), limits.ATTACHMENTS_MAX):
        batch = [file.path for file in wanted[start : start + limits.ATTACHMENTS_MAX]]
        staged = client.files.upload(*batch, chat=chat)
        if chat is None:
            session.staged.update({file.file_name: file for file in staged})


def files_get(session: Session, path: str, directory: str | Path = ".") -> Path:
    """Download a file of this notebook's chat into a folder, which is made when missing; where it was put.

    It takes the file's own name and replaces a file of that name. Raises `AskError`.
    """
    chat = session.known_chat(session.address())
    if not chat:
        raise AskError("This notebook has no chat yet, so no files.", "Ask something first.")
    folder = Path(directory).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        put = session.client().files.download(path, chat=chat, to=folder)
    except StefanBrainError as error:
        raise told(error, session.base_url) from None
    except OSError as error:
        raise AskError(
            f"{path} can't be written to {folder}: {error.strerror}.", "Name another folder: -d DIR"
        ) from None
    assert isinstance(put, Path)
    return put


def _run(run_id: str) -> str:
    if not ids.is_run(run_id):
        raise AskError(f"{run_id!r} is no run id; nothing was sent.", "`%runs` lists this notebook's runs.")
    return run_id


def _name(session: Session) -> str:
    return session.notebook or session.label
