"""Look at files of the notebook's chat without taking them out: the beginning of one, or the pictures of all."""

from __future__ import annotations

import csv
import fnmatch
import html
import io
import json
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

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

if TYPE_CHECKING:
    from agentsvc_nb.client.surface import AgentService

PREVIEW_BYTES: Final = pictures.SOURCE_BYTES
PREVIEW_CHARS: Final = 4_000
CSV_ROWS: Final = 20
_CSV_FIELDS: Final = 20
_PRE: Final = '<pre style="white-space:pre-wrap">'
_FIGURE: Final = "display:inline-block;vertical-align:top;width:256px;margin:4px 12px 8px 0;overflow-wrap:anywhere"


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
    return Preview(preview_bundle(file, _bytes(session, session.client(), file)))


def files_gallery(session: Session, pattern: str = "*") -> Preview:
    """The chat's pictures whose path or name fits the glob, small, newest first: 12 at most. Raises `AskError`."""
    found = [file for file in listed(session) if file.media_type.startswith("image/") and _fits(file, pattern)]
    if not found:
        raise AskError(f"This chat has no pictures that fit {label(pattern)}.", "`%files` lists its files.")
    newest = sorted(found, key=lambda file: file.updated_at or "", reverse=True)
    return Preview(gallery_bundle(newest, {file.path: _small(session, file) for file in newest[: pictures.PER_OUTPUT]}))


def _fits(file: WorkspaceFile, pattern: str) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for name in (file.path, file.file_name))


def _small(session: Session, file: WorkspaceFile) -> str | None:
    if not 0 < file.size_bytes <= pictures.SOURCE_BYTES:
        return None
    return pictures.thumbnail(_bytes(session, session.client(), file))


def _bytes(session: Session, client: AgentService, file: WorkspaceFile) -> bytes:
    with telling(session):
        data = client.files.download(file.path, chat=chat_of(session))
    assert isinstance(data, bytes)
    return data


def gallery_bundle(files: list[WorkspaceFile], thumbs: dict[str, str | None]) -> Bundle:
    """Pictures beside each other with their paths, within the budget of an output; the rest by name."""
    figures, lines, spent = [], [], 0
    for file in files:
        uri = thumbs.get(file.path)
        lines.append(f"  {label(file.path)}  ({size(file.size_bytes)})")
        if uri is not None and spent + len(uri) <= pictures.OUTPUT_BYTES:
            spent += len(uri)
            figures.append(_figure(file, uri))
    rest = len(files) - len(figures)
    more = [f"… {rest} not shown; `%files get PATH` fetches one"] if rest else []
    tail = "".join(f'<div style="{MUTED}">{escape(line)}</div>' for line in more)
    return {
        "text/plain": "\n".join([f"{len(files)} picture{'s' * (len(files) != 1)}", *lines, *more]),
        "text/html": f"<div>{''.join(figures)}</div>{tail}",
    }


def _figure(file: WorkspaceFile, uri: str) -> str:
    name = escape(file.name or file.file_name or file.path)
    caption = f'<figcaption style="{MUTED}">{escape(file.path)}, {size(file.size_bytes)}</figcaption>'
    return f'<figure style="{_FIGURE}"><img src="{uri}" alt="{name}">{caption}</figure>'


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
