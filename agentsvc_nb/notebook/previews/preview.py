"""Preview a file as a static bundle: a heading, then the beginning of the file, or a sentence that says why there is no
preview.

The kind of a file is detected from its bytes, because its name and media type may be wrong. The name decides only
between kinds of text. A child process decodes pictures, PDF, documents and tables. Its results are not trusted, because
the file may have influenced them (docs/decisions/10).
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal

from agentsvc_nb.client.cards import format_numbers
from agentsvc_nb.documents import media_types
from agentsvc_nb.documents.decoding import DecodedText, decode
from agentsvc_nb.documents.kinds import kind_name
from agentsvc_nb.notebook.display.file_table import figure
from agentsvc_nb.notebook.display.markdown import SMALL, WRAPPED, to_html
from agentsvc_nb.notebook.display.render import MUTED, Bundle, size
from agentsvc_nb.notebook.display.results import TableCell, grid
from agentsvc_nb.notebook.previews import decoding
from agentsvc_nb.notebook.previews.decoding import CannotShow, data_uri
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.text import escape, label, plain

HEAD_BYTES: Final = 256_000
"""How many bytes of a file are read first. For text, JSON and large CSV files, this is enough."""
WHOLE_BYTES: Final = 50_000_000
"""The maximum size in bytes of files whose preview needs the complete file: pictures, PDF, documents and workbooks."""

Fetch = Callable[[Path], object]
"""Downloads the complete file to this path."""
PreviewKind = Literal["picture", "pdf", "table", "document", "player", "json", "markdown", "text", "none"]


@dataclass(frozen=True)
class PreviewedFile:
    """The file to preview. `head` is its beginning. If `fetch` is None, `head` is the complete file."""

    file: WorkspaceFile
    head: bytes
    fetch: Fetch | None = None

    @property
    def is_truncated(self) -> bool:
        """Whether the file has more bytes than `head`."""
        return self.fetch is not None and self.file.size_bytes > len(self.head)

    @property
    def name(self) -> str:
        """The name that is shown to the user."""
        return self.file.name or self.file.path

    @property
    def extension(self) -> str:
        """The file extension in lower case, such as `.csv`."""
        return PurePosixPath(self.file.path).suffix.lower()

    @cached_property
    def media_type(self) -> str:
        """The media type, detected from the bytes, and for text from the file extension."""
        head = self.head[: media_types.HEAD_BYTES]
        found = media_types.guess(f"file{self.extension}", head)
        is_named = found.startswith(("image/", "audio/", "video/")) and media_types.media_type(head) is None
        return media_types.guess("", head) if is_named else found

    @cached_property
    def text(self) -> DecodedText | None:
        """The beginning of the file as text. None if the file is not text."""
        return decode(self.head, cut=self.is_truncated)

    @contextmanager
    def on_disk(self, ending: str = "") -> Iterator[Path]:
        """In the `with` block, provide the complete file at a temporary path with this file extension.

        Raises `CannotShow` when the file has more than `WHOLE_BYTES` bytes. Also raises the errors of `fetch`.
        """
        if self.is_truncated and self.file.size_bytes > WHOLE_BYTES:
            limit = size(WHOLE_BYTES)
            raise CannotShow(
                f"The file has {size(self.file.size_bytes)}. The preview of this kind of file is limited to {limit}."
            )
        with TemporaryDirectory(prefix="agentsvc-preview-") as folder:
            path = Path(folder) / f"whole{ending}"
            if self.is_truncated and self.fetch:
                self.fetch(path)
            else:
                path.write_bytes(self.head)
            yield path


def preview_bundle(file: WorkspaceFile, head: bytes, fetch: Fetch | None = None, titled: bool = True) -> Bundle:
    """Return the preview of a file. It has at most 300 kB, contains no scripts, and loads nothing.

    Args:
        file: the service's record of the file. Only its size is trusted.
        head: the first `HEAD_BYTES` bytes of the file, or the complete file if it is smaller.
        fetch: downloads the complete file to a path, for kinds of files that need it. None if `head` is the complete
            file.
        titled: whether the preview starts with the path, size and kind of the file.

    Example:
        preview_bundle(file, client.files.head(file, 256_000, chat=chat), lambda path: ...)
    """
    subject = PreviewedFile(file, head, fetch)
    kind = kind_name(subject.media_type, file.file_name or file.path)
    lines = (
        [" · ".join(filter(None, [label(file.path), size(file.size_bytes), kind if head else ""]))] if titled else []
    )
    named = media_types.guess(f"file{subject.extension}", b"")
    if head and _is_known(named) and _preview_kind(named, subject) != _preview_kind(subject.media_type, subject):
        lines.append(f"The name of the file ends with {subject.extension}, but its content has another format: {kind}.")
    try:
        if not head:
            raise CannotShow("The file is empty.")
        body = _PREVIEWS[_preview_kind(subject.media_type, subject)](subject)
    except CannotShow as reason:
        hint = f" Download it with `%files get {label(file.path)}`." if head else ""
        body = {"text/plain": f"{reason}{hint}", "text/html": f"<div>{escape(f'{reason}{hint}', 600)}</div>"}
    above = "".join(f'<div style="{SMALL}">{escape(line, 600)}</div>' for line in lines)
    return {"text/plain": "\n".join([*lines, body["text/plain"]]), "text/html": f"{above}{body['text/html']}"}


_PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_PLAYED: Final = frozenset(
    {"audio/mpeg", "audio/wav", "audio/ogg", "audio/flac", "audio/mp4", "video/mp4", "video/webm", "video/ogg"}
)
_DOCUMENTS: Final = {
    f"{media_types.OFFICE}wordprocessingml.document",
    f"{media_types.OFFICE}presentationml.presentation",
}
_TABLES: Final = media_types.SPREADSHEETS | {
    *("text/csv", "text/tab-separated-values", "application/vnd.apache.parquet"),
}
_JSON: Final = frozenset({"application/json", "application/x-ndjson", "application/x-ipynb+json"})


def _is_known(named: str) -> bool:
    return named in _PICTURES | _PLAYED | _DOCUMENTS | _TABLES | {"application/pdf"}


def _preview_kind(media_type: str, subject: PreviewedFile) -> PreviewKind:
    for family, fitting in _FAMILIES.items():
        if media_type in fitting:
            return family
    if subject.head.startswith(b"\xd0\xcf\x11\xe0"):  # Office, before 2007 or encrypted
        return "document" if subject.extension in (".docx", ".pptx") else "table"
    return "text" if subject.text and media_type != "application/zip" else "none"


_FAMILIES: Final[Mapping[PreviewKind, frozenset[str] | set[str]]] = {
    "picture": _PICTURES,
    "pdf": {"application/pdf"},
    "table": _TABLES,
    "document": _DOCUMENTS,
    "player": _PLAYED,
    "json": _JSON,
    "markdown": {"text/markdown"},
}

EMBEDDED_BYTES: Final = 200_000
"""The maximum size in bytes of sound or video that is embedded in the output."""
_EDGE: Final = "max-width:100%;border:1px solid var(--jp-border-color2,#8884)"


def _picture_preview(subject: PreviewedFile) -> Bundle:
    with subject.on_disk() as path:
        return picture_bundle(subject, decoding.decode("medium", path))


def picture_bundle(subject: PreviewedFile, found: Mapping[str, Any]) -> Bundle:
    """Return the decoded picture, or an animation's first frame, scaled down.

    Raises `CannotShow` if the decoder's result is not valid.
    """
    frames = found.get("frames", 1)
    animated = f", the first of {frames:,} frames" if isinstance(frames, int) and frames > 1 else ""
    edges = (f"{edge:,}" if isinstance(edge, int) else "?" for edge in (found.get("width"), found.get("height")))
    caption = f"{' × '.join(edges)} pixels{animated}"
    image = f'<img src="{data_uri(found.get("picture"))}" alt="{escape(f"{subject.name}, {caption}", 400)}"'
    return {"text/plain": caption, "text/html": figure(f'{image} style="max-width:100%">', caption)}


def _pdf_preview(subject: PreviewedFile) -> Bundle:
    with subject.on_disk() as path:
        return pdf_bundle(subject, decoding.decode("pages", path))


def pdf_bundle(subject: PreviewedFile, found: Mapping[str, Any]) -> Bundle:
    """Return the first three pages as pictures with alternative text. Raises `CannotShow` if a picture is not valid."""
    count = found.get("count", 0)
    lines, figures = [f"{count:,} page{'s' * (count != 1)}"], []
    for number, page in enumerate(found.get("pages", ())[:3], 1):
        words, caption = label(page.get("text", ""), 300), f"page {number} of {count:,}"
        alt = escape(f"{subject.name}, {caption}: {words}", 400)
        figures.append(figure(f'<img src="{data_uri(page.get("picture"))}" alt="{alt}" style="{_EDGE}">', caption))
        lines.append(f"{caption}: {words}")
    return {"text/plain": "\n".join(lines), "text/html": f"<div>{''.join(figures)}</div>"}


def _player(subject: PreviewedFile) -> Bundle:
    """Return an output that plays sound or video. Raises `CannotShow` for more than 200 kB."""
    if subject.is_truncated or len(subject.head) > EMBEDDED_BYTES:
        raise CannotShow(f"Sound and video can be played here up to {size(EMBEDDED_BYTES)}.")
    kind = kind_name(subject.media_type, subject.file.path)
    tag = subject.media_type.partition("/")[0]
    style = ' style="max-width:100%;max-height:400px"' if tag == "video" else ""
    source = f"data:{subject.media_type};base64,{base64.b64encode(subject.head).decode()}"
    title = escape(f"{kind} {subject.name}", 400)
    return {
        "text/plain": f"A {kind}. Download it with `%files get {label(subject.file.path)}`.",
        "text/html": f'<{tag} controls preload="metadata" src="{source}" title="{title}"{style}></{tag}>',
    }


NOT_SHOWN: Final = "There is no preview for this kind of file."
CHARS: Final = 4_000
MARKDOWN_CELLS_MAX: Final = 2_500
"""The maximum number of cells of a Markdown table. Rows are padded to the length of the header, so a short text could
become a very large table.
"""


def _document_preview(subject: PreviewedFile) -> Bundle:
    """Format the first 4,000 characters of a Word or PowerPoint file. Raises `CannotShow` if it can't be decoded."""
    with subject.on_disk(subject.extension) as path:
        whole = plain(str(decoding.decode("document", path).get("text", "")))
    return _markdown_bundle(whole[:CHARS], "its text" + (", the beginning" if len(whole) > CHARS else ""))


