"""The question of one cell, validated before anything is sent, and the decision to ask or to show an earlier run."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.key_forms import A_NAME_IS_WANTED, LOOKS_LIKE_KEY, looks_like_key
from agentsvc_nb.notebook.ask.answer import AnswerShape
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.files.attachments import AttachedFile, listed_uploads
from agentsvc_nb.notebook.state.journal import JournalEntry, Place, Upload, now
from agentsvc_nb.notebook.state.session import ChatAddress, Session
from agentsvc_nb.wire import ids, limits
from agentsvc_nb.wire.files import StagedFile
from agentsvc_nb.wire.runs import Effort
from agentsvc_nb.wire.text import label

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService
    from agentsvc_nb.notebook.kernel.desk import KernelOffer


PROMPT_CHARS = 80
"""The length of a question's title."""


@dataclass(frozen=True)
class Question:
    """A message and the options of asking it. Raises `AskError` for invalid or conflicting options.

    Attributes:
        typed: the cell as typed, before its `{{names}}` were replaced by their values.
        session: a label that has a chat of its own.
        wait: wait while the chat is busy, instead of failing.
        fresh: ask anew, even if an earlier run could be shown again.
        timeout: in seconds.
        shape: the shape of the answer's data (`--schema`).
        model: one of `GET /models`; None for the default.
        effort: how much thought it is to be given.
        notes: lines for the output, above the answer.
        kernel: what the agent may do in the user's kernel; None for nothing.
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
    model: str | None = None
    effort: Effort | None = None
    kernel: KernelOffer | None = None

    def __post_init__(self) -> None:
        if not self.message.strip():
            raise AskError("The message is empty; nothing was sent.", "Write it below the %%ask line.")
        if len(self.files) > limits.ATTACHMENTS_MAX:
            raise AskError(f"{len(self.files)} files are too many; nothing was sent.", "Attach at most 10.")
        if self.model and looks_like_key(self.model):
            raise AskError(f"{LOOKS_LIKE_KEY} Nothing was sent.", A_NAME_IS_WANTED)
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
        """The JSON Schema to send, if there is one."""
        return self.shape.schema if self.shape else None

    def request(self, address: ChatAddress, staged: Iterable[StagedFile]) -> dict[str, Any]:
        """Return the arguments of `runs.start_and_stream` for this address, with the uploads staged for it."""
        return {
            "message": self.message,
            "chat": address.chat,
            "session": address.session,
            "project": address.project,
            "files": [file.sent for file in self.files],
            # Without a staged file that the cell attaches as well: the chat would have it twice.
            "file_ids": [file.id for file in staged if (file.file_name, file.sha256) not in self.uploads],
            "output_config": self.output_config,
            "model": self.model,
            "effort": self.effort,
        }

    @property
    def own_chat(self) -> bool:
        """Whether the question goes to the notebook's chat, or to a new chat that may become it."""
        return self.chat is None and self.session is None

    @property
    def uploads(self) -> frozenset[Upload]:
        return frozenset((file.path.name, file.sha256) for file in self.files)

    @property
    def title(self) -> str:
        """The beginning of the cell as typed, for `%runs`."""
        return label(self.typed or "", PROMPT_CHARS)


@dataclass(frozen=True, slots=True)
class AskRequest:
    """How to answer a question: start a run with idempotency key `key`, or show again the run `shown`.

    `uploads` are the files that the chat has before the question, staged ones included.
    """

    address: ChatAddress
    fingerprint: str
    key: str
    uploads: frozenset[Upload] = frozenset()
    shown: str | None = None


