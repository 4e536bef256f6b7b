"""Pages of chats: the list, one chat with its turns, jobs and files, and a file's content."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response

from agentsvc_nb.service.actions import chats as actions
from agentsvc_nb.service.actions import files as file_actions
from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.http import files as http_files
from agentsvc_nb.service.http import parameters
from agentsvc_nb.service.http import runs as http_runs
from agentsvc_nb.service.http.backend import Call
from agentsvc_nb.service.ports.storage import Tx
from agentsvc_nb.service.records import chats, files, jobs, runs
from agentsvc_nb.service.records.chats import ChatRecord
from agentsvc_nb.service.records.files import FileRecord
from agentsvc_nb.service.records.jobs import JobRecord
from agentsvc_nb.service.records.runs import RunRecord
from agentsvc_nb.service.web import forms
from agentsvc_nb.service.web.rendering import render
from agentsvc_nb.service.web.turns import PICTURES, Turn, shown_file, turn
from agentsvc_nb.wire.limits import EVENT_ID_MAX

_CHATS: Final = 50
_TURNS: Final = 30
_JOBS: Final = 30
_FILES: Final = 100


@dataclass(frozen=True, slots=True)
class _Shown:
    """One chat as its page shows it; `more_turns` and `more_files` say that there are others."""

    chat: ChatRecord
    turns: list[Turn]
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


async def recent(call: Call) -> Response:
    before = _before(call)
    found = await asyncio.to_thread(call.read, lambda tx: chats.recent(tx, call.account, before, _CHATS + 1))
    return render("chats.html", chats=found[:_CHATS], more=len(found) > _CHATS)


async def show(call: Call) -> Response:
    """A page of the chat; with `run` (a run's `app_url`), the way to that run on it."""
    chat, before, after = call.path("chat"), _before(call), call.request.query_params.get("files_after", "")
    if run_id := call.request.query_params.get("run"):
        return RedirectResponse(call.read(lambda tx: _place(tx, call.account, chat, run_id)), 303)
    shown = await asyncio.to_thread(call.read, lambda tx: _read(tx, call.account, chat, before, after))
    blobs = call.backend.blobs
    heads = await asyncio.to_thread(lambda: [shown_file(file, blobs.path(file.sha256)) for file in shown.files])
    return render("chat.html", shown=shown, files=heads, latest=before is None)


async def file(call: Call) -> Response:
    """A file's bytes: a picture may be shown, anything else is saved, and neither runs."""
    chat, path = call.path("chat"), parameters.text(call, "path")
    record = call.read(lambda tx: file_actions.get(tx, call.account, chat, path))
    response = http_files.content(call, record, "inline" if record.media_type in PICTURES else "attachment")
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox; frame-ancestors 'none'"
    return response


async def approve(call: Call) -> Response:
    """Approve or refuse a call that waits for it, as the pressed button says, and back to its chat."""
    form = await forms.read(call.request)
    verdicts = {"approve": True, "refuse": False}
    await http_runs.decided(call, {"approved": verdicts.get(form.get("verdict", "")), "reason": form.get("reason")})
    return RedirectResponse(_anchor(http_runs.named(call)), 303)


async def stop(call: Call) -> Response:
    """Cancel a run, and back to its chat."""
    return RedirectResponse(_anchor(await http_runs.cancelled(call)), 303)


def _place(tx: Tx, account: str, chat: str, run_id: str) -> str:
    """Where a run stands: on the page with the latest turns, or at the end of an earlier one."""
    actions.of_account(tx, chat, account)
    run = runs.get_of_account(tx, run_id, account)
    if run is None or run.chat != chat:
        raise Fail("run_not_found")
    latest = (each.run_id for each in runs.of_chat(tx, chat, None, _TURNS))
    return _anchor(run, "" if run_id in latest else f"?before={run.created_at + 1}")


def _anchor(run: RunRecord, query: str = "") -> str:
    return f"/app/chats/{quote(run.chat)}{query}#run_{run.run_id}"


def _read(tx: Tx, account: str, chat: str, before: int | None, files_after: str) -> _Shown:
    record = actions.of_account(tx, chat, account)
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


def _before(call: Call) -> int | None:
    """Where an earlier page of a list begins, in ms."""
    given = parameters.integer(call, "before", -1, 0, EVENT_ID_MAX)
    return None if given < 0 else given
