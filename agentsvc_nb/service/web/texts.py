"""The page of a file's text, with an anchor for each line or row that an answer can cite."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from starlette.responses import Response

from agentsvc_nb.formats.safe_text import blocks
from agentsvc_nb.formats.tables.plain import Table, is_table, parse
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.records.files import FileRecord
from agentsvc_nb.service.runner.storage import ChatWorkspace
from agentsvc_nb.service.usecases import files
from agentsvc_nb.service.web.chats import PICTURES
from agentsvc_nb.service.web.rendering import render
from agentsvc_nb.wire.limits import INDEXED_TEXT_BYTES

_LINES: Final = 20_000
_CELLS: Final = 50_000
_COLUMNS: Final = 200
"""The most lines, cells and columns that a page shows: a browser takes too long for more."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a text; `id` is its anchor: `line=12` or `page=2,line=5`."""

    id: str
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class _TextPage:
    """A page of a document, or all of a text without pages (`number` 0): its lines, grouped by passage."""

    number: int
    passages: Sequence[Sequence[_Line]]


async def show(context: RequestContext) -> Response:
    """The page of a file: the rows of a table, the lines of a text, or the picture."""
    chat, path = context.path("chat"), bodies.text(context, "path")
    record = await files.get(context.use_case, context.account, chat, path)
    text = await ChatWorkspace(context.services.storage, chat).text(path)
    return await asyncio.to_thread(_page, record, text)


def _page(record: FileRecord, text: str) -> Response:
    unread = len(text) >= INDEXED_TEXT_BYTES  # the index holds only the beginning of the file
    table = parse(record.path, text) if is_table(record.path, record.media_type) else None
    pages = [] if table or not text.strip() else _pages(text)
    columns, rows = _cells(table, unread) if table else ([], [])
    left = (
        len(columns) < len(table.columns) or len(rows) < len(table.rows) if table else len(text.splitlines()) > _LINES
    )
    return render(
        "text.html",
        file=record,
        picture=record.media_type in PICTURES,
        columns=columns,
        rows=rows,
        pages=pages,
        cut=unread or left,
    )


def _cells(table: Table, unread: bool) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    columns = table.columns[:_COLUMNS]
    rows = table.rows[:-1] if unread else table.rows  # the last row is cut off
    return columns, [row[:_COLUMNS] for row in rows[: _CELLS // len(columns)]]


def _pages(text: str) -> list[_TextPage]:
    pages, left, found = text.split("\f"), _LINES, []
    for number, page in enumerate(pages, 1):
        lines = page.splitlines()[:left]
        left -= len(lines)
        if lines:
            found.append(_numbered(lines, number if len(pages) > 1 else 0))
    return found


def _numbered(lines: Sequence[str], page: int) -> _TextPage:
    prefix = f"page={page}," if page else ""
    numbered = [_Line(f"{prefix}line={number}", number, line) for number, line in enumerate(lines, 1)]
    # The lines at which passages, as answers cite them, begin and end.
    cuts = {0, len(lines)}
    for first, block in blocks("\n".join(lines)):
        cuts |= {first - 1, first + block.count("\n")}
    ends = sorted(cuts)
    return _TextPage(page, [numbered[start:end] for start, end in pairwise(ends)])
