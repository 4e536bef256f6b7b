"""Which chat a request means (docs/api/runs.md, docs/api/tools-and-jobs.md): found, or made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.records import chats
from agentsvc_nb.service.records.chats import ChatRecord
from agentsvc_nb.wire import ids

NEW: Final = "new"


@dataclass(frozen=True, slots=True)
class Where:
    """A chat as a request gives it: by id, or by project and session."""

    chat: str | None = None
    project: str | None = None
    session: str | None = None


def check(where: Where, *, new_allowed: bool = False) -> None:
    """The references are well formed. Raises `invalid_chat`, `invalid_project`."""
    if where.chat is not None and not ids.is_chat(where.chat) and not (new_allowed and where.chat == NEW):
        raise ApiError("invalid_chat")
    if where.project is not None and not ids.is_project(where.project):
        raise ApiError("invalid_project")


def check_known(tx: Tx, where: Where, account: str) -> None:
    """What is referred to exists and can be worked in. References come before the Idempotency-Key
    (docs/api/conventions.md)."""
    if where.project is not None and not chats.project_exists(tx, where.project, account):
        raise ApiError("project_not_found")
    if where.chat is not None and where.chat != NEW:
        record = of_account(tx, where.chat, account)
        if where.project is not None and record.project != where.project:
            raise ApiError("chat_project_mismatch")
        if record.retired_at is not None:
            raise ApiError("chat_id_retired")


def of_account(tx: Tx, chat: str, account: str) -> ChatRecord:
    """The chat, for reading. Raises `invalid_chat` or `chat_not_found`."""
    if not ids.is_chat(chat):
        raise ApiError("invalid_chat")
    record = chats.get(tx, chat, account)
    if record is None:
        raise ApiError("chat_not_found")
    return record


def retire(tx: Tx, chat: str, account: str, now: int) -> None:
    """Take no more starts in this chat; safe to repeat. What runs in it goes on, and what is in it stays readable.

    Raises `invalid_chat` or `chat_not_found`.
    """
    chats.retire(tx, of_account(tx, chat, account).id, account, now)


def resolve(tx: Tx, where: Where, account: str, now: int, *, shared: bool) -> ChatRecord:
    """The chat to work in, after `check_known`. `shared`: without chat and session it is the one that tools share,
    else a new one."""
    if where.chat is not None and where.chat != NEW:
        return of_account(tx, where.chat, account)
    label = where.session or ("" if shared else None)
    if label is None or where.chat == NEW:
        return chats.create(tx, account, where.project, None, now)
    return chats.of_label(tx, account, where.project, label) or chats.create(tx, account, where.project, label, now)


def known(tx: Tx, where: Where, account: str) -> ChatRecord | None:
    """The chat of an earlier submit, for looking it up; None when there is none."""
    check(where)
    if where.chat is not None:
        return of_account(tx, where.chat, account)
    check_known(tx, where, account)
    return chats.of_label(tx, account, where.project, where.session or "")
