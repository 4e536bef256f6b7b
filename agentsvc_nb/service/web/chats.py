"""Handle the pages of chats: the list, a chat, a file's bytes, and a file's text with an anchor for each line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final
from urllib.parse import quote

from pydantic import ValidationError
from starlette.responses import RedirectResponse, Response

from agentsvc_nb.documents import json_reading
from agentsvc_nb.documents.safe_text import blocks
from agentsvc_nb.documents.tables.texts import is_delimited, parse_text
from agentsvc_nb.documents.texts import is_truncated
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats import chats
from agentsvc_nb.service.files import files
from agentsvc_nb.service.files import routes as file_routes
from agentsvc_nb.service.files.file_records import FileRecord
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.ports import Blobs
from agentsvc_nb.service.runner.tool_context import LiveToolContext
from agentsvc_nb.service.runner.workspace import ChatWorkspace
from agentsvc_nb.service.runs import routes as run_routes
from agentsvc_nb.service.runs import runs, standing
from agentsvc_nb.service.runs.call_records import CallRecord
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.service.web import render
from agentsvc_nb.tools import port
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.wire.limits import EVENT_ID_MAX, INPUT_VALUES_MAX
from agentsvc_nb.wire.runs import NewUndo
from agentsvc_nb.wire.text import is_number

_PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The media types of pictures that a page shows, because they can't contain scripts. Other files are downloaded."""

_TEXTS: Final = frozenset({"application/json", "application/xml", "application/x-ndjson"})
_HEAD_BYTES: Final = 1_200


@dataclass(frozen=True, slots=True)
class _ShownFile:
    """A file as the page of its chat shows it."""

    file: FileRecord
    head: str
    """The beginning of the text, or "" if the file is not a text or its blob can't be read now."""

    @property
    def picture(self) -> bool:
        return self.file.media_type in _PICTURES


async def _shown_files(files: Sequence[FileRecord], blobs: Blobs) -> Sequence[_ShownFile]:
    """Return the files, each text with its first 1,200 bytes."""
    texts = [file for file in files if file.media_type.startswith("text/") or file.media_type in _TEXTS]
    heads = await blobs.heads({file.sha256: min(_HEAD_BYTES, file.size_bytes) for file in texts})
    shown = []
    for file in files:
        head = heads.get(file.sha256, b"").decode(errors="ignore")
        shown.append(_ShownFile(file, head + " …" if head and file.size_bytes > _HEAD_BYTES else head))
    return shown


_CHATS: Final = 50


async def recent(context: RequestContext) -> Response:
    before = bodies.integer(context, "before", -1, 0, EVENT_ID_MAX)  # ms, on the list's earlier pages
    found = await chats.recent(context.use_case, context.account, None if before < 0 else before, _CHATS + 1)
    return render("chats.html", chats=found[:_CHATS], more=len(found) > _CHATS)


async def show(context: RequestContext) -> Response:
    """Return a page of the chat. With the parameter `run`, redirect to the page that shows this run."""
    chat, query = context.path("chat"), context.request.query_params
    last = query.get("last")
    if run_id := query.get("run"):
        run, is_latest = await chats.find_turn(context.use_case, context.account, chat, run_id)
        return RedirectResponse(_run_url(run, "" if is_latest else f"?last={run.run_id}"), 303)
    shown = await chats.view(context.use_case, context.account, chat, last, query.get("files_after", ""))
    shown_files = await _shown_files(shown.files, context.services.blobs)
    scopes = {call.call_id: _scopes(context, turn.run, call) for turn in shown.turns for call in turn.waiting}
    diffs = {call.call_id: await _diff(context, call, chat) for turn in shown.turns for call in turn.waiting}
    approvals = [each for each in await standing.list_all(context.use_case, context.account) if each.chat == chat]
    return await asyncio.to_thread(
        render,
        "chat.html",
        shown=shown,
        files=shown_files,
        latest=last is None,
        scopes=scopes,
        diffs=diffs,
        approvals=approvals,
    )


