"""Prepare a question: its options, chat and idempotency key, or the earlier run whose answer is shown instead."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.key_forms import A_NAME_IS_WANTED, LOOKS_LIKE_KEY, looks_like_key
from agentsvc_nb.notebook.ask.answer import AnswerShape
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.files.attachments import AttachedFile, list_uploads
from agentsvc_nb.notebook.state.journal import CellExecution, JournalEntry, Upload, now
from agentsvc_nb.notebook.state.session import ChatAddress, Session, convert_errors
from agentsvc_nb.wire import ids, limits
from agentsvc_nb.wire.files import StagedFile
from agentsvc_nb.wire.runs import Effort
from agentsvc_nb.wire.text import label

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService
    from agentsvc_nb.notebook.kernel.tool_executor import KernelOffer


_SHOWN_AGAIN: Final = (
    "This is the stored answer of an earlier run; nothing was sent. Run the cell once more, or add --fresh, for"
    " a new answer."
)
_CODE_NOT_RUN: Final = (
    "The agent ran code in the kernel for this answer. That code was not run again, so its variables are missing."
)


@dataclass(frozen=True)
class AskRequest:
    """A question, its options, and what `prepare` adds to it. Raises `AskError` for options that exclude each other.

    Attributes:
        typed: the text of the cell as the user typed it, before `{{name}}` was replaced with values.
        wait: if another run holds the chat, wait for its end instead of failing.
        fresh: always start a new run: neither show an earlier run, nor repeat a start whose response was lost.
        reuse: show the answer of an earlier run when the cell runs for the first time in this kernel.
        timeout: how many seconds to wait for the answer; None for no limit.
        shape: the shape of the answer's data (`--schema`).
        model: the name of a model that `GET /models` lists; None for the default.
        max_cents: the cost limit of the run in cents; None for the service's limit.
        notes: lines to show above the answer.
        kernel: what the agent may do in the user's kernel; None for nothing.
        address: the chat to ask in.
        key: the idempotency key with which the run is started; empty until the request is prepared.
        fingerprint: a hash of everything that the answer depends on; empty outside a notebook.
        uploads: the files in the chat before the question, including staged files, which are attached to the
            chat's next question.
        shown: the id of the existing run to show; None if the question is asked.
    """

    message: str = ""
    typed: str = ""
    execution: CellExecution = field(default_factory=lambda: CellExecution("", 0))
    files: tuple[AttachedFile, ...] = ()
    chat: str | None = None
    project: str | None = None
    new_chat: bool = False
    wait: bool = False
    fresh: bool = False
    reuse: bool = True
    raise_error: bool = True
    timeout: float | None = None
    shape: AnswerShape | None = None
    notes: tuple[str, ...] = ()
    model: str | None = None
    effort: Effort | None = None
    max_cents: float | None = None
    kernel: KernelOffer | None = None
    address: ChatAddress = field(default_factory=ChatAddress)
    key: str = ""
    fingerprint: str = ""
    uploads: frozenset[Upload] = frozenset()
    shown: str | None = None

    def __post_init__(self) -> None:
        if not self.message.strip() and not self.shown:
            raise AskError("The message is empty; nothing was sent.", "Write it below the %%ask line.")
        if len(self.files) > limits.ATTACHMENTS_MAX:
            raise AskError(f"Too many files: {len(self.files)}; nothing was sent.", "Attach at most 10.")
        if self.model and looks_like_key(self.model):
            raise AskError(f"{LOOKS_LIKE_KEY} Nothing was sent.", A_NAME_IS_WANTED)
        if self.max_cents is not None and not 0 < self.max_cents <= limits.CENTS_MAX:
            wanted = f"Use a number of cents that is more than 0 and at most {limits.CENTS_MAX:,}."
            raise AskError(f"--max-cents {self.max_cents:g} is not a valid limit; nothing was sent.", wanted)
        if self.chat and self.new_chat:
            raise AskError("--chat and --new-chat cannot be combined; nothing was sent.", "Use only one of them.")
        for kind, value, fits in (("chat", self.chat, ids.is_chat), ("project", self.project, ids.is_project)):
            if value and not fits(value):
                raise AskError(
                    f"{label(value, 80)!r} is not a valid {kind} id; nothing was sent.",
                    f"Use a `{kind[:4]}_...` id or a UUID.",
                )

    @property
    def again(self) -> bool:
        """Whether the cell shows the answer of an earlier run instead of asking."""
        return bool(self.shown and self.key)

    @property
    def attached(self) -> frozenset[Upload]:
        return frozenset((file.path.name, file.sha256) for file in self.files)

    def start_arguments(self, staged: Iterable[StagedFile]) -> dict[str, Any]:
        """Return the arguments for `runs.start_and_stream`, including the files that are staged for the chat."""
        return {
            "message": self.message,
            "chat": self.address.chat,
            "session": self.address.session,
            "project": self.address.project,
            "files": [file.sent for file in self.files],
            # Omit staged files that the cell also attaches. Otherwise, they would be in the chat twice.
            "file_ids": [file.id for file in staged if (file.file_name, file.sha256) not in self.attached],
            "output_config": self.shape.schema if self.shape else None,
            "model": self.model,
            "effort": self.effort,
            "max_cents": self.max_cents,
            "idempotency_key": self.key,
        }


def address(session: Session, request: AskRequest) -> AskRequest:
    """Return the request with the address of its chat and a new idempotency key."""
    where = session.address(request.chat, request.new_chat, project=request.project)
    return replace(request, address=where, key=secrets.token_urlsafe(24))


def prepare(session: Session, request: AskRequest) -> AskRequest:
    """Return the request with its chat and key. `shown` names the earlier run to show, if any. Starts no run.

    An earlier run is shown only if this kernel has not asked the question before, and nothing that the answer depends
    on has changed. Raises `AskError` when a request fails.
    """
    client, request = session.client(), address(session, request)
    if not session.notebook:  # outside a notebook, no cell runs again after a restart, so no earlier run is shown
        return request
    with convert_errors(session):
        chat = session.known_chat(request.address)
        in_chat = list_uploads(client, chat) if chat else set()
        uploads = frozenset(in_chat | session.staged_uploads if request.chat is None else in_chat)
        request = replace(request, uploads=uploads, fingerprint=_fingerprint(session, request))
        known = [] if request.fresh else _earlier_starts(session, request, chat)
        if request.reuse and session.execution_history.is_first_run(request.fingerprint, request.execution.page):
            for entry in known:
                if entry.run_id is None or not _can_be_shown(session, client, entry.run_id):
                    continue
                if request.files and entry.chat:
                    current = in_chat if entry.chat == chat else list_uploads(client, entry.chat)
                    session.note_replaced(entry.chat, request.files, {sha256 for _, sha256 in current})
                code = request.kernel is not None and request.kernel.mode == "ask"
                notes = (_SHOWN_AGAIN, *((_CODE_NOT_RUN,) if code else ()), *request.notes)
                return replace(request, key=entry.idempotency_key, shown=entry.run_id, notes=notes)
        if chat and (earlier := session.take_replaced(chat, {name for name, _ in request.attached})):
            client.files.upload(*(file.sent for file in earlier), chat=chat)
    # If an earlier start got no response, repeat it with its own key, so that no second run starts. A key is valid
    # within one UTC day (docs/api/runs.md "Idempotency keys").
    unanswered = [entry for entry in known if entry.run_id is None and entry.created_at[:10] == now()[:10]]
    return replace(request, key=unanswered[0].idempotency_key) if unanswered else request


def _fingerprint(session: Session, request: AskRequest) -> str:
    """Return the SHA-256 of everything that the answer depends on, except uploads made outside cells.

    `_earlier_starts` compares the uploads made outside cells.

    The account is not part of the hash, because the notebook stores nothing that is derived from the API key. If a run
    belongs to another account, the service returns 404, and the question is asked.
    """
    put = session.staged_uploads if request.new_chat else session.uploads_before(request.address)
    whole: list[object] = [
        7,  # the version of this list: increment it when the list changes
        session.notebook,
        session.base_url,
        str(request.address),
        request.message,
        request.shape.schema if request.shape else None,
        request.model,
        request.effort,
        request.kernel.signature if request.kernel else "off",
        sorted(request.attached),
        sorted(put),
    ]
    history = session.execution_history
    if not request.new_chat:
        return _digest([*whole, history.preceding_key(request.execution, str(request.address))])
    # A turn in a new chat has no preceding turn. Count instead, because cells with the same question, and the turns of
    # a loop, need separate runs.
    return next(print_ for n in count() if not history.was_asked(print_ := _digest([*whole, n]), request.execution))


def _digest(whole: list[object]) -> str:
    return hashlib.sha256(json.dumps(whole, sort_keys=True, default=str).encode()).hexdigest()


def _earlier_starts(session: Session, request: AskRequest, chat: str | None) -> list[JournalEntry]:
    """Return earlier starts of the same question, newest first, if the chat had the same uploads then as now.

    Compare only uploads made outside cells. The fingerprint already includes the uploads of cells above
    (attachments and `%files put`), and the uploads of cells below do not matter. Files are compared by content, because
    the service renames one of two attachments with the same name.
    """
    made = session.journal.recorded_puts(session.notebook or "", session.base_url) | {
        file.sha256 for file in request.files
    }
    made |= session.journal.attachments(session.base_url, chat) if chat else set()
    others = {upload for upload in request.uploads if upload[1] not in made}
    known = session.journal.find_starts(request.fingerprint)
    return [entry for entry in known if {upload for upload in entry.uploads if upload[1] not in made} == others]


def _can_be_shown(session: Session, client: AgentService, run_id: str) -> bool:
    """Return True if this account has the run, and the run was not failed, cancelled or undone."""
    try:
        run = client.runs.get(run_id)
    except StefanBrainError as error:
        if error.status == 404:  # 404: the run belongs to another account
            return False
        raise
    session.journal.record_state(run)
    return run.status not in ("failed", "cancelled", "cancelling") and run.undone_at is None
