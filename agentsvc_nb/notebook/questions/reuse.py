"""Retry and reuse, kept apart (docs/decisions/0007).

Retry: every start carries a random idempotency key from the journal; a start that was never answered is sent again
with its key, and the service gives back the original run. Reuse: the first time in a kernel that a cell with a known
fingerprint runs, its completed or still active run is shown again. Nothing is reused outside a notebook.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.files.attachments import listed_uploads
from agentsvc_nb.notebook.memory.journal import Entry, Upload, now
from agentsvc_nb.notebook.memory.session import Address, Session
from agentsvc_nb.notebook.questions.question import Question

if TYPE_CHECKING:
    from agentsvc_nb.client.surface import AgentService


@dataclass(frozen=True, slots=True)
class Plan:
    """How a question is put: with this key, or by showing again the run (`shown`) that was started with it.

    `uploads` are there already.
    """

    address: Address
    fingerprint: str
    key: str
    uploads: frozenset[Upload] = frozenset()
    shown: str | None = None


def plan(session: Session, client: AgentService, question: Question, reuse: bool = True) -> Plan:
    """Decide whether to ask or to show again. Reads the chat's uploads and the known run, starts nothing."""
    address = session.address(question.chat, question.new_chat, session=question.session, project=question.project)
    if not session.notebook:
        return Plan(address, "", secrets.token_urlsafe(24))
    print_, uploads = fingerprint(session, question, address), _uploads(session, client, question, address)
    known = [] if question.fresh else _fitting(session, question, address, print_, uploads)
    shown = _showable(session, client, known) if reuse and session.trail.first(print_) else None
    if shown is not None:
        return Plan(address, print_, shown.idempotency_key, uploads, shown.run_id)
    return Plan(address, print_, _unanswered(known) or secrets.token_urlsafe(24), uploads)


def fingerprint(session: Session, question: Question, address: Address) -> str:
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
        session.trail.before(question.place, None if question.new_chat else str(address)),
    ]
    return hashlib.sha256(json.dumps(whole, sort_keys=True, default=str).encode()).hexdigest()


def _uploads(session: Session, client: AgentService, question: Question, address: Address) -> frozenset[Upload]:
    """The chat's uploads and those that will come along, less what the cell itself brings: that is asked with it."""
    staged = {(file.file_name, file.sha256) for file in session.staged.values()} if question.own_chat else set()
    chat = session.known_chat(address)
    return frozenset(staged | (listed_uploads(client, chat) if chat else set())) - question.uploads


def _fitting(
    session: Session, question: Question, address: Address, print_: str, uploads: frozenset[Upload]
) -> list[Entry]:
    """Known starts of the question that had these uploads before them, newest first.

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


def _showable(session: Session, client: AgentService, known: list[Entry]) -> Entry | None:
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


def _unanswered(known: list[Entry]) -> str | None:
    """The key of a start that got no answer; keys count within one UTC day (spec.md "Limits")."""
    today = now()[:10]
    return next(
        (entry.idempotency_key for entry in known if entry.run_id is None and entry.created_at[:10] == today), None
    )