async def _diff(context: RequestContext, call: CallRecord, chat: str) -> str:
    """Return a diff of the changes that a waiting call would make now, or why the call would fail.

    Return "" if the call's tool has no preview.
    """
    tool = context.services.run_tools.get(call.tool)
    if tool is None:
        return ""
    task = LiveToolContext(context.services.storage, context.account, chat, call.key)
    try:
        return await tool.preview(port.validate(tool.Input, call.input), task)
    except (ValidationError, WorkFailure) as error:
        return str(error)


def _scopes(context: RequestContext, run: RunRecord, call: CallRecord) -> list[tuple[str, str]]:
    """Return the choices for approving a waiting call alone or with further calls, as pairs of form value and label.

    Return an empty list if the user can approve only the waiting call.
    """
    durations = run_routes.durations(context, call.tool, json.loads(run.client_tools or "[]"))
    words = {"run": "in this run", "hour": "in this chat for an hour"}
    found: list[tuple[str, str]] = [(lasts, f"all calls {words[lasts]}") for lasts in durations]
    path = call.input.get("path")
    if isinstance(path, str) and (folder := path.rpartition("/")[0].strip("/")):
        found += [(f"{lasts}/{folder}", f"all calls for files in {folder} {words[lasts]}") for lasts in durations]
    return [("", "this call"), *found] if found else []


async def file(context: RequestContext) -> Response:
    """Return a file's bytes. A picture is shown. Any other file is downloaded, with scripts disabled."""
    chat, path = context.path("chat"), bodies.text(context, "path")
    record = await files.get(context.use_case, context.account, chat, path, bodies.file_version(context))
    response = await file_routes.file_response(
        context, record, "inline" if record.media_type in _PICTURES else "attachment"
    )
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox; frame-ancestors 'none'"
    return response


async def approve(context: RequestContext) -> Response:
    """Approve or refuse a waiting call, depending on the button, and redirect to the run in its chat."""
    form = await bodies.read_form_fields(context.request)
    verdict: dict[str, Any] = {"approved": {"approve": True, "refuse": False}.get(form.get("verdict", ""))}
    if reason := form.get("reason"):
        verdict["reason"] = reason
    lasts, _, place = form.get("scope", "").partition("/")
    if lasts:
        verdict["standing"] = {"lasts": lasts, "folder": place or None}
    if changed := form.get("input"):
        try:
            verdict["input"] = json_reading.read(changed, INPUT_VALUES_MAX)
        except ValueError as error:
            raise ApiError("invalid_approval", f"The arguments are not valid JSON: {error}.", field="input") from None
    await run_routes.decide_approval(context, verdict)
    return RedirectResponse(_run_url(await run_routes.named_run(context)), 303)


async def raise_limit(context: RequestContext) -> Response:
    """Raise a run's cost limit to the value of the button, and redirect to the run in its chat."""
    form = await bodies.read_form_fields(context.request)
    given = {"max_cents": _number(form.get("max_cents", ""))}
    return RedirectResponse(_run_url(await run_routes.raise_limit(context, given)), 303)


def _number(text: str) -> float | str:
    """Return the number in a form field. If it is not a number, return the text, which validation then refuses."""
    try:
        return float(text)
    except ValueError:
        return text


async def events(context: RequestContext) -> Response:
    """Return the run's event stream for the page's script."""
    return await run_routes.runs_events(context)


async def show_sent(context: RequestContext) -> Response:
    """Show what a run sent to language models."""
    run = await runs.get(context.use_case, context.account, context.path("run_id"))
    calls = await runs.list_sent(context.use_case, context.account, run.run_id)
    return await asyncio.to_thread(render, "sent.html", run=run, calls=calls)


async def revoke(context: RequestContext) -> Response:
    """Revoke an approval of further calls, and redirect to the chat for which a user gave it."""
    approval_id = context.path("approval_id")
    found = await standing.list_all(context.use_case, context.account)
    chat = next((each.chat for each in found if each.id == approval_id), None)
    await standing.revoke(context.use_case, context.account, approval_id)
    return RedirectResponse(f"/app/chats/{quote(chat)}" if chat else "/app", 303)


async def stop(context: RequestContext) -> Response:
    """Cancel a run, and redirect to the run in its chat."""
    return RedirectResponse(_run_url(await run_routes.cancel_run(context)), 303)


