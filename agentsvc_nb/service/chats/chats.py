"""Use cases of chats: find the chat of a request (docs/api/runs.md, docs/api/tools-and-jobs.md), and show a chat.

A retired chat accepts no new runs and jobs. A turn is a run as the page of its chat shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.service.accounts import money
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats import chat_records
from agentsvc_nb.service.chats.chat_records import ChatRecord, RecentChat
from agentsvc_nb.service.files import file_records
from agentsvc_nb.service.files.file_records import FileChange, FileRecord
from agentsvc_nb.service.jobs import job_records
from agentsvc_nb.service.jobs.job_records import JobRecord
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.runs import call_records, event_records, run_records
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.runs import NOT_COMPUTED, TERMINAL, Event, PlanStep

NEW: Final = "new"


@dataclass(frozen=True, slots=True)
class ChatSelector:
    """The fields of a request that name its chat: the chat's id (or `new`), or a project and a session."""

    chat: str | None = None
    project: str | None = None
    session: str | None = None


def check_ids(where: ChatSelector, *, new_allowed: bool = False) -> None:
    """Check that the ids of the selector are well-formed. Raises `invalid_chat` or `invalid_project`."""
    if where.chat is not None and not ids.is_chat(where.chat) and not (new_allowed and where.chat == NEW):
        raise ApiError("invalid_chat")
    if where.project is not None and not ids.is_project(where.project):
        raise ApiError("invalid_project")


def check_known(tx: Tx, where: ChatSelector, account: str) -> None:
    """Check that the project and the chat exist, and that the chat accepts new runs and jobs.

    Call this before you look up the Idempotency-Key (docs/api/conventions.md).

    Raises `project_not_found`, `invalid_chat`, `chat_not_found`, `chat_project_mismatch`, `chat_id_retired`.
    """
    if where.project is not None and chat_records.project(tx, where.project, account) is None:
        raise ApiError("project_not_found")
    if where.chat is not None and where.chat != NEW:
        record = get_of_account(tx, where.chat, account)
        if where.project is not None and record.project != where.project:
            raise ApiError("chat_project_mismatch")
        if record.retired_at is not None:
            raise ApiError("chat_id_retired")


def get_of_account(tx: Tx, chat: str, account: str) -> ChatRecord:
    """Return the account's chat, even if it is retired. Raises `invalid_chat` or `chat_not_found`."""
    if not ids.is_chat(chat):
        raise ApiError("invalid_chat")
    record = chat_records.get(tx, chat, account)
    if record is None:
        raise ApiError("chat_not_found")
    return record


async def get(context: UseCaseContext, account: str, chat: str) -> ChatRecord:
    """Run `get_of_account` in a new transaction."""
    return await context.read(lambda tx: get_of_account(tx, chat, account))


async def check_upload(context: UseCaseContext, account: str, where: ChatSelector) -> None:
    """Check that files can be uploaded into the chat (even if it is retired) or into the session's chat.

    Raises `invalid_chat`, `chat_not_found`, `project_not_found`, `chat_project_mismatch`.
    """
    if where.chat is None:
        await context.read(lambda tx: check_known(tx, where, account))
    else:
        record = await get(context, account, where.chat)
        if where.project is not None and record.project != where.project:
            raise ApiError("chat_project_mismatch")


async def retire(context: UseCaseContext, account: str, chat: str) -> None:
    """Retire the chat, so that it accepts no new runs and jobs. This is safe to repeat.

    The chat's active runs continue, and its contents remain readable. Raises `invalid_chat` or `chat_not_found`.
    """
    now = context.now
    await context.write(lambda tx: chat_records.retire(tx, get_of_account(tx, chat, account).id, account, now))


async def recent(context: UseCaseContext, account: str, before: int | None, limit: int) -> list[RecentChat]:
    """Return at most `limit` chats, most recently used first. With `before` (ms), leave out chats used since then."""
    return await context.read_long(lambda tx: chat_records.recent(tx, account, before, limit))


def resolve(tx: Tx, where: ChatSelector, account: str, now: int, *, shared: bool) -> ChatRecord:
    """Return the chat that the selector names, and create it if necessary. Call `check_known` first.

    If the selector names neither a chat nor a session, return the chat that tools share if `shared` is set, otherwise
    a new chat.
    """
    if where.chat is not None and where.chat != NEW:
        return get_of_account(tx, where.chat, account)
    # A session whose chat is retired gets a new chat: `get_by_label` finds no retired chats.
    label = where.session or ("" if shared else None)
    if label is None or where.chat == NEW:
        return chat_records.create(tx, account, where.project, None, now)
    return chat_records.get_by_label(tx, account, where.project, label) or chat_records.create(
        tx, account, where.project, label, now
    )


def find_existing(tx: Tx, where: ChatSelector, account: str) -> ChatRecord | None:
    """Return the chat that `where` names, or None if it does not exist yet.

    Raises errors of `check_ids`, `get_of_account` and `check_known`.
    """
    check_ids(where)
    if where.chat is not None:
        return get_of_account(tx, where.chat, account)
    check_known(tx, where, account)
    # Without a session, use the chat that tools share.
    return chat_records.get_by_label(tx, account, where.project, where.session or "")


