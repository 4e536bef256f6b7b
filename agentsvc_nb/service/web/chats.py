"""Pages of chats: the list, one chat with its turns, jobs and files, and a file's content."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import bodies, operations
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.records import chats, files, jobs, runs, tool_calls
from agentsvc_nb.service.records.chats import ChatRecord
from agentsvc_nb.service.records.files import FileRecord
from agentsvc_nb.service.records.jobs import JobRecord
from agentsvc_nb.service.records.runs import RunRecord
from agentsvc_nb.service.records.tool_calls import CallRecord
from agentsvc_nb.service.usecases import chats as chat_usecases
from agentsvc_nb.service.usecases import files as file_usecases
from agentsvc_nb.service.web.rendering import render
from agentsvc_nb.wire.limits import EVENT_ID_MAX
from agentsvc_nb.wire.runs import TERMINAL, Event

PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What a browser may show in the page: pictures that can hold no script. All else is downloaded."""

_TEXTS: Final = frozenset({"application/json", "application/xml", "application/x-ndjson"})
_HEAD_BYTES: Final = 1_200


@dataclass(frozen=True, slots=True)
class ChatTurn:
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
class ShownFile:
    """A file, and a text's first lines."""

    file: FileRecord
    head: str

    @property
    def picture(self) -> bool:
        return self.file.media_type in PICTURES


def turn(tx: Tx, run: RunRecord) -> ChatTurn:
    if run.status in TERMINAL:
        return ChatTurn(run, run.output or "")
    return ChatTurn(run, text_so_far(runs.said(tx, run.run_id)), tool_calls.waiting(tx, run.run_id))


def text_so_far(events: Iterable[Event]) -> str:
    """What was said and still counts: after a crash a step may speak again (docs/api/events.md "run.resumed")."""
    said: list[tuple[int, str]] = []
    for event in events:
        if event.type == "run.resumed":
            said = [(id, text) for id, text in said if id <= event.payload["discard_after"]]
        elif event.type == "text.delta":
            said.append((event.id, event.payload["text"]))
    return "".join(text for _, text in said)


def shown_file(file: FileRecord, content: Path) -> ShownFile:
    """The file with what can be read in its head; one whose content is gone has none."""
    if not file.media_type.startswith("text/") and file.media_type not in _TEXTS:
        return ShownFile(file, "")
    try:
        with content.open("rb") as opened:
            head = opened.read(_HEAD_BYTES).decode(errors="ignore")
    except OSError:
        return ShownFile(file, "")
    return ShownFile(file, head + " …" if file.size_bytes > _HEAD_BYTES else head)


_CHATS: Final = 50
_TURNS: Final = 30
_JOBS: Final = 30
_FILES: Final = 100


@dataclass(frozen=True, slots=True)
class _Shown:
    """One chat as its page shows it; `more_turns` and `more_files` say that there are others."""

    chat: ChatRecord
    turns: list[ChatTurn]
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


async def recent(context: RequestContext) -> Response:
    before = _before(context)
    found = await asyncio.to_thread(context.read, lambda tx: chats.recent(tx, context.account, before, _CHATS + 1))
    return render("chats.html", chats=found[:_CHATS], more=len(found) > _CHATS)


async def show(context: RequestContext) -> Response:
    """A page of the chat; with `run` (a run's `app_url`), the way to that run on it."""
    chat, before, after = context.path("chat"), _before(context), context.request.query_params.get("files_after", "")
    if run_id := context.request.query_params.get("run"):
        return RedirectResponse(context.read(lambda tx: _place(tx, context.account, chat, run_id)), 303)
    shown = await asyncio.to_thread(context.read, lambda tx: _read(tx, context.account, chat, before, after))
    blobs = context.services.blobs
    heads = await asyncio.to_thread(lambda: [shown_file(file, blobs.path(file.sha256)) for file in shown.files])
    return render("chat.html", shown=shown, files=heads, latest=before is None)


async def file(context: RequestContext) -> Response:
    """A file's bytes: a picture may be shown, anything else is saved, and neither runs."""
    chat, path = context.path("chat"), bodies.text(context, "path")
    record = context.read(lambda tx: file_usecases.get(tx, context.account, chat, path))
    response = operations.file_response(context, record, "inline" if record.media_type in PICTURES else "attachment")
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox; frame-ancestors 'none'"
    return response


async def approve(context: RequestContext) -> Response:
    """Approve or refuse a call that waits for it, as the pressed button says, and back to its chat."""
    form = await bodies.read_form_fields(context.request)
    verdicts = {"approve": True, "refuse": False}
    await operations.decide_approval(
        context, {"approved": verdicts.get(form.get("verdict", "")), "reason": form.get("reason")}
    )
    return RedirectResponse(_anchor(operations.named_run(context)), 303)


async def events(context: RequestContext) -> Response:
    """The run's events, which the page follows."""
    return operations.run_events(context)


async def stop(context: RequestContext) -> Response:
    """Cancel a run, and back to its chat."""
    return RedirectResponse(_anchor(await operations.cancel_run(context)), 303)


def _place(tx: Tx, account: str, chat: str, run_id: str) -> str:
    """Where a run stands: on the page with the latest turns, or at the end of an earlier one."""
    chat_usecases.of_account(tx, chat, account)
    run = runs.get_of_account(tx, run_id, account)
    if run is None or run.chat != chat:
        raise ApiError("run_not_found")
    latest = (each.run_id for each in runs.of_chat(tx, chat, None, _TURNS))
    return _anchor(run, "" if run_id in latest else f"?before={run.created_at + 1}")


def _anchor(run: RunRecord, query: str = "") -> str:
    return f"/app/chats/{quote(run.chat)}{query}#run_{run.run_id}"


def _read(tx: Tx, account: str, chat: str, before: int | None, files_after: str) -> _Shown:
    record = chat_usecases.of_account(tx, chat, account)
    latest = runs.of_chat(tx, chat, before, _TURNS + 1)
    found = files.page(tx, chat, files_after, _FILES + 1)
    return _Shown(
        chat=record,
        turns=[turn(tx, run) for run in reversed(latest[:_TURNS])],
        more_turns=len(latest) > _TURNS,
        jobs=jobs.of_chat(tx, chat, _JOBS),
        files=found[:_FILES],
        more_files=len(found) > _FILES,
    )


def _before(context: RequestContext) -> int | None:
    """Where an earlier page of a list begins, in ms."""
    given = bodies.integer(context, "before", -1, 0, EVENT_ID_MAX)
    return None if given < 0 else given
