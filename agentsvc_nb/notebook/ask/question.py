"""What one cell asks, checked before anything is sent; and whether an earlier answer is shown again."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.files.attachments import AttachedFile, listed_uploads
from agentsvc_nb.notebook.runs.answer import AnswerShape
from agentsvc_nb.notebook.state.execution_history import Place
from agentsvc_nb.notebook.state.journal import JournalEntry, Upload, now
from agentsvc_nb.notebook.state.session import ChatAddress, Session
from agentsvc_nb.wire import ids, limits
from agentsvc_nb.wire.files import StagedFile
from agentsvc_nb.wire.text import label

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService


PROMPT_CHARS = 80


@dataclass(frozen=True)
class Question:
    """A message and how to ask it.

    `typed` is the cell as it was typed, before its `{{names}}` were filled in; `timeout` is in seconds; `session` is a
    label with a chat of its own; `wait` waits for a busy chat; `notes` are lines that stand with the answer; `variant`
    counts those of one question from 1.
    """

    message: str
    typed: str = ""
    place: Place = field(default_factory=lambda: Place("", 0))
    files: tuple[AttachedFile, ...] = ()
    chat: str | None = None
    session: str | None = None
    project: str | None = None
    new_chat: bool = False
    wait: bool = False
    fresh: bool = False
    raise_error: bool = True
    timeout: float | None = None
    shape: AnswerShape | None = None
    notes: tuple[str, ...] = ()
    variant: int = 0

    def __post_init__(self) -> None:
        if not self.message.strip():
            raise AskError("The message is empty; nothing was sent.", "Write it below the %%ask line.")
        if len(self.files) > limits.ATTACHMENTS_MAX:
            raise AskError(f"{len(self.files)} files are too many; nothing was sent.", "Attach at most 10.")
        places = {"--chat": self.chat, "--session": self.session, "--new-chat": self.new_chat}
        if len(given := [name for name, value in places.items() if value]) > 1:
            raise AskError(f"{' and '.join(given)} exclude each other; nothing was sent.", "Give one of them.")
        for kind, value, fits in (("chat", self.chat, ids.is_chat), ("project", self.project, ids.is_project)):
            if value and not fits(value):
                raise AskError(
                    f"{label(value, 80)!r} is no {kind} id; nothing was sent.", f"Use a `{kind[:4]}_...` id or a UUID."
                )

    @property
    def output_config(self) -> dict[str, Any] | None:
        """The JSON Schema that is sent."""
        return self.shape.schema if self.shape else None

    def request(self, address: ChatAddress, staged: Iterable[StagedFile]) -> dict[str, Any]:
        """The arguments of `runs.start` at this address, with the uploads that were staged for it."""
        return {
            "message": self.message,
            "chat": address.chat,
            "session": address.session,
            "project": address.project,
            "files": [file.sent for file in self.files],
            # A staged file that is attached to the cell, too, would be there twice.
            "file_ids": [file.id for file in staged if (file.file_name, file.sha256) not in self.uploads],
            "output_config": self.output_config,
        }

    @property
    def own_chat(self) -> bool:
        """Whether it goes into the notebook's chat, or one that becomes it."""
        return self.chat is None and self.session is None

    @property
    def uploads(self) -> frozenset[Upload]:
        return frozenset((file.path.name, file.sha256) for file in self.files)

    @property
    def title(self) -> str:
        """The first words, for `%runs`."""
        return label(self.typed or "", PROMPT_CHARS)


@dataclass(frozen=True, slots=True)
class AskPlan:
    """How a question is put: with this key, or by showing again the run (`shown`) that was started with it.

    `uploads` are there already.
    """

    address: ChatAddress
    fingerprint: str
    key: str
    uploads: frozenset[Upload] = frozenset()
    shown: str | None = None


def plan(session: Session, client: AgentService, question: Question, reuse: bool = True) -> AskPlan:
    """Decide whether to ask or to show again. Reads the chat's uploads and the known run, starts nothing."""
    address = session.address(question.chat, question.new_chat, session=question.session, project=question.project)
    if not session.notebook:
        return AskPlan(address, "", secrets.token_urlsafe(24))
    print_, uploads = fingerprint(session, question, address), _uploads(session, client, question, address)
    known = [] if question.fresh else _fitting(session, question, address, print_, uploads)
    shown = _showable(session, client, known) if reuse and session.execution_history.first(print_) else None
    if shown is not None:
        return AskPlan(address, print_, shown.idempotency_key, uploads, shown.run_id)
    return AskPlan(address, print_, _unanswered(known) or secrets.token_urlsafe(24), uploads)


def fingerprint(session: Session, question: Question, address: ChatAddress) -> str:
    """A digest of all that the answer depends on, but the chat's uploads (`_fitting`).

    The account is not part of it: nothing derived from the key is stored. The service answers for a run of another
    account as for one that does not exist, and then the question is asked.
    """
    whole = [
        4,  # the version of this list
        session.notebook,
        session.base_url,
        str(address),
        question.message,
        question.output_config,
        question.variant,
        sorted(question.uploads),
        session.execution_history.before(question.place, None if question.new_chat else str(address)),
    ]
    return hashlib.sha256(json.dumps(whole, sort_keys=True, default=str).encode()).hexdigest()


def _uploads(session: Session, client: AgentService, question: Question, address: ChatAddress) -> frozenset[Upload]:
    """The chat's uploads and those that will come along, less what the cell itself brings: that is asked with it."""
    staged = {(file.file_name, file.sha256) for file in session.staged.values()} if question.own_chat else set()
    chat = session.known_chat(address)
    return frozenset(staged | (listed_uploads(client, chat) if chat else set())) - question.uploads


def _fitting(
    session: Session, question: Question, address: ChatAddress, print_: str, uploads: frozenset[Upload]
) -> list[JournalEntry]:
    """KnownNames starts of the question that had these uploads before them, newest first.

    All that was there must still be there. What else is there must have been attached by a run that the journal knows:
    it came later then, and its own cell tells it. Unless this kernel has put it: then it is there before this cell.
    """
    chat = session.known_chat(address)
    # By content: the service gives an attachment another name where another file has its own.
    attached = session.journal.attachments(session.base_url, chat) if chat else set()
    attached |= {file.sha256 for file in question.files}
    later = {pair for pair in uploads if pair[1] in attached} - set(session.put.items())
    known = session.journal.known(print_)
    return [entry for entry in known if entry.uploads <= uploads <= entry.uploads | later]


def _showable(session: Session, client: AgentService, known: list[JournalEntry]) -> JournalEntry | None:
    for entry in known:
        if entry.run_id is None:
            continue
        try:
            run = client.runs.get(entry.run_id)
        except StefanBrainError as error:
            if error.status == 404:
                continue
            raise
        session.journal.seen(run)
        if run.status not in ("failed", "cancelled", "cancelling"):
            return entry
    return None


def _unanswered(known: list[JournalEntry]) -> str | None:
    """The key of a start that got no answer; keys count within one UTC day (docs/api/runs.md "Idempotency keys")."""
    today = now()[:10]
    return next(
        (entry.idempotency_key for entry in known if entry.run_id is None and entry.created_at[:10] == today), None
    )
