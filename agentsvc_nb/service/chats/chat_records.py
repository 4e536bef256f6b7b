"""Read and write rows of chats and projects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentsvc_nb.service.new_ids import new_id
from agentsvc_nb.service.ports import Row, Tx
from agentsvc_nb.service.sql import beginning, fetch_one, load, public, record
from agentsvc_nb.wire.files import Project, SkillFacts
from agentsvc_nb.wire.runs import ADDED_CHARS, typed

_sql = load("chats/chats")
_MESSAGE_CHARS: Final = 300
_READ_CHARS: Final = _MESSAGE_CHARS + ADDED_CHARS


@dataclass(frozen=True, slots=True)
class ChatRecord:
    """A chat's row."""

    id: str
    account: str
    project: str | None
    label: str | None
    """The session (a name that the client chooses), "" for the chat that tools share, or None for any other chat."""
    created_at: int
    retired_at: int | None


@dataclass(frozen=True, slots=True)
class ProjectRecord:
    id: str
    account: str
    name: str
    created_at: int
    instructions: str

    def public(self, skills: list[SkillFacts]) -> Project:
        return public(Project, self, skills=skills)


@dataclass(frozen=True, slots=True)
class RecentChat:
    """A chat and its latest run. The fields of the run are None if the chat has no runs."""

    id: str
    project: str | None
    retired_at: int | None
    run_id: str | None
    status: str | None
    message: str | None
    """The beginning of the latest run's message."""
    used_at: int


def create(tx: Tx, account: str, project: str | None, label: str | None, now: int) -> ChatRecord:
    chat = new_id("chat")
    tx.run(_sql["insert"], id=chat, account=account, project=project, label=label, now=now)
    return ChatRecord(chat, account, project, label, now, None)


def get(tx: Tx, chat: str, account: str) -> ChatRecord | None:
    return record(ChatRecord, tx.one(_sql["get"], id=chat, account=account))


def owner(tx: Tx, chat: str) -> str:
    """Return the account of an existing chat."""
    return str(fetch_one(tx, _sql["owner"], id=chat)["account"])


def retire(tx: Tx, chat: str, account: str, now: int) -> None:
    tx.run(_sql["retire"], id=chat, account=account, now=now)


def get_by_label(tx: Tx, account: str, project: str | None, label: str) -> ChatRecord | None:
    """Return the chat with this label that is not retired, or None."""
    return record(ChatRecord, tx.one(_sql["of_label"], account=account, project=project, label=label))


def project(tx: Tx, project: str, account: str) -> ProjectRecord | None:
    return record(ProjectRecord, tx.one(_sql["project"], id=project, account=account))


def create_project(tx: Tx, account: str, name: str, instructions: str, now: int) -> ProjectRecord:
    values = {"account": account, "name": name, "instructions": instructions, "now": now}
    return record(ProjectRecord, fetch_one(tx, _sql["insert_project"], id=new_id("proj"), **values))


def update_project(
    tx: Tx, project: str, account: str, name: str | None, instructions: str | None
) -> ProjectRecord | None:
    """Change the fields that are not None. Return None for an unknown project."""
    row = tx.one(_sql["update_project"], id=project, account=account, name=name, instructions=instructions)
    return record(ProjectRecord, row)


def projects(tx: Tx, account: str) -> list[ProjectRecord]:
    """Return all projects of the account, oldest first."""
    return [record(ProjectRecord, row) for row in tx.all(_sql["projects"], account=account)]


def recent(tx: Tx, account: str, before: int | None, limit: int) -> list[RecentChat]:
    """Return the chats that were last used before `before` (ms; None for all), most recently used first."""
    rows = tx.all(_sql["recent"], account=account, before=before, limit=limit, chars=_READ_CHARS)
    return [RecentChat(**{**row, "message": _beginning(row)}) for row in rows]


def _beginning(row: Row) -> str | None:
    return None if row["message"] is None else typed(beginning(row["message"], _READ_CHARS))[:_MESSAGE_CHARS]
