"""What the cells of a notebook share: connection, chat, journal, names for Tab. Knows nothing of IPython."""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from agentsvc_nb.client.approvals import WaitingCall
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.errors import AskError, to_ask_error
from agentsvc_nb.notebook.state.execution_history import ExecutionHistory
from agentsvc_nb.notebook.state.journal import Journal, default_path, now
from agentsvc_nb.notebook.state.keys import Keys
from agentsvc_nb.wire.files import StagedFile
from agentsvc_nb.wire.tools import Job, JobAccepted

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService


@dataclass
class KnownNames:
    """Names by kind, as the last listing of each gave them; connecting elsewhere forgets them."""

    files: list[str] = field(default_factory=list)
    tools: dict[str, bool] = field(default_factory=dict)
    """By name, whether it is asynchronous: a tool for jobs."""
    projects: dict[str, str] = field(default_factory=dict)
    """Ids by name."""
    feedback: list[str] = field(default_factory=list)
    asked: dict[str, dict[str, WaitingCall]] = field(default_factory=dict)
    """By run that is or was watched, its calls that wait for approval, as they come and go."""
    calls: list[str] = field(default_factory=list)
    """Those that `%approve` has listed."""

    rows: dict[str, None] = field(default_factory=dict)
    """Runs of rows of `%%ask --each` that were last seen going on."""

    def wrote(self, paths: Iterable[str]) -> None:
        """A run or job wrote these files."""
        self.files = list(dict.fromkeys([*paths, *self.files]))


@contextmanager
def errors_as_cells(session: Session) -> Iterator[None]:
    """What the client raises within is raised as an `AskError`: what, why, what to do."""
    try:
        yield
    except StefanBrainError as error:
        raise to_ask_error(error, session.base_url) from None


EMBEDDED = "embedded"
"""Stands for the address of the embedded service, whose port may change from one start to the next."""


@dataclass(frozen=True, slots=True)
class ChatAddress:
    """Where a turn goes: into a chat, into the chat of a session label, or into a new chat (both None).

    A label has a chat of its own in each project; a chat that is named has its project already.
    """

    chat: str | None = None
    session: str | None = None
    project: str | None = None

    def __str__(self) -> str:
        place = self.chat or (f"session {self.session}" if self.session else "new chat")
        return f"{place} in {self.project}" if self.project else place


class CallTarget(TypedDict):
    """Where the service puts the work of a call, as `tools.invoke` and `jobs.submit` take it."""

    chat: str | None
    session: str | None
    project: str | None


class EarlierQuestion(Protocol):
    """A question of this kernel that stands before another in the line of a chat."""

    @property
    def run_id(self) -> str: ...
    def done(self) -> bool: ...