def _markdown_preview(subject: PreviewedFile) -> Bundle:
    return _markdown_bundle(*_read_beginning(subject))


def _markdown_bundle(text: str, note: str) -> Bundle:
    """Format Markdown, with raw HTML as text and pictures as links. If a table could be too large, show the source."""
    source = _preformatted_bundle(text, note)
    lines = text.split("\n")
    if len(lines) * max(line.count("|") for line in lines) > MARKDOWN_CELLS_MAX:
        return source
    return source | {"text/html": to_html(text) + _notes([note])}


def _text_preview(subject: PreviewedFile, *notes: str) -> Bundle:
    """Return the first 4,000 characters of a text, with these notes below."""
    return _preformatted_bundle(*_read_beginning(subject), *notes)


def _no_preview(subject: PreviewedFile) -> Bundle:
    raise CannotShow(NOT_SHOWN)


def _json_preview(subject: PreviewedFile) -> Bundle:
    """Return indented JSON. Truncated files, JSON Lines and invalid JSON are shown as they are."""
    if subject.text is None or subject.is_truncated or subject.media_type == "application/x-ndjson":
        return _text_preview(subject)
    try:
        indented = json.dumps(json.loads(subject.text.text), indent=2, ensure_ascii=False)
    except RecursionError:
        return _text_preview(subject, "nested too deeply")
    except ValueError as error:
        return _text_preview(subject, f"it is not valid JSON: {error}")
    note = f"the first {CHARS:,} of {len(indented):,} characters" if len(indented) > CHARS else ""
    return _preformatted_bundle(plain(indented[: 2 * CHARS])[:CHARS], note)


