"""The session of a notebook: its connection, chat, journal, and names for completion. It works without IPython."""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from agentsvc_nb.client.approvals import PendingApproval
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.errors import AskError, to_ask_error
from agentsvc_nb.notebook.state.journal import ExecutionHistory, Journal, Upload, default_path, now
from agentsvc_nb.notebook.state.keys import ServiceKeys
from agentsvc_nb.wire.files import StagedFile
from agentsvc_nb.wire.tools import Job, JobAccepted

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService
    from agentsvc_nb.client.cards import Bundle
    from agentsvc_nb.notebook.files.attachments import AttachedFile
    from agentsvc_nb.notebook.kernel.calls import KernelCall


@dataclass
class KnownNames:
    """Names that tab completion offers, as of the last list of each kind. Connecting to another service clears them."""

    files: list[str] = field(default_factory=list)
    tools: dict[str, bool] = field(default_factory=dict)
    """By tool name, whether the tool runs as a job."""
    projects: dict[str, str] = field(default_factory=dict)
    """The ids of projects, by name."""
    models: list[str] = field(default_factory=list)
    """The ids of models, the default first."""
    switchable_models: list[str] = field(default_factory=list)
    """The names of models to which the embedded service could switch."""
    waiting_calls: dict[str, dict[str, PendingApproval]] = field(default_factory=dict)
    """The tool calls that wait for approval, by run id and call id. Runs that this kernel follows update them
    (`RunView.waiting_calls`).
    """
    listed_calls: list[str] = field(default_factory=list)
    """The ids of the waiting calls in the last list of `%approve`."""

    kernel_calls: dict[str, list[KernelCall]] = field(default_factory=dict)
    """The agent's calls for this kernel, by run id. Runs that this kernel follows add their calls."""
    answers: dict[str, tuple[Bundle, dict[str, Any]]] = field(default_factory=dict)
    """By run id, the output and its metadata of each answer whose run wrote files. When the run is undone, the output
    is updated.
    """
    row_runs: dict[str, None] = field(default_factory=dict)
    """The ids of runs of `%%ask --each` that were active when last seen, as an ordered set."""

    def add_files(self, paths: Iterable[str]) -> None:
        """Add the paths of files that a run or job has written to the names for completion."""
        self.files = list(dict.fromkeys([*paths, *self.files]))


@contextmanager
def convert_errors(session: Session) -> Iterator[None]:
    """Convert errors of the client to `AskError`, whose message and hint are shown in the cell."""
    try:
        yield
    except StefanBrainError as error:
        raise to_ask_error(error, session.base_url) from None


EMBEDDED = "embedded"
"""Used in place of the address of the embedded service, whose port may change at each start."""


@dataclass(frozen=True, slots=True)
class ChatAddress:
    """Says where a question is asked: in the chat with the id `chat`, or in the chat of the label `session`.

    If both are None, the question begins a new chat.

    The service creates the chat of a session label when the label is first used. A label has a separate chat in each
    project.
    """

    chat: str | None = None
    session: str | None = None
    project: str | None = None

    def __str__(self) -> str:
        place = self.chat or (f"session {self.session}" if self.session else "new chat")
        return f"{place} in {self.project}" if self.project else place


class CallTarget(TypedDict):
    """The arguments of `tools.invoke` and `jobs.submit` that say in which chat a tool is called."""

    chat: str | None
    session: str | None
    project: str | None


class EarlierQuestion(Protocol):
    """A question of this kernel. The next question in the same chat starts after this question has ended."""

    @property
    def run_id(self) -> str: ...
    def done(self) -> bool: ...


