"""The preview of a file as a static bundle: a heading, then its beginning, or a sentence why that can't be shown.

Here are pictures, PDF, sound, video and tables, most of them decoded in another process, whose answers are trusted no
more than the file (docs/decisions/0022); `text` has the kinds of text. Thumbnails of a gallery are decoded likewise.
"""

from __future__ import annotations

import base64
import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Final

from agentsvc_nb.client.cards import separated
from agentsvc_nb.notebook.display import file_table
from agentsvc_nb.notebook.display.markdown import SMALL
from agentsvc_nb.notebook.display.render import MUTED, Bundle, size
from agentsvc_nb.notebook.display.results import Cell, grid
from agentsvc_nb.notebook.previews import decoding
from agentsvc_nb.notebook.previews.kinds import CannotShow, Family, Fetch, Kind, Subject, ending_of, kind_of, mismatch
from agentsvc_nb.notebook.previews.text import (
    CHARS,
    hexdump,
    json_preview,
    markdown_bundle,
    markdown_preview,
    page_preview,
    source_preview,
    text_preview,
)
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.text import escape, label, plain


def preview_bundle(file: WorkspaceFile, head: bytes, fetch: Fetch | None = None) -> Bundle:
    """Return the preview of a file, at most 300 kB; it has no scripts and fetches nothing.

    Args:
        file: the service's record of the file. Only its size is trusted.
        head: the first `kinds.HEAD_BYTES` bytes of the file, or the whole file if it is smaller.
        fetch: downloads the whole file to a path, for the kinds that need it; None if `head` is the whole file.

    Example:
        preview_bundle(file, client.files.head(file, 256_000, chat=chat), lambda path: ...)
    """
    subject = Subject(file, head, fetch)
    facts = " · ".join(filter(None, [label(file.path), size(file.size_bytes), file_table.kind_of(file)]))
    if not head:
        return _with_heading([facts], _sentence("The file is empty."))
    kind = kind_of(subject)
    try:
        body = _PREVIEWS[kind.family](subject, kind)
    except CannotShow as reason:
        body = _sentence(f"{kind.noun}: {reason} To have it: %files get {label(file.path)}")
    return _with_heading([facts, mismatch(subject, kind)], body)


def _sentence(sentence: str) -> Bundle:
    return {"text/plain": label(sentence, 600), "text/html": f"<div>{escape(sentence, 600)}</div>"}


def _with_heading(lines: list[str], body: Bundle) -> Bundle:
    """Put lines of our own above a body; empty lines are left out."""
    heads = [line for line in lines if line]
    head = "".join(f'<div style="{SMALL}">{escape(line, 600)}</div>' for line in heads)
    return {
        "text/plain": "\n".join([*heads, body["text/plain"]]),
        "text/html": f"{head}{body['text/html']}",
    }


PICTURE_CHARS: Final = 100_000
"""The longest picture in base64 that a decoder may return: 75 kB."""
LARGE_CHARS: Final = 400_000
"""The same for a large view: 300 kB."""
EMBEDDED_BYTES: Final = 200_000
"""The largest sound or video that is embedded in the output."""
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_EDGE: Final = ";border:1px solid var(--jp-border-color2,#8884)"
"""Of a page, which is as white as a light theme."""
_FIGURE: Final = "display:inline-block;vertical-align:top;margin:4px 12px 8px 0;max-width:100%;overflow-wrap:anywhere"


def _picture_preview(subject: Subject, kind: Kind) -> Bundle:
    """The picture, scaled down; of an animation the first frame. Raises `CannotShow` when it cannot be decoded."""
    with subject.on_disk() as path:
        return picture_bundle(subject, kind, decoding.asked("pictures", path))


def picture_bundle(subject: Subject, kind: Kind, found: dict[str, Any]) -> Bundle:
    """The decoder's answer as an output. Raises `CannotShow` when it has no valid picture."""
    frames = found.get("frames", 1)
    animated = f", the first of {frames:,} frames" if isinstance(frames, int) and frames > 1 else ""
    caption = label(f"{_number(found.get('width'))} × {_number(found.get('height'))} pixels{animated}")
    alternative = f"{subject.name}: {kind.noun}, {caption}"
    return {"text/plain": caption, "text/html": _figure(found.get("picture"), alternative, caption)}


def _pdf_preview(subject: Subject, kind: Kind) -> Bundle:
    """The first three pages as pictures, with their text as alternative text.

    Raises `CannotShow` when the file cannot be decoded.
    """
    with subject.on_disk() as path:
        return pdf_bundle(subject, decoding.asked("pages", path))