def _read_beginning(subject: PreviewedFile) -> tuple[str, str]:
    """Return a text's printable beginning, and a note on encoding and extent.

    Raises `CannotShow` if the file is not text.
    """
    if (found := subject.text) is None:
        raise CannotShow(NOT_SHOWN)
    notes = []
    if subject.is_truncated:
        notes.append(f"the beginning of {size(subject.file.size_bytes)}")
    elif len(found.text) > CHARS:
        notes.append(f"the first {CHARS:,} of {len(found.text):,} characters")
    if found.encoding != "utf-8":
        notes.append(f"probably in {found.encoding}" if found.guessed else f"in {found.encoding}")
    return plain(found.text[: 2 * CHARS])[:CHARS], ", ".join(notes)


def _preformatted_bundle(text: str, *notes: str) -> Bundle:
    """Return a text as it is, with these notes below. Empty notes are left out."""
    below = [f"({note})" for note in notes if note]
    shown = f'<pre style="{WRAPPED}">{html.escape(text)}</pre>{_notes(notes)}'
    return {"text/plain": "\n".join([text, *below]), "text/html": shown}


def _notes(notes: Sequence[str]) -> str:
    return "".join(f'<div style="{SMALL}">({escape(note, 400)})</div>' for note in notes if note)


ROWS: Final = 20
COLUMNS: Final = 20
CELL_CHARS: Final = 80
NOTES: Final = 8
TEXT_BYTES: Final = 5_000_000
"""The maximum size in bytes of a table in text form that is downloaded completely. Of a larger one, only the beginning
is read.
"""
_NUMBER: Final = re.compile(r"-?\d{1,40}(?:\.\d{1,40})?")