class Session:
    """The connection and the state of one notebook.

    Args:
        notebook: the notebook's path. None outside a notebook, where stored answers are never shown.
        environ: the environment variables, of which SERVICE_API_KEY and AGENTSVC_BASE_URL are read.
        journal: the journal of runs and jobs; by default the journal in the user's file.

    Example:
        session = Session("/home/ada/plan.ipynb")
        session.client().tools.list()
    """

    def __init__(
        self,
        notebook: str | None = None,
        *,
        environ: Mapping[str, str] = os.environ,
        journal: Journal | None = None,
    ) -> None:
        self.notebook = notebook
        self.environ = environ
        self.keys = ServiceKeys(environ)
        self.journal = journal if journal is not None else Journal(default_path())
        self.label = f"nb-{hashlib.sha256(notebook.encode()).hexdigest()[:16] if notebook else secrets.token_hex(8)}"
        self.project: str | None = None
        self.execution_history = ExecutionHistory()
        self.closing: Callable[[], bool] = lambda: False
        """Returns whether the kernel is being restarted or closed."""
        self.staged: dict[str, StagedFile] = {}
        """Uploads made before there was a chat, by file name. The next question attaches them."""
        self.put: dict[tuple[ChatAddress, str], str] = {}
        """SHA-256s of the files that cells have put into the chat or found there, by address and file name."""
        self._replaced: dict[tuple[str, str], AttachedFile] = {}
        """Files of repeated turns that the chat no longer has, by chat and file name."""
        self.known = KnownNames()
        self.last_in_background: dict[str, EarlierQuestion] = {}
        """The last background question of this kernel, by its address."""
        self.unwatched_jobs: set[str] = set()
        """Ids of jobs that were started in the background and that `%jobs watch` has not watched since."""
        self.turn_listeners: set[Callable[[], object]] = set()
        """Listeners, called in any thread when a run of this kernel has begun, so that open chats show the run."""
        self._notes: list[str] = []
        self._url: str | None = None
        self._chat: str | None = None
        self._chats: dict[ChatAddress, str] = {}
        self._client: tuple[str, str, AgentService] | None = None
        self._entering = threading.Lock()
        self._others: dict[tuple[str | None, str], Session] = {}
        """Sessions made by `for_chat`, by their service's address and chat."""
        self._warned = False

    # -- the connection ------------------------------------------------------------------------------------------

    def connect(self, url: str) -> None:
        """Use the service at `url`, a valid address or `EMBEDDED`. Forget the chat and project. No request is sent."""
        self._url = url
        # Chats, uploads and turns belong to the previous service, and another service does not know their ids.
        self._chat = None
        self._chats = {}
        self.staged = {}
        self.put = {}
        self._replaced = {}
        self.execution_history = ExecutionHistory()
        self.last_in_background = {}
        self.project = None
        self.known = KnownNames()
        if url != EMBEDDED and not self.keys.find(url):
            self.note("SERVICE_API_KEY is not set. Set it before the first request.")

    @property
    def name(self) -> str:
        """The name of this notebook in the journal: its path, or outside a notebook, the label of this session."""
        return self.notebook or self.label

    @property
    def base_url(self) -> str:
        """The address of the service in use, or `embedded`."""
        return self._url or self.environ.get("AGENTSVC_BASE_URL", "").rstrip("/") or EMBEDDED

    @property
    def in_use(self) -> bool:
        """Whether this notebook has already created a client for its service."""
        return self._client is not None

    def client(self) -> AgentService:
        """Return a client for the service in use. If that is the embedded service, find it or start it.

        Raises:
            AskError: a key is set but no address, an address is set but no key, or the embedded service does not start.
                Nothing was sent.
        """
        url, key = self._connection()
        from agentsvc_nb.client.api import AgentService

        with self._entering:  # background runs and jobs call this in other threads
            if self._client is None or self._client[:2] != (url, key):
                self._close_client()
                revive = self._restart_embedded if self.base_url == EMBEDDED else None
                made = AgentService(key, url, revive=revive)
                # close the client when this session is deleted or the program ends, even if nobody calls `close`
                weakref.finalize(self, made.close)
                self._client = (url, key, made)
            return self._client[2]

    def address_error(self) -> AskError | None:
        """Return the error that `client` would raise if a key is set without its service's address, or None."""
        if self.base_url != EMBEDDED or self._url == EMBEDDED or not self.keys.given:
            return None
        return AskError(
            "SERVICE_API_KEY is set, but the address of its service is not; nothing was sent.",
            "Set the address with AGENTSVC_BASE_URL or `%agentsvc connect URL`. For the embedded service use"
            " `%agentsvc connect local`, or unset SERVICE_API_KEY.",
        )

    def _connection(self) -> tuple[str, str]:
        url = self.base_url
        if undecided := self.address_error():
            raise undecided
        if url == EMBEDDED:
            return self._find_embedded()
        if (found := self.keys.find(url)) is None:
            raise AskError(
                f"There is no key for {url}; nothing was sent.",
                f"Set SERVICE_API_KEY, type the key after `%agentsvc connect {url}`, or use the embedded"
                " service with `%agentsvc connect local`.",
            )
        return url, found[0]

    def _restart_embedded(self) -> tuple[str, str]:
        found = self._find_embedded(revived=True)
        if self._client is not None:  # change the address of the existing client, so that its streams continue
            self._client = (*found, self._client[2])
        return found

    def _find_embedded(self, revived: bool = False) -> tuple[str, str]:
        # The embedded service stops when it is idle, and another kernel may have started it again on another port.
        from agentsvc_nb.embedded import EmbeddedError, find_or_start, revive
        from agentsvc_nb.settings import SettingsError

        try:
            found = revive() if revived else find_or_start()
        except (EmbeddedError, SettingsError) as error:
            raise AskError(str(error), "See serve.log in the data folder that `%agentsvc` shows.") from None
        if notice := found.take_notice():
            self.note(notice)
        return found.base_url, found.api_key

    def close(self) -> None:
        """Close the connection of this session and of the sessions that `for_chat` has created."""
        for session in (self, *self._others.values()):
            session._close_client()

    def _close_client(self) -> None:
        if self._client is not None:
            self._client[2].close()
            self._client = None

    # -- the chat ------------------------------------------------------------------------------------------------

    def address(self, chat: str | None = None, new_chat: bool = False, *, project: str | None = None) -> ChatAddress:
        """Return the address of the next question. Without arguments, this is the notebook's own chat."""
        if chat:
            return ChatAddress(chat=chat, project=project)
        if self._chat and not project and not new_chat:
            return ChatAddress(chat=self._chat)
        return ChatAddress(session=None if new_chat else self.label, project=project or self.project)

    def known_chat(self, address: ChatAddress) -> str | None:
        """Return the id of the chat at an address, or None if no run, job or journal entry names it."""
        known = address.chat or self._chats.get(address)
        if known or not address.session or not self.notebook:
            return known
        return self.journal.find_chat(self.notebook, self.base_url, str(address))

    def call_target(self, address: ChatAddress) -> CallTarget:
        """Return the arguments that select a tool call's chat: the chat's id, or the session label and project."""
        known = self.known_chat(address)
        return {"chat": known, "session": None if known else address.session, "project": address.project}

    def remember_chat(self, address: ChatAddress, chat: str | None) -> None:
        """Remember the id of the chat at an address, and notify the listeners that a run or job has begun."""
        if chat and address.session:
            self._chats[address] = chat
        for listener in [*self.turn_listeners]:
            listener()

    def switch_chat(self, chat: str) -> None:
        """Make this chat the notebook's chat until the kernel ends."""
        self._chat = chat

    def for_chat(self, chat: str) -> Session:
        """Return a session for another chat of the same service, with a separate connection.

        Further calls with the same chat return the same session.
        """
        other = self._others.get((self._url, chat))
        if other is None:
            other = self._others[self._url, chat] = Session(self.notebook, environ=self.environ, journal=self.journal)
            other.keys = self.keys
            other._url = self._url
            other._chat = chat
        return other

    def switch_project(self, project: str | None) -> None:
        """From now on, ask in the chat that the notebook has in this project. If `project` is None, use no project."""
        self._chat = None
        self.project = project

    # -- files of the chat ---------------------------------------------------------------------------------------

    @property
    def staged_uploads(self) -> set[Upload]:
        """The name and SHA-256 of each upload that the next question will attach."""
        return {(file.file_name, file.sha256) for file in self.staged.values()}

    def record_put(self, uploads: Mapping[str, str]) -> None:
        """Record a cell's uploads to the chat (SHA-256 by name). Stored answers of later cells depend on them."""
        address = self.address()
        self.put.update({(address, name): sha256 for name, sha256 in uploads.items()})
        self.journal.record_put(self.name, self.base_url, uploads.values())

    def uploads_before(self, address: ChatAddress) -> set[Upload]:
        """Return the files that cells of this kernel have so far uploaded to the chat at an address."""
        chat = self.known_chat(address)
        return {
            (name, sha256)
            for (where, name), sha256 in self.put.items()
            if where == address or (chat is not None and self.known_chat(where) == chat)
        }

    def note_replaced(self, chat: str, files: Iterable[AttachedFile], current: set[str]) -> None:
        """Note which of these files the chat no longer has, so that the next question attaches them again.

        The answer of the next question may depend on them.

        Args:
            files: the files that were attached to the question of a stored answer.
            current: the SHA-256s of the files that the chat has now.
        """
        for file in files:
            if file.sha256 in current:
                self._replaced.pop((chat, file.path.name), None)
            else:
                self._replaced[chat, file.path.name] = file

    def take_replaced(self, chat: str, names: Collection[str]) -> list[AttachedFile]:
        """Return the files that `note_replaced` noted for a chat, except files with these names. Forget all of them."""
        found = {name: self._replaced.pop((where, name)) for where, name in [*self._replaced] if where == chat}
        return [file for name, file in found.items() if name not in names]

    # -- notes for the next output -------------------------------------------------------------------------------

    def note(self, line: str) -> None:
        """Add a line to the next output of this notebook."""
        self._notes.append(line)

    def take_notes(self) -> tuple[str, ...]:
        """Return the lines that were added since the last call. The caller shows them in an output."""
        if self.journal.warning and not self._warned:
            self._warned = True
            self.note(self.journal.warning)
        notes, self._notes = tuple(self._notes), []
        return notes


def record_job(session: Session, accepted: JobAccepted) -> None:
    """Record in the journal a job that the service has accepted."""
    session.journal.execute(
        "INSERT INTO jobs (job_id, created_at, notebook, base_url, tool, chat, status) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (job_id) DO NOTHING",
        [
            *(accepted.job_id, now(), session.name, session.base_url),
            *(accepted.tool or accepted.family, accepted.chat, str(accepted.status)),
        ],
    )


def record_job_state(session: Session, job: Job) -> None:
    """Record in the journal the state of a job that was just read from the service."""
    session.journal.execute(
        "UPDATE jobs SET status = ?, started_at = ?, ended_at = ? WHERE job_id = ?",
        [str(job.status), job.started_at, job.ended_at, job.job_id],
    )


def recorded_jobs(session: Session) -> list[dict[str, Any]]:
    """Return this notebook's jobs from the journal, oldest first."""
    rows = session.journal.execute("SELECT * FROM jobs WHERE notebook = ? ORDER BY rowid", [session.name])
    return [dict(row) for row in rows]