class Session:
    """One notebook's connection and state.

    Args:
        notebook: the notebook's path; None outside a notebook, where no run is ever shown again.
        environ: where SERVICE_API_KEY and AGENTSVC_BASE_URL are read.
        journal: the journal of runs; the user's own by default.

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
        self.notebook, self.environ, self.keys = notebook, environ, Keys(environ)
        self.journal = journal if journal is not None else Journal(default_path())
        self.label = f"nb-{hashlib.sha256(notebook.encode()).hexdigest()[:16] if notebook else secrets.token_hex(8)}"
        self.project: str | None = None
        self.execution_history = ExecutionHistory()
        self.closing: Callable[[], bool] = lambda: False
        """Whether the kernel is being restarted or closed."""
        self.staged: dict[str, StagedFile] = {}
        """Put before there was a chat; they go along with the next ask."""
        self.put: dict[str, str] = {}
        """Names and SHA-256s of what this kernel has put, sent or there already."""
        self.known = KnownNames()
        self.last_in_background: dict[str, EarlierQuestion] = {}
        """By address, the last question of this kernel that runs in the background, or waits for its turn."""
        self.apart: set[str] = set()
        """Jobs that went to the background, and that no cell has watched since."""
        self._notes: list[str] = []
        self._url: str | None = None
        self._chat: str | None = None
        self.workstream: str | None = None
        """The label of a chat beside the notebook's own."""
        self._chats: dict[ChatAddress, str] = {}
        self._client: tuple[str, str, AgentService] | None = None
        self._entering = threading.Lock()
        self._others: dict[tuple[str | None, str], Session] = {}
        """Those beside this one, by their address and chat."""
        self._warned = self._embedded_told = False

    # -- the connection ------------------------------------------------------------------------------------------

    def connect(self, url: str) -> None:
        """Use the service at `url` (as `service_address` gives it, or `EMBEDDED`) from now on. Sends nothing."""
        self._url = url
        self._chat, self._chats, self.staged, self.put, self.execution_history, self.last_in_background = (
            None,
            {},
            {},
            {},
            ExecutionHistory(),
            {},
        )
        self.project = self.workstream = None
        self.known = KnownNames()
        if url != EMBEDDED and not self.keys.of(url):
            self.note("SERVICE_API_KEY is not set; set it before the first request.")

    @property
    def base_url(self) -> str:
        """The configured address, or `embedded`."""
        return self._url or self.environ.get("AGENTSVC_BASE_URL", "").rstrip("/") or EMBEDDED

    def client(self) -> AgentService:
        """The client, ready: finds or starts the embedded service when no other is named.

        Raises:
            AskError: a key without an address, or an address without a key; nothing has been sent.
        """
        url, key = self._connection()
        from agentsvc_nb.client.api import AgentService

        with self._entering:  # what goes on in the background asks, too
            if self._client is None or self._client[:2] != (url, key):
                self._leave()
                revive = self._revived if self.base_url == EMBEDDED else None
                self._client = (url, key, AgentService(key, url, revive=revive))
            return self._client[2]

    def undecided(self) -> AskError | None:
        """What asking would say when there is a key and it is not known for which service."""
        if self.base_url != EMBEDDED or self._url == EMBEDDED or not self.keys.given:
            return None
        return AskError(
            "SERVICE_API_KEY is set, but no service is named; nothing was sent.",
            "Name it with AGENTSVC_BASE_URL or `%agentsvc connect URL`; for the embedded service say"
            " `%agentsvc connect local`, or unset SERVICE_API_KEY.",
        )

    def _connection(self) -> tuple[str, str]:
        url = self.base_url
        if undecided := self.undecided():
            raise undecided
        if url == EMBEDDED:
            return self._embedded()
        if (found := self.keys.of(url)) is None:
            raise AskError(
                f"There is no key for {url}; nothing was sent.",
                f"Set SERVICE_API_KEY, type it after `%agentsvc connect {url}`, or `%agentsvc local`.",
            )
        return url, found[0]

    def _revived(self) -> tuple[str, str]:
        found = self._embedded(revived=True)
        if self._client is not None:  # it goes on with these, and what streams on it goes on
            self._client = (*found, self._client[2])
        return found

    def _embedded(self, revived: bool = False) -> tuple[str, str]:
        # Asked for each time: it stops when idle, and another kernel may have restarted it on another port.
        from agentsvc_nb.embedded import EmbeddedError, find_or_start, revive
        from agentsvc_nb.settings import SettingsError

        try:
            found = revive() if revived else find_or_start()
        except (EmbeddedError, SettingsError) as error:
            raise AskError(str(error), "Its data folder, which `agentsvc status` names, holds serve.log.") from None
        if notice := found.news():
            self.note(notice)
        if not self._embedded_told:
            self._embedded_told = True
            why = "`%agentsvc connect local`" if self.keys.given else "SERVICE_API_KEY is not set"
            self.note(f"Using the embedded service at {found.base_url} ({why}).")
        return found.base_url, found.api_key

    def close(self) -> None:
        """Close its connection, and those of the sessions beside it."""
        for session in (self, *self._others.values()):
            session._leave()

    def _leave(self) -> None:
        if self._client is not None:
            self._client[2].close()
            self._client = None

    # -- the chat ------------------------------------------------------------------------------------------------

    def address(
        self,
        chat: str | None = None,
        new_chat: bool = False,
        *,
        session: str | None = None,
        project: str | None = None,
    ) -> ChatAddress:
        """Where the next turn goes: by default into this notebook's own chat."""
        if chat:
            return ChatAddress(chat=chat, project=project)
        where = project or self.project
        if new_chat or session:
            return ChatAddress(session=session, project=where)
        if self._chat and not project:
            return ChatAddress(chat=self._chat)
        return ChatAddress(session=self.workstream or self.label, project=where)

    def known_chat(self, address: ChatAddress) -> str | None:
        """The id of the chat at an address, where a run or job has told it, in this kernel or an earlier one."""
        known = address.chat or self._chats.get(address)
        if known or not address.session or not self.notebook:
            return known
        return self.journal.chat_of(self.notebook, self.base_url, str(address))

    def target(self, address: ChatAddress) -> CallTarget:
        """What a call of a tool names: the chat when it is known, else what leads to it."""
        known = self.known_chat(address)
        return {"chat": known, "session": None if known else address.session, "project": address.project}

    def learn(self, address: ChatAddress, chat: str | None) -> None:
        """The service told which chat is at an address."""
        if chat and address.session:
            self._chats[address] = chat

    def move(self, chat: str) -> None:
        """Make another chat this notebook's, until the kernel ends."""
        self._chat = chat

    def beside(self, chat: str) -> Session:
        """The session at the same address whose chat is another. This one's connection and chat stay its own."""
        other = self._others.get((self._url, chat))
        if other is None:
            other = self._others[self._url, chat] = Session(self.notebook, environ=self.environ, journal=self.journal)
            other.keys, other._url, other._chat = self.keys, self._url, chat
        return other

    def turn_to(self, *, label: str | None, project: str | None) -> None:
        """From now on ask in the chat of this label (None: the notebook's own) in this project (None: in none)."""
        self._chat, self.workstream, self.project = None, label, project

    # -- what to tell --------------------------------------------------------------------------------------------

    def note(self, line: str) -> None:
        """One line for the next output."""
        self._notes.append(line)

    def take_notes(self) -> tuple[str, ...]:
        """The lines that have not been shown yet."""
        if self.journal.warning and not self._warned:
            self._warned = True
            self.note(self.journal.warning)
        notes, self._notes = tuple(self._notes), []
        return notes


def remember_job(session: Session, accepted: JobAccepted) -> None:
    """A job was accepted."""
    session.journal.do(
        "INSERT INTO jobs (job_id, created_at, notebook, base_url, tool, chat, status) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (job_id) DO NOTHING",
        [
            *(accepted.job_id, now(), session.notebook or session.label, session.base_url),
            *(accepted.tool or accepted.family, accepted.chat, str(accepted.status)),
        ],
    )


def seen_job(session: Session, job: Job) -> None:
    """The job's state, as last read."""
    session.journal.do(
        "UPDATE jobs SET status = ?, started_at = ?, ended_at = ? WHERE job_id = ?",
        [str(job.status), job.started_at, job.ended_at, job.job_id],
    )


def remembered_jobs(session: Session) -> list[dict[str, Any]]:
    """This notebook's jobs, oldest first."""
    rows = session.journal.do(
        "SELECT * FROM jobs WHERE notebook = ? ORDER BY created_at, rowid", [session.notebook or session.label]
    )
    return [dict(row) for row in rows]