async def undo(context: RequestContext) -> Response:
    """Undo or redo a run's file changes. Redirect to the run, or show the files that were not changed."""
    form = await bodies.read_form_fields(context.request)
    given = NewUndo(redo=form.get("what") == "redo", force="force" in form)
    found = await run_routes.undo_run(context, given)
    left = [file for file in found.files if file.outcome == "left"]
    back = _run_url(await run_routes.named_run(context))
    return render("left.html", given=given, left=left, back=back) if left else RedirectResponse(back, 303)


def _run_url(run: RunRecord, query: str = "") -> str:
    return f"/app/chats/{quote(run.chat)}{query}#run_{run.run_id}"


# The page of a file's text.

_LINES: Final = 20_000
_CELLS: Final = 50_000
_COLUMNS: Final = 200
"""The maximum number of columns on a page. More columns would make browsers too slow, as would more lines or cells."""
_SAMPLE_ROWS: Final = 100
"""The number of rows, from the first, that decide whether a column contains numbers."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a text. `id` is the line's anchor: `line=12` or `page=2,line=5`."""

    id: str
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class _TextPage:
    """A page of a document, or the whole text if the text has no pages."""

    number: int
    """The number of the page, or 0 if the text has no pages."""
    passages: Sequence[Sequence[_Line]]
    """The lines of the page, in one group for each passage that answers can cite."""


async def show_text(context: RequestContext) -> Response:
    """Show a file: a table as rows, any other text as lines, and a picture as it is."""
    chat, path = context.path("chat"), bodies.text(context, "path")
    record = await files.get(context.use_case, context.account, chat, path)
    text = await ChatWorkspace(context.services.storage, chat).text(path)
    record = await files.get(context.use_case, context.account, chat, path)  # again: reading may have stored a fault
    return await asyncio.to_thread(_text_page, record, text)


def _text_page(record: FileRecord, text: str) -> Response:
    columns: Sequence[str] = []
    rows: Sequence[Sequence[str]] = []
    pages: Sequence[_TextPage] = []
    cut = is_truncated(text)
    if is_delimited(record.path, record.media_type) and (table := parse_text(record.path, text)):
        columns = table.columns[:_COLUMNS]
        whole_rows = table.rows[:-1] if cut else table.rows  # the last row may be truncated
        rows = [row[:_COLUMNS] for row in whole_rows[: _CELLS // len(columns)]]
        cut = cut or len(columns) < len(table.columns) or len(rows) < len(table.rows)
    elif text.strip():
        pages = _split_pages(text)
        cut = cut or len(text.splitlines()) > _LINES
    return render(
        "text.html",
        file=record,
        picture=record.media_type in _PICTURES,
        columns=columns,
        rows=rows,
        numbers=[_is_numeric(rows, at) for at in range(len(columns))],
        pages=pages,
        cut=cut,
    )


def _is_numeric(rows: Sequence[Sequence[str]], column: int) -> bool:
    """Return whether most of the first values of a column are numbers. Such columns are aligned to the right."""
    values = [row[column] for row in rows[:_SAMPLE_ROWS] if column < len(row) and row[column]]
    return sum(map(is_number, values)) > len(values) / 2


def _split_pages(text: str) -> list[_TextPage]:
    """Split a text into its pages, and group the lines of each page by the passages that answers cite."""
    texts, lines_left, pages = text.split("\f"), _LINES, []
    for number, page in enumerate(texts, 1):
        lines = page.splitlines()[:lines_left]
        lines_left -= len(lines)
        if not lines:
            continue
        prefix = f"page={number}," if len(texts) > 1 else ""
        numbered = [_Line(f"{prefix}line={line}", line, content) for line, content in enumerate(lines, 1)]
        cuts = {0, len(lines)}
        for first, block in blocks("\n".join(lines)):
            cuts |= {first - 1, first + block.count("\n")}
        passages = [numbered[start:end] for start, end in pairwise(sorted(cuts))]
        pages.append(_TextPage(number if len(texts) > 1 else 0, passages))
    return pages
