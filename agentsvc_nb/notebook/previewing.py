"""Look at a file of the notebook's chat without taking it out: its beginning."""

from __future__ import annotations

import csv
import html
import io
import json
from pathlib import PurePosixPath
from typing import Any, Final

from agentsvc_nb.notebook import pictures
from agentsvc_nb.notebook.failures import AskError
from agentsvc_nb.notebook.grid import grid
from agentsvc_nb.notebook.markdown import to_html
from agentsvc_nb.notebook.render import MUTED, Bundle
from agentsvc_nb.notebook.session import Session
from agentsvc_nb.notebook.tables import size
from agentsvc_nb.notebook.telling import telling
from agentsvc_nb.safe.text import escape, excerpt, label
from agentsvc_nb.wire.files import WorkspaceFile

PREVIEW_BYTES: Final = pictures.SOURCE_BYTES
PREVIEW_CHARS: Final = 4_000
CSV_ROWS: Final = 20
_CSV_FIELDS: Final = 20
_PRE: Final = '<pre style="white-space:pre-wrap">'


class Preview:
    """What a cell shows of files."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def __repr__(self) -> str:
        return self._bundle["text/plain"]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Bundle:
        return dict(self._bundle)


def chat_of(session: Session) -> str:
    """This notebook's chat. Raises `AskError` when it has none yet."""
    chat = session.known_chat(session.address())
    if not chat:
        raise AskError("This notebook has no chat yet, so no files.", "Ask something first.")
    return chat


def listed(session: Session) -> list[WorkspaceFile]:
    """The files of this notebook's chat, by path. Raises `AskError`."""
    chat = chat_of(session)
    with telling(session):
        found = list(session.client().files.list(chat))
    session.known.files = [file.path for file in found]
    return found


def files_preview(session: Session, path: str | WorkspaceFile) -> Preview:
    """The beginning of a file: a table of CSV, formatted Markdown, a picture, or text; HTML as its source.

    Raises `AskError`: there is no such file, it is over 20 MB, or it is neither text nor a picture.
    """
    file = path if isinstance(path, WorkspaceFile) else next((f for f in listed(session) if f.path == path), None)
    if file is None:
        raise AskError(f"There is no file {label(path)} in this chat.", "`%files` lists them.")
    if file.size_bytes > PREVIEW_BYTES:
        raise AskError(f"{label(path)} has {size(file.size_bytes)}: too much to look at.", f"%files get {label(path)}")
    return Preview(preview_bundle(file, content(session, file)))


def content(session: Session, file: WorkspaceFile) -> bytes:
    """All of a file of this notebook's chat. Raises `AskError`."""
    with telling(session):
        data = session.client().files.download(file.path, chat=chat_of(session))
    assert isinstance(data, bytes)
    return data


def preview_bundle(file: WorkspaceFile, data: bytes) -> Bundle:
    """The beginning of a file by what it is: its media type is only a claim, and HTML is shown as its source."""
    head = f"{label(file.path)} · {size(file.size_bytes)} · {label(file.media_type, 80)}"
    body = _picture(file, data) or _text(file, data)
    return {
        "text/plain": f"{head}\n{body['text/plain']}",
        "text/html": f'<div style="{MUTED}">{escape(head, 400)}</div>{body["text/html"]}',
    }


def _picture(file: WorkspaceFile, data: bytes) -> Bundle | None:
    if (uri := pictures.thumbnail(data)) is None:
        return None
    return {"text/plain": "(a picture)", "text/html": f'<img src="{uri}" alt="{escape(file.path)}">'}


def _text(file: WorkspaceFile, data: bytes) -> Bundle:
    kind = PurePosixPath(file.path).suffix.lower()
    if b"\0" in data[:8192]:
        return {"text/plain": "(no text)", "text/html": f'<div style="{MUTED}">This is no text and no picture.</div>'}
    text = data[: 8 * PREVIEW_CHARS].decode("utf-8", "replace")
    if kind in (".csv", ".tsv"):
        return _rows(text, "\t" if kind == ".tsv" else ",", cut=len(data) > 8 * PREVIEW_CHARS)
    if kind == ".json":
        text = _indented(data, text)
    shown = _source(text)
    return shown | {"text/html": to_html(shown["text/plain"])} if kind in (".md", ".markdown") else shown


def _source(text: str) -> Bundle:
    shown = excerpt(text, PREVIEW_CHARS)
    return {"text/plain": shown, "text/html": f"{_PRE}{html.escape(shown)}</pre>"}


def _rows(text: str, separator: str, *, cut: bool) -> Bundle:
    read = csv.reader(io.StringIO(text.replace("\0", "")), delimiter=separator)
    try:
        rows = [row[:_CSV_FIELDS] for row, _ in zip(read, range(CSV_ROWS + 1), strict=False) if row]
        more = cut or next(read, None) is not None
    except csv.Error:
        return _source(text)
    width = max((len(row) for row in rows), default=0)
    even = [[*row, *[""] * (width - len(row))] for row in rows]
    notes = [f"the first {len(even) - 1} rows"] if more else []
    return grid("", even[0], even[1:], notes) if even else {"text/plain": "(empty)", "text/html": "<p>(empty)</p>"}


def _indented(data: bytes, text: str) -> str:
    try:
        return json.dumps(json.loads(data), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