def pdf_bundle(subject: Subject, found: dict[str, Any]) -> Bundle:
    """The decoder's answer as an output. Raises `CannotShow` when a page has no valid picture."""
    count = found.get("count", 0)
    figures: list[str] = []
    lines = [label(f"{count:,} page{'s' * (count != 1)}")]
    for number, page in enumerate(found.get("pages", ())[:3], 1):
        words = label(page.get("text", ""), 300)
        caption = f"page {number} of {count:,}"
        figures.append(_figure(page.get("picture"), f"{subject.name}, {caption}: {words}", caption, _EDGE))
        lines.append(f"{caption}: {words}")
    return {"text/plain": "\n".join(lines), "text/html": f"<div>{''.join(figures)}</div>"}


def _document_preview(subject: Subject, kind: Kind) -> Bundle:
    """The first 4,000 characters of a Word document or PowerPoint deck, formatted as Markdown.

    Raises `CannotShow` when the file cannot be decoded.
    """
    with subject.on_disk(kind.endings.split()[0]) as path:
        whole = plain(str(decoding.asked("documents", path).get("text", "")))
    return markdown_bundle(whole[:CHARS], "its text" + (", the beginning" if len(whole) > CHARS else ""))


def _player(subject: Subject, kind: Kind) -> Bundle:
    """Sound or video, embedded in the output. Raises `CannotShow` for more than 200 kB."""
    if subject.cut or len(subject.head) > EMBEDDED_BYTES:
        raise CannotShow(
            f"only up to {size(EMBEDDED_BYTES)} are played in the cell, so that the notebook stays small;"
            " play a larger one from disk with IPython.display.Video or Audio."
        )
    data = base64.b64encode(subject.head).decode()
    tag = kind.media.partition("/")[0]
    path = label(subject.file.path)
    hint = f"If it does not play here: %files get {path}"
    style = ' style="max-width:100%;max-height:400px"' if tag == "video" else ""
    return {
        "text/plain": f"{kind.noun}. To have it: %files get {path}",
        "text/html": f'<{tag} controls preload="metadata" src="data:{kind.media};base64,{data}"'
        f' title="{escape(f"{kind.noun} {subject.name}", 400)}"{style}></{tag}>'
        f'<div style="{SMALL}">{escape(hint, 400)}</div>',
    }


def _data_uri(picture: Any, limit: int = PICTURE_CHARS) -> str:
    """Return a data URI of a WebP picture in base64.

    Raises `CannotShow` for a value that is not base64, or has more than `limit` characters.
    """
    if not isinstance(picture, str) or len(picture) > limit or not _BASE64.fullmatch(picture):
        raise CannotShow("its decoder gave no picture.")
    return f"data:image/webp;base64,{picture}"


def _figure(picture: Any, alternative: str, caption: str, edge: str = "") -> str:
    """Return a WebP picture in base64 as a figure, with the CSS of its `edge`.

    Raises `CannotShow` when it is not base64, or too large.
    """
    return (
        f'<figure style="{_FIGURE}"><img src="{_data_uri(picture)}" alt="{escape(alternative, 400)}"'
        f' style="max-width:100%{edge}"><figcaption style="{SMALL}">{escape(caption, 400)}</figcaption></figure>'
    )


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else "?"


class Thumbnails:
    """Scales pictures down, in two processes (small and large) that end with its `with` block. Not thread-safe.

    Example: `with Thumbnails() as thumbnails: uri, texts = thumbnails.small(data)`
    """

    def __enter__(self) -> Thumbnails:
        self._stack = contextlib.ExitStack()
        self._path = Path(self._stack.enter_context(TemporaryDirectory(prefix="agentsvc-pictures-"))) / "whole"
        self._small = self._stack.enter_context(decoding.Decoder("small"))
        self._large = self._stack.enter_context(decoding.Decoder("large"))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.__exit__(kind, error, at)

    def small(self, data: bytes) -> tuple[str | None, dict[str, Any]]:
        """Return a thumbnail of at most 256 pixels an edge as a data URI, and the picture's text chunks by keyword.

        The thumbnail is None if the picture can't be decoded.
        """
        found = self._decode(self._small, data)
        texts = found.get("texts")
        return _uri_or_none(found), texts if isinstance(texts, dict) else {}

    def large(self, data: bytes) -> str | None:
        """Return a view of at most 1,200 pixels an edge and 300 kB as a data URI; None if it can't be decoded."""
        return _uri_or_none(self._decode(self._large, data), LARGE_CHARS)

    def _decode(self, decoder: decoding.Decoder, data: bytes) -> dict[str, Any]:
        self._path.write_bytes(data)
        with contextlib.suppress(CannotShow):  # a missing picture is no failure
            return decoder.asked(self._path)
        return {}


def _uri_or_none(found: dict[str, Any], limit: int = PICTURE_CHARS) -> str | None:
    with contextlib.suppress(CannotShow):
        return _data_uri(found.get("picture"), limit)
    return None


