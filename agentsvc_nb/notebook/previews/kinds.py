"""The file of a preview and its kind by its bytes (its name decides only among kinds of text); its bytes as text, by
the byte order mark, else as UTF-8, else in an encoding that is guessed.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Final, Literal

from agentsvc_nb.notebook.display.render import size
from agentsvc_nb.wire.files import WorkspaceFile

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16's, with which it begins
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL_BYTES: Final = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_SAMPLE_BYTES: Final = 16_000
"""Guessing from more bytes takes longer and is no better."""

_WESTERN: Final = "cp1252"
_LIKELY_ENCODINGS: Final = (
    *(_WESTERN, "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r"),
    *("shift_jis", "euc_jp", "gb18030", "big5", "euc_kr"),
)
"""The encodings that files are still in. A short text would look as good in one of a hundred others."""


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A text and its encoding, which is `guessed` if nothing but the look of the text speaks for it."""

    text: str
    encoding: str
    guessed: bool = False


def decode(data: bytes, *, cut: bool) -> DecodedText | None:
    """The text in these bytes, which are only its beginning when they are `cut`; None if they are not text.

    >>> decode("Zürich".encode("utf-16"), cut=False)
    DecodedText(text='Zürich', encoding='utf-16', guessed=False)
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return DecodedText(data.decode(encoding, "replace"), encoding.removesuffix("-sig"))
    data = data.rstrip(b"\0")  # a file that was enlarged before it was written has a hole at its end
    if b"\0" in data or not data:
        return None
    try:
        # A cut may go through the last character.
        return DecodedText(codecs.getincrementaldecoder("utf-8")().decode(data, final=not cut), "utf-8")
    except UnicodeDecodeError:
        return None if len(_CONTROL_BYTES.findall(data)) > len(data) / 50 else _guess(data)


def _guess(data: bytes) -> DecodedText:
    from charset_normalizer import from_bytes

    found = from_bytes(data[:_SAMPLE_BYTES], cp_isolation=[*_LIKELY_ENCODINGS])
    best = found.best()
    # Letters of western and central Europe often look as well in either: western is the likelier.
    western = best is None or any(
        _WESTERN in match.could_be_from_charset and match.chaos <= best.chaos for match in found
    )
    encoding = _WESTERN if best is None or western else best.encoding
    return DecodedText(data.decode(encoding, "replace"), encoding.replace("_", "-"), guessed=True)


HEAD_BYTES: Final = 256_000
"""Read of a file of any size. Text, CSV, JSON and HTML are shown from these alone."""
WHOLE_BYTES: Final = 50_000_000
"""Pictures, PDF, Parquet and Excel need the whole file, which may have this size."""

Fetch = Callable[[Path], object]
"""Downloads the whole file to this path."""


class CannotShow(Exception):
    """A file has no preview. The message is one sentence that says why."""


@dataclass(frozen=True)
class Subject:
    """The file of a preview. `head` is its beginning, or without a `fetch` the whole of it."""

    file: WorkspaceFile
    head: bytes
    fetch: Fetch | None = None

    @property
    def cut(self) -> bool:
        """Whether the file goes on after `head`."""
        return self.fetch is not None and self.file.size_bytes > len(self.head)

    @property
    def name(self) -> str:
        """Its name for a reader."""
        return self.file.name or self.file.path

    @cached_property
    def text(self) -> DecodedText | None:
        """Its beginning as text; None if it is not text."""
        return decode(self.head, cut=self.cut)

    @contextmanager
    def on_disk(self) -> Iterator[Path]:
        """The path of the whole file, while the context lasts. Raises `CannotShow` for a file that is too large."""
        if self.cut and self.file.size_bytes > WHOLE_BYTES:
            raise CannotShow(
                f"It has {size(self.file.size_bytes)}, and a file of this kind is looked at up to {size(WHOLE_BYTES)}."
            )
        with TemporaryDirectory(prefix="agentsvc-preview-") as folder:
            path = Path(folder) / "whole"
            if self.cut and self.fetch:
                self.fetch(path)
            else:
                path.write_bytes(self.head)
            yield path


Family = Literal["picture", "pdf", "sheet", "media", "page", "json", "csv", "markdown", "text", "bytes"]
"""The kinds that are shown in the same way (`bundle`)."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file: what a sentence calls it, and the endings of names and the media type that belong to it.

    A `media` that ends with `/` or `.` is the beginning of a media type.
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

_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", PNG),
    (b"\xff\xd8\xff", JPEG),
    (b"GIF87a", GIF),
    (b"GIF89a", GIF),
    (b"%PDF-", PDF),
    (b"PAR1", PARQUET),
    (b"\x1aE\xdf\xa3", WEBM),
    (b"OggS", OGG),
    (b"fLaC", FLAC),
    (b"ID3", MP3),
    (b"\xff\xfb", MP3),
    (b"\xff\xf3", MP3),
    (b"\xff\xf2", MP3),
)
_CONTAINERS: Final = ((b"PK\x03\x04", b"xl/"), (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"W\0o\0r\0k\0b\0o\0o\0k\0"))
"""Archives, and the name within them that tells a workbook."""
_MP4_BRANDS: Final = (b"isom", b"iso2", b"iso4", b"iso5", b"iso6", b"mp41", b"mp42", b"avc1", b"M4V ", b"qt  ", b"dash")
_HTML_STARTS: Final = ("<!doctype html", "<html", "<head", "<body", "<script")


def kind_of(subject: Subject) -> Kind:
    """The kind of a file by its bytes."""
    head = subject.head
    for signature, kind in _SIGNATURES:
        if head.startswith(signature):
            return kind
    if head.startswith(b"RIFF"):
        return {b"WEBP": WEBP, b"WAVE": WAV}.get(head[8:12], BYTES)
    if head[4:8] == b"ftyp":
        return M4A if head[8:11] == b"M4A" else MP4 if head[8:12] in _MP4_BRANDS else BYTES
    ending = _ending(subject)
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
    """A sentence if the name or media type of a file contradicts its bytes; else empty."""
    ending, media = _ending(subject), subject.file.media_type.partition(";")[0].strip().lower()
    named = {ending for other in KINDS for ending in other.endings.split()}
    if ending in named and ending not in kind.endings.split():
        return f"Its name ends with {ending}, but its bytes say: {kind.noun}."
    known = {other.media for other in KINDS if not other.media.endswith(("/", "."))} - {""}
    if media in known and media != kind.media and ending not in kind.endings.split():
        return f"It is said to be {media}, but its bytes say: {kind.noun}."
    return ""


def _ending(subject: Subject) -> str:
    return PurePosixPath(subject.file.path).suffix.lower()