@dataclass(frozen=True, slots=True)
class TurnView:
    """A run as the page of its chat shows it."""

    run: RunRecord
    message: str
    """The beginning of the message that started the run."""
    text: str
    """The run's output or, while the run is active, the text that it has written so far."""
    waiting: Sequence[call_records.CallRecord] = ()
    """The tool calls that wait for approval."""
    changes: Sequence[FileChange] = ()
    """The file versions that the run created."""
    diffs: Sequence[str] = ()
    """The run's changes to text files, as unified diffs."""
    plan: Sequence[PlanStep] = ()
    """The plan of the run's agent, while the run is active."""
    raise_to: int | None = None
    """A higher cost limit to offer if an active run is near its limit, in cents."""
    note: str = ""
    """A note that the model answered without tools, or ""."""

    @property
    def active(self) -> bool:
        return self.run.status not in TERMINAL

    @property
    def seconds(self) -> float | None:
        """The seconds from the run's start to its end, or None while the run is active."""
        return None if self.run.ended_at is None else (self.run.ended_at - self.run.created_at) / 1000


@dataclass(frozen=True, slots=True)
class ChatPage:
    """A chat with one page of its turns, jobs and files."""

    chat: ChatRecord
    turns: list[TurnView]
    earlier: str | None
    """The id of the run that is the last turn of the previous page, or None if there are no earlier turns."""
    jobs: list[JobRecord]
    files: list[FileRecord]
    more_files: bool
    """True if the chat has files after those of this page."""

    @property
    def asking(self) -> bool:
        """True if a tool call waits for approval. Then the page must not reload itself, as the user may type."""
        return any(turn.waiting for turn in self.turns)

    @property
    def active(self) -> bool:
        return any(turn.active for turn in self.turns) or any(job.ended_at is None for job in self.jobs)


_MESSAGE_CHARS: Final = 100_000
_TURNS: Final = 30
_JOBS: Final = 30
_FILES: Final = 100
_DIFFS: Final = 20


async def view(context: UseCaseContext, account: str, chat: str, last: str | None, files_after: str) -> ChatPage:
    """Return a page of the chat: turns up to the run `last` (None for the latest), and files after a path.

    Raises what `get_of_account` raises.
    """

    def use(tx: Tx) -> ChatPage:
        record = get_of_account(tx, chat, account)
        # Read one turn more than the page shows. It is the last turn of the page with earlier turns, if there is one.
        latest = run_records.list_by_chat(tx, chat, last, _TURNS + 1)
        found = file_records.page(tx, chat, files_after, _FILES + 1)
        return ChatPage(
            chat=record,
            turns=[_turn(tx, run) for run in reversed(latest[:_TURNS])],
            earlier=latest[_TURNS].run_id if len(latest) > _TURNS else None,
            jobs=job_records.list_by_chat(tx, chat, _JOBS),
            files=found[:_FILES],
            more_files=len(found) > _FILES,
        )

    return await context.read_long(use)


def _turn(tx: Tx, run: RunRecord) -> TurnView:
    message = run_records.get_typed_beginning(tx, run.run_id, _MESSAGE_CHARS + 1)
    if len(message) > _MESSAGE_CHARS:
        message = f"{message[:_MESSAGE_CHARS]} …"
    changes = file_records.list_changes(tx, run.run_id)
    diffs = call_records.list_diffs(tx, run.run_id, _DIFFS) if changes else []
    only_reads = run.basis_kind == "not_computed" or event_records.has_warned(tx, run.run_id, "tools_not_used")
    note = NOT_COMPUTED if only_reads else ""
    if run.status in TERMINAL:
        return TurnView(run, message, run.output or "", changes=changes, diffs=diffs, note=note)
    text = text_so_far(event_records.list_text(tx, run.run_id))
    near = event_records.has_warned_of_limit(tx, run.run_id)
    raise_to = money.suggested_cents(run.max_microcents) if near and run.max_microcents else None
    waiting, plan = call_records.list_waiting(tx, run.run_id), event_records.get_plan(tx, run.run_id)
    return TurnView(run, message, text, waiting, changes, diffs, plan, raise_to, note)


def text_so_far(events: Iterable[Event]) -> str:
    """Return the text that a run has written so far, from its events.

    An event `run.resumed` discards some of the text before it. Leave out the discarded text.
    """
    said: list[tuple[int, str]] = []
    for event in events:
        if event.type == "run.resumed":
            said = [(id, text) for id, text in said if id <= event.payload["discard_after"]]
        elif event.type == "text.delta":
            said.append((event.id, event.payload["text"]))
    return "".join(text for _, text in said)


async def find_turn(context: UseCaseContext, account: str, chat: str, run_id: str) -> tuple[RunRecord, bool]:
    """Return a run of the chat, and whether the page of the latest turns shows it.

    Raises `run_not_found`, and what `get_of_account` raises.
    """

    def use(tx: Tx) -> tuple[RunRecord, bool]:
        get_of_account(tx, chat, account)
        run = run_records.get_of_account(tx, run_id, account)
        if run is None or run.chat != chat:
            raise ApiError("run_not_found")
        return run, run_id in (each.run_id for each in run_records.list_by_chat(tx, chat, None, _TURNS))

    return await context.read_long(use)
