"""The file of a preview, and the detection of its kind by its bytes; its name decides only among kinds of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Final, Literal

from agentsvc_nb.documents.decoding import DecodedText, decode
from agentsvc_nb.documents.media_types import HEAD_BYTES as SIGNATURE_BYTES
from agentsvc_nb.documents.media_types import OFFICE, guess, media_type
from agentsvc_nb.notebook.display.render import size
from agentsvc_nb.wire.files import WorkspaceFile

HEAD_BYTES: Final = 256_000
"""How many bytes of a file are read at first. Text, JSON, HTML and large CSV are previewed from these alone."""
WHOLE_BYTES: Final = 50_000_000
"""The largest picture, PDF, Parquet file, workbook or document that is previewed: these need the whole file."""

Fetch = Callable[[Path], object]
"""Downloads the whole file to this path."""


class CannotShow(Exception):
    """Raised when a file has no preview. The message is a sentence that says why."""


@dataclass(frozen=True)
class Subject:
    """The file of a preview. `head` is its beginning; without a `fetch`, the whole file."""

    file: WorkspaceFile
    head: bytes
    fetch: Fetch | None = None

    @property
    def cut(self) -> bool:
        """Whether the file goes on after `head`."""
        return self.fetch is not None and self.file.size_bytes > len(self.head)

    @property
    def name(self) -> str:
        """The name shown to the user."""
        return self.file.name or self.file.path

    @cached_property
    def text(self) -> DecodedText | None:
        """The beginning of the file as text; None if it is not text."""
        return decode(self.head, cut=self.cut)

    @contextmanager
    def on_disk(self, ending: str = "") -> Iterator[Path]:
        """Provide the whole file at a temporary path, with this ending, within a `with` block.

        Raises `CannotShow` when it has more than `WHOLE_BYTES`, and whatever `fetch` raises.
        """
        if self.cut and self.file.size_bytes > WHOLE_BYTES:
            raise CannotShow(
                f"It has {size(self.file.size_bytes)}, and a file of this kind is looked at up to {size(WHOLE_BYTES)}."
            )
        with TemporaryDirectory(prefix="agentsvc-preview-") as folder:
            path = Path(folder) / f"whole{ending}"
            if self.cut and self.fetch:
                self.fetch(path)
            else:
                path.write_bytes(self.head)
            yield path


Family = Literal["picture", "pdf", "sheet", "document", "media", "page", "json", "csv", "markdown", "text", "bytes"]
"""A group of kinds with the same preview (see `bundle`)."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file: its name in sentences, the suffixes of its files, and its media type.

    A `media` that ends with `/` or `.` is a prefix of media types.
    """

    family: Family
    noun: str
    endings: str
    media: str


PNG: Final = Kind("picture", "PNG picture", ".png", "image/png")
JPEG: Final = Kind("picture", "JPEG picture", ".jpg .jpeg", "image/jpeg")
GIF: Final = Kind("picture", "GIF picture", ".gif", "image/gif")
WEBP: Final = Kind("picture", "WebP picture", ".webp", "image/webp")
PDF: Final = Kind("pdf", "PDF", ".pdf", "application/pdf")
PARQUET: Final = Kind("sheet", "Parquet table", ".parquet .pq", "application/vnd.apache.parquet")
EXCEL: Final = Kind("sheet", "Excel workbook", ".xlsx .xlsm .xlsb .xls .ods", "application/vnd.")
WORD: Final = Kind("document", "Word document", ".docx .docm", f"{OFFICE}wordprocessingml.document")
SLIDES: Final = Kind("document", "PowerPoint deck", ".pptx .pptm", f"{OFFICE}presentationml.presentation")
MP4: Final = Kind("media", "MP4 video", ".mp4 .m4v .mov", "video/mp4")
WEBM: Final = Kind("media", "WebM video", ".webm .mkv", "video/webm")
M4A: Final = Kind("media", "M4A sound", ".m4a", "audio/mp4")
OGG: Final = Kind("media", "Ogg sound", ".ogg .oga .opus .ogv", "audio/ogg")
WAV: Final = Kind("media", "WAV sound", ".wav", "audio/wav")
MP3: Final = Kind("media", "MP3 sound", ".mp3", "audio/mpeg")
FLAC: Final = Kind("media", "FLAC sound", ".flac", "audio/flac")
HTML: Final = Kind("page", "HTML page", ".html .htm .xhtml", "text/html")
SVG: Final = Kind("page", "SVG drawing", ".svg", "image/svg+xml")
JSON: Final = Kind("json", "JSON", ".json .jsonl .ndjson .geojson .ipynb", "application/")
CSV: Final = Kind("csv", "table as text", ".csv .tsv .tab", "text/")
MARKDOWN: Final = Kind("markdown", "Markdown", ".md .markdown", "text/")
TEXT: Final = Kind("text", "text", ".txt .log .text .py .js .css .xml .yaml .yml .toml .srt .vtt .sql", "text/")
BYTES: Final = Kind("bytes", "no kind that can be shown", "", "")
KINDS: Final = tuple(value for value in globals().values() if isinstance(value, Kind))

_BY_MEDIA_TYPE: Final = {
    **{kind.media: kind for kind in KINDS if not kind.media.endswith(("/", "."))},
    "video/ogg": OGG,
    "video/quicktime": MP4,
    "video/x-matroska": WEBM,
}
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_CONTAINERS: Final = ((b"PK\x03\x04", b"xl/"), (_OLE, b"W\0o\0r\0k\0b\0o\0o\0k\0"))
"""Signatures of archives, with the name of a member that identifies a workbook."""
_DOCUMENTS: Final = {kind.media: kind for kind in (WORD, SLIDES)}
_HTML_STARTS: Final = ("<!doctype html", "<html", "<head", "<body", "<script")


def kind_of(subject: Subject) -> Kind:
    """Detect the kind of a file by its bytes, and among kinds of text by its name."""
    head = subject.head
    found = media_type(head[:SIGNATURE_BYTES])
    if found is not None:
        return _BY_MEDIA_TYPE.get(found, BYTES)
    ending = ending_of(subject)
    if head.startswith(b"PK") and (document := _DOCUMENTS.get(guess("", head))):
        return document
    if head.startswith(_OLE) and (
        locked := next((kind for kind in (WORD, SLIDES) if ending in kind.endings.split()), None)
    ):
        return locked  # its reader says that it needs a password
    for signature, inside in _CONTAINERS:
        if head.startswith(signature):
            return EXCEL if inside in head or ending in EXCEL.endings.split() else BYTES
    return _text_kind(ending, subject.text.text) if subject.text else BYTES


def _text_kind(ending: str, text: str) -> Kind:
    for kind in (HTML, SVG, JSON, CSV, MARKDOWN, TEXT):
        if ending in kind.endings.split():
            return kind
    start = text[:1000].lstrip("\ufeff \t\r\n").lower()
    if start.startswith(_HTML_STARTS):
        return HTML
    if start.startswith(("<svg", "<?xml")) and "<svg" in start:
        return SVG
    return JSON if start.startswith(("{", "[")) else TEXT


def mismatch(subject: Subject, kind: Kind) -> str:
    """Return a sentence if the name or media type of a file contradicts its bytes; else an empty text."""
    ending, media = ending_of(subject), subject.file.media_type.partition(";")[0].strip().lower()
    named = {ending for other in KINDS for ending in other.endings.split()}
    if ending in named and ending not in kind.endings.split():
        return f"Its name ends with {ending}, but its bytes say: {kind.noun}."
    known = {other.media for other in KINDS if not other.media.endswith(("/", "."))} - {""}
    if media in known and media != kind.media and ending not in kind.endings.split():
        return f"It is listed as {_BY_MEDIA_TYPE[media].noun}, but its bytes say: {kind.noun}."
    return ""


def ending_of(subject: Subject) -> str:
    """The ending of the file's name in small letters, such as `.csv`."""
    return PurePosixPath(subject.file.path).suffix.lower()