def _table_preview(subject: PreviewedFile) -> Bundle:
    """Return the first 20 rows of a CSV file, a Parquet file or a workbook's first sheet.

    If a CSV file can't be read as a table, return its text. Raises `CannotShow` for other unreadable files.
    """
    is_text = subject.media_type.startswith("text/")
    is_part = is_text and subject.is_truncated and subject.file.size_bytes > TEXT_BYTES
    read = PreviewedFile(subject.file, _whole_lines(subject.head)) if is_part else subject
    ending = media_types.table_ending("", subject.media_type) or ".xlsx"
    try:
        with read.on_disk(ending) as path:
            found = decoding.decode("beginning", path)
    except CannotShow as reason:
        if is_text:
            return _text_preview(subject, f"no table: {reason}")
        raise
    count, shown = found.get("count", 0), len(found.get("rows", []))
    if is_part:
        return table_bundle(f"the first {ROWS} rows of a file of {size(subject.file.size_bytes)}", found)
    return table_bundle(
        f"the first {shown} of {count:,} rows" if count > shown else f"{count:,} row{'s' * (count != 1)}", found
    )


def _whole_lines(head: bytes) -> bytes:
    """Truncate a text after its last line break that is not between quotation marks."""
    width = 2 if b"\0" in head else 1  # a UTF-16 character has two bytes
    last = end = head.rfind(b"\n")
    while end > 0 and head.count(b'"', 0, end) % 2:
        end = head.rfind(b"\n", 0, end)
        if last - end > 20_000:  # a quotation mark without a closing one
            end = 0
    end = end if end > 0 else last
    return head[: (end + width) // width * width] if end > 0 else head


def table_bundle(caption: str, found: Mapping[str, Any]) -> Bundle:
    """Return the decoded table as an output of at most 20 rows and 20 columns, with types below the column names."""
    names = [label(name, CELL_CHARS) for name in found.get("names", [])[:COLUMNS]]
    types = [str(kind) for _, kind in zip_longest(names, found.get("types", [])[: len(names)], fillvalue="")]
    kinds = [TableCell(label(kind, 40), f'<span style="{MUTED}">{escape(kind, 40)}</span>') for kind in types]
    rows = [_typed_cells(row, types) for row in found.get("rows", [])[:ROWS]]
    columns = [format_numbers(name, [row[at] for row in rows]) for at, name in enumerate(names)]
    cells = [
        [TableCell("" if values[at] is None else label(values[at], CELL_CHARS)) for values in columns]
        for at in range(len(rows))
    ]
    notes = [label(note) for note in found.get("notes", [])[:NOTES]]
    sheets = [label(name, 40) for name in found.get("sheets", [])[:10]]
    if sheets[1:]:
        notes.insert(0, f"{sheets[0]}; the other sheets are {', '.join(sheets[1:])}")
    if hidden := found.get("columns", 0) - len(names):
        notes.append(f"{hidden:,} more columns")
    return grid(caption, names, [kinds, *cells], notes)


def _typed_cells(row: Sequence[object], types: Sequence[str]) -> list[object]:
    """Return the cells of a row, numbers as `Decimal`. Add None for cells at the end that the decoder left out."""
    return [
        Decimal(value) if kind.startswith("number") and isinstance(value, str) and _NUMBER.fullmatch(value) else value
        for value, kind in zip_longest(row[: len(types)], types)
    ]


_PREVIEWS: Final[Mapping[PreviewKind, Callable[[PreviewedFile], Bundle]]] = {
    "picture": _picture_preview,
    "pdf": _pdf_preview,
    "table": _table_preview,
    "document": _document_preview,
    "player": _player,
    "json": _json_preview,
    "markdown": _markdown_preview,
    "text": _text_preview,
    "none": _no_preview,
}
