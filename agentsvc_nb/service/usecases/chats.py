"""Projects and chats: which chat a request means (docs/api/runs.md, docs/api/tools-and-jobs.md), and what is in one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.records import chats, files, jobs, runs, tool_calls
from agentsvc_nb.service.records.chats import ChatRecord, ProjectRecord, UsedChat
from agentsvc_nb.service.records.files import FileRecord
from agentsvc_nb.service.records.jobs import JobRecord
from agentsvc_nb.service.records.runs import RunRecord
from agentsvc_nb.service.records.tool_calls import CallRecord
from agentsvc_nb.service.usecases.context import UseCaseContext
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.runs import TERMINAL, Event

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


async def get(context: UseCaseContext, account: str, chat: str) -> ChatRecord:
    """Raises as `of_account`."""
    return await context.read(lambda tx: of_account(tx, chat, account))


async def retire(context: UseCaseContext, account: str, chat: str) -> None:
    """Take no more starts in this chat; safe to repeat. What runs in it goes on, and what is in it stays readable.

    Raises `invalid_chat` or `chat_not_found`.
    """
    now = context.now
    await context.write(lambda tx: chats.retire(tx, of_account(tx, chat, account).id, account, now))


async def create_project(context: UseCaseContext, account: str, name: str) -> ProjectRecord:
    now = context.now
    return await context.write(lambda tx: chats.create_project(tx, account, name, now))


async def projects(context: UseCaseContext, account: str) -> list[ProjectRecord]:
    return await context.read(lambda tx: chats.projects(tx, account))


async def recent(context: UseCaseContext, account: str, before: int | None, limit: int) -> list[UsedChat]:
    """The chats last used, those used before `before` (ms)."""
    return await context.read_long(lambda tx: chats.recent(tx, account, before, limit))


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


@dataclass(frozen=True, slots=True)
class TurnView:
    """A run, its text: the output, or what was said so far."""

    run: RunRecord
    text: str
    waiting: Sequence[CallRecord] = ()
    """The calls that wait for approval."""

    @property
    def active(self) -> bool:
        return self.run.status not in TERMINAL

    @property
    def seconds(self) -> float | None:
        """How long it ran; None while it does."""
        return None if self.run.ended_at is None else (self.run.ended_at - self.run.created_at) / 1000


@dataclass(frozen=True, slots=True)
class ChatPage:
    """A chat with its latest turns, jobs and files; `more_turns` and `more_files` say that there are others."""

    chat: ChatRecord
    turns: list[TurnView]
    more_turns: bool
    jobs: list[JobRecord]
    files: list[FileRecord]
    more_files: bool

    @property
    def asking(self) -> bool:
        """Whether somebody is asked for a verdict: nobody can write a reason on a page that loads itself again."""
        return any(turn.waiting for turn in self.turns)

    @property
    def active(self) -> bool:
        return any(turn.active for turn in self.turns) or any(job.ended_at is None for job in self.jobs)


_TURNS: Final = 30
_JOBS: Final = 30
_FILES: Final = 100


async def view(context: UseCaseContext, account: str, chat: str, before: int | None, files_after: str) -> ChatPage:
    """The chat with its turns started before `before` (ms), and its files after the path `files_after`.

    Raises as `of_account`.
    """
    return await context.read_long(lambda tx: _view(tx, account, chat, before, files_after))


def _view(tx: Tx, account: str, chat: str, before: int | None, files_after: str) -> ChatPage:
    record = of_account(tx, chat, account)
    latest = runs.of_chat(tx, chat, before, _TURNS + 1)
    found = files.page(tx, chat, files_after, _FILES + 1)
    return ChatPage(
        chat=record,
        turns=[_turn(tx, run) for run in reversed(latest[:_TURNS])],
        more_turns=len(latest) > _TURNS,
        jobs=jobs.of_chat(tx, chat, _JOBS),
        files=found[:_FILES],
        more_files=len(found) > _FILES,
    )


def _turn(tx: Tx, run: RunRecord) -> TurnView:
    if run.status in TERMINAL:
        return TurnView(run, run.output or "")
    return TurnView(run, text_so_far(runs.said(tx, run.run_id)), tool_calls.waiting(tx, run.run_id))


def text_so_far(events: Iterable[Event]) -> str:
    """What was said and still counts: after a crash a step may speak again (docs/api/events.md "run.resumed")."""
    said: list[tuple[int, str]] = []
    for event in events:
        if event.type == "run.resumed":
            said = [(id, text) for id, text in said if id <= event.payload["discard_after"]]
        elif event.type == "text.delta":
            said.append((event.id, event.payload["text"]))
    return "".join(text for _, text in said)


async def find_turn(context: UseCaseContext, account: str, chat: str, run_id: str) -> tuple[RunRecord, bool]:
    """A run of the chat, and whether it is among the latest turns. Raises `run_not_found`, and as `of_account`."""

    def use(tx: Tx) -> tuple[RunRecord, bool]:
        of_account(tx, chat, account)
        run = runs.get_of_account(tx, run_id, account)
        if run is None or run.chat != chat:
            raise ApiError("run_not_found")
        return run, run_id in (each.run_id for each in runs.of_chat(tx, chat, None, _TURNS))

    return await context.read(use)