def prepare_request(session: Session, client: AgentService, question: Question, reuse: bool = True) -> AskRequest:
    """Decide whether to ask or to show an earlier run again. Starts no run.

    An earlier run is shown only if `reuse`, and when this kernel has not run such a cell yet. Raises the client's
    errors.
    """
    address = session.address(question.chat, question.new_chat, session=question.session, project=question.project)
    if not session.notebook:  # outside a notebook no cell is run again after a restart, so no run is shown again
        return AskRequest(address, "", secrets.token_urlsafe(24))
    print_ = fingerprint(session, question, address)
    chat = session.known_chat(address)
    in_chat = listed_uploads(client, chat) if chat else set()
    uploads = frozenset(in_chat | session.staged_uploads if question.own_chat else in_chat)
    known = [] if question.fresh else _fitting(session, question, chat, print_, uploads)
    first = session.execution_history.first(print_, question.place.page)
    shown = _showable(session, client, known) if reuse and first else None
    if shown is not None:
        if question.files and shown.chat:
            current = in_chat if shown.chat == chat else listed_uploads(client, shown.chat)
            session.note_replaced(shown.chat, question.files, {sha256 for _, sha256 in current})
        return AskRequest(address, print_, shown.idempotency_key, uploads, shown.run_id)
    if chat and (earlier := session.take_replaced(chat, {name for name, _ in question.uploads})):
        client.files.upload(*(file.sent for file in earlier), chat=chat)
    return AskRequest(address, print_, _unanswered(known) or secrets.token_urlsafe(24), uploads)


def fingerprint(session: Session, question: Question, address: ChatAddress) -> str:
    """Return the SHA-256 of everything that the answer depends on, except uploads that no cell made (see `_fitting`).

    The account is not part of it, because nothing derived from the key is stored. For a run of another account the
    service answers 404, and then the question is asked.
    """
    history = session.execution_history
    put = session.staged_uploads if question.new_chat else session.put_before(address)
    whole: list[object] = [
        7,  # the version of this list: raise it when the items change
        session.notebook,
        session.base_url,
        str(address),
        question.message,
        question.output_config,
        question.model,
        question.effort,
        question.kernel.signature if question.kernel else "off",
        sorted(question.uploads),
        sorted(put),
    ]
    if not question.new_chat:
        return _digest([*whole, history.before(question.place, str(address))])
    # No turn precedes one in a new chat, but cells that ask the same, and the turns of a loop, have runs of their own.
    return next(print_ for n in count() if not history.asked(print_ := _digest([*whole, n]), question.place))


def _digest(whole: list[object]) -> str:
    return hashlib.sha256(json.dumps(whole, sort_keys=True, default=str).encode()).hexdigest()


def _fitting(
    session: Session, question: Question, chat: str | None, print_: str, uploads: frozenset[Upload]
) -> list[JournalEntry]:
    """Return earlier starts of the question, newest first, that had the same uploads before them.

    Uploads count only if neither a question nor `%files put` of a cell has made them: those of cells above are part of
    the fingerprint, and those of cells below are no news to this one. They are known by their content, because the
    service renames one of two attachments of the same name.
    """
    made = session.journal.put_by(session.notebook or "", session.base_url) | {file.sha256 for file in question.files}
    made |= session.journal.attachments(session.base_url, chat) if chat else set()

    def others(uploads: frozenset[Upload]) -> set[Upload]:
        return {upload for upload in uploads if upload[1] not in made}

    return [entry for entry in session.journal.known([print_]) if others(entry.uploads) == others(uploads)]


def _showable(session: Session, client: AgentService, known: list[JournalEntry]) -> JournalEntry | None:
    """Return the first entry whose run exists for this account and has not failed or been cancelled."""
    for entry in known:
        if entry.run_id is None:
            continue
        try:
            run = client.runs.get(entry.run_id)
        except StefanBrainError as error:
            if error.status == 404:  # a run of another account
                continue
            raise
        session.journal.seen(run)
        if run.status not in ("failed", "cancelled", "cancelling"):
            return entry
    return None


def _unanswered(known: list[JournalEntry]) -> str | None:
    """Return the idempotency key of a start without a response, so that sending it again cannot start a second run.

    A key is valid within one UTC day (docs/api/runs.md "Idempotency keys").
    """
    today = now()[:10]
    return next(
        (entry.idempotency_key for entry in known if entry.run_id is None and entry.created_at[:10] == today), None
    )