ROWS: Final = 20
COLUMNS: Final = 20
CELL_CHARS: Final = 80
NOTES: Final = 8
_PLAIN: Final = re.compile(r"-?\d{1,40}(?:\.\d{1,40})?")
TEXT_BYTES: Final = 5_000_000
"""The largest table as text that is fetched whole; of a larger one the beginning is read."""


def _csv_preview(subject: Subject, kind: Kind) -> Bundle:
    """The first 20 rows of CSV or TSV; the text if it is not a table."""
    part = subject.cut and subject.file.size_bytes > TEXT_BYTES
    try:
        found = _found(Subject(subject.file, _whole_lines(subject.head)) if part else subject, kind)
    except CannotShow as reason:
        return source_preview(subject, f"no table: {reason}")
    beginning = f"the first {ROWS} rows of {size(subject.file.size_bytes)}, read by its beginning"
    return table_bundle(beginning if part else _amount(found), found)


def _sheet_preview(subject: Subject, kind: Kind) -> Bundle:
    """The first 20 rows of Parquet, or of the first sheet of a workbook.

    Raises `CannotShow` when the file cannot be decoded.
    """
    found = _found(subject, kind)
    return table_bundle(_amount(found), found)


def _found(subject: Subject, kind: Kind) -> dict[str, Any]:
    """What is decoded of a file, whose name may have another ending than its kind has."""
    named, endings = ending_of(subject), kind.endings.split()
    with subject.on_disk(named if named in endings else endings[0]) as path:
        return decoding.asked("beginning", path)


def _whole_lines(head: bytes) -> bytes:
    """The beginning of a text up to the last end of a line that no quotation mark is open at."""
    wide = 2 if b"\0" in head else 1  # UTF-16 must be cut between two characters
    last = end = head.rfind(b"\n")
    quotes = head.count(b'"', 0, max(end, 0))
    while end > 0 and quotes % 2:
        before = head.rfind(b"\n", 0, end)
        quotes -= head.count(b'"', max(before, 0), end)
        end = before
    end = end if end > 0 else last
    return head[: (end + wide) // wide * wide] if end > 0 else head


def _amount(found: dict[str, Any]) -> str:
    count, shown = found.get("count", 0), len(found.get("rows", []))
    return f"the first {shown} of {count:,} rows" if count > shown else f"{count:,} row{'s' * (count != 1)}"


def table_bundle(caption: str, found: dict[str, Any]) -> Bundle:
    """The decoder's answer as a table of at most 20 rows of 20 columns, with the types below the names."""
    names, rows = found.get("names", []), found.get("rows", [])
    columns = [label(name, CELL_CHARS) for name in names[:COLUMNS]]
    types = [str(kind) for _, kind in zip_longest(columns, found.get("types", [])[: len(columns)], fillvalue="")]
    kinds = [_type_cell(kind) for kind in types]
    read = [_typed(row, types) for row in rows[:ROWS]]
    by_column = [separated(name, [row[at] for row in read]) for at, name in enumerate(columns)]
    shown = [[_value_cell(values[number]) for values in by_column] for number in range(len(read))]
    told: list[str] = []
    if (sheets := found.get("sheets", []))[1:]:
        others = ", ".join(label(name, 40) for name in sheets[1:10])
        # The names come from a decoder that is trusted no more than the file: each is cut and made harmless.
        told.append(f"{label(sheets[0], 40)}; there are also {others}")
    if hidden := found.get("columns", 0) - len(names):
        told.append(f"{hidden:,} more columns")
    return grid(caption, columns, [kinds, *shown], [*told, *found.get("notes", [])[:NOTES]])


def _typed(row: Sequence[object], types: Sequence[str]) -> list[object]:
    """A cell for each column, as a number if its column's type is one; the decoder may have given fewer or more."""
    return [
        Decimal(value) if kind.startswith("number") and isinstance(value, str) and _PLAIN.fullmatch(value) else value
        for value, kind in zip_longest(row[: len(types)], types)
    ]


def _type_cell(kind: object) -> Cell:
    return Cell(label(kind, 40), f'<span style="{MUTED}">{escape(kind, 40)}</span>')


def _value_cell(value: object) -> Cell:
    return Cell("" if value is None else label(value, CELL_CHARS))


_PREVIEWS: Final[Mapping[Family, Callable[[Subject, Kind], Bundle]]] = {
    "picture": _picture_preview,
    "pdf": _pdf_preview,
    "sheet": _sheet_preview,
    "document": _document_preview,
    "media": _player,
    "page": page_preview,
    "json": json_preview,
    "csv": _csv_preview,
    "markdown": markdown_preview,
    "text": text_preview,
    "bytes": hexdump,
}
