"""A file to look at, and what it is by its bytes; its name decides only among kinds of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Final

from agentsvc_nb.notebook.display.render import size
from agentsvc_nb.notebook.previews.decoding import Text, decoded
from agentsvc_nb.wire.files import WorkspaceFile

HEAD_BYTES: Final = 256_000
"""What is read of a file of any size. Text, tables, JSON and pages are shown from these."""
WHOLE_BYTES: Final = 50_000_000
"""Pictures, PDFs, Parquet and Excel need the whole file: up to this size."""

Fetch = Callable[[Path], object]
"""Brings the whole file to this place."""


class CannotShow(Exception):
    """Why there is nothing to see: one sentence."""


@dataclass(frozen=True)
class Subject:
    """`head` is the whole file when there is no `fetch`."""

    file: WorkspaceFile
    head: bytes
    fetch: Fetch | None = None

    @property
    def cut(self) -> bool:
        """Whether the file goes on after `head`."""
        return self.fetch is not None and self.file.size_bytes > len(self.head)

    @property
    def name(self) -> str:
        """What a reader would call it."""
        return self.file.name or self.file.path

    @cached_property
    def text(self) -> Text | None:
        """Its beginning as text; None for what is none."""
        return decoded(self.head, cut=self.cut)

    @contextmanager
    def on_disk(self) -> Iterator[Path]:
        """The whole file, for as long as the context lasts. Raises `CannotShow` for one that is too large."""
        if self.cut and self.file.size_bytes > WHOLE_BYTES:
            raise CannotShow(
                f"It has {size(self.file.size_bytes)}, and a file of this kind is looked at up to {size(WHOLE_BYTES)}."
            )
        with TemporaryDirectory(prefix="agentsvc-preview-") as folder:
            place = Path(folder) / "whole"
            if self.cut and self.fetch:
                self.fetch(place)
            else:
                place.write_bytes(self.head)
            yield place


@dataclass(frozen=True, slots=True)
class Kind:
    """`shows` is the module that shows it, `noun` what a sentence calls it. Honest files of it have one of the
    `endings`, and `media` as their type, or one that begins with it."""

    shows: str
    noun: str
    endings: str
    media: str


PNG: Final = Kind("picture", "PNG picture", ".png", "image/png")
JPEG: Final = Kind("picture", "JPEG picture", ".jpg .jpeg", "image/jpeg")
GIF: Final = Kind("picture", "GIF picture", ".gif", "image/gif")
WEBP: Final = Kind("picture", "WebP picture", ".webp", "image/webp")
PDF: Final = Kind("pages", "PDF", ".pdf", "application/pdf")
PARQUET: Final = Kind("sheets", "Parquet table", ".parquet .pq", "application/vnd.apache.parquet")
EXCEL: Final = Kind("sheets", "Excel workbook", ".xlsx .xlsm .xlsb .xls .ods", "application/vnd.")
MP4: Final = Kind("playable", "MP4 video", ".mp4 .m4v .mov", "video/mp4")
WEBM: Final = Kind("playable", "WebM video", ".webm .mkv", "video/webm")
M4A: Final = Kind("playable", "M4A sound", ".m4a", "audio/mp4")
OGG: Final = Kind("playable", "Ogg sound", ".ogg .oga .opus .ogv", "audio/ogg")
WAV: Final = Kind("playable", "WAV sound", ".wav", "audio/wav")
MP3: Final = Kind("playable", "MP3 sound", ".mp3", "audio/mpeg")
FLAC: Final = Kind("playable", "FLAC sound", ".flac", "audio/flac")
HTML: Final = Kind("markup", "HTML page", ".html .htm .xhtml", "text/html")
SVG: Final = Kind("markup", "SVG drawing", ".svg", "image/svg+xml")
JSON: Final = Kind("tree", "JSON", ".json .jsonl .ndjson .geojson .ipynb", "application/")
CSV: Final = Kind("tabular", "table as text", ".csv .tsv .tab", "text/")
MARKDOWN: Final = Kind("prose", "Markdown", ".md .markdown", "text/")
TEXT: Final = Kind("wording", "text", ".txt .log .text .py .js .css .xml .yaml .yml .toml .srt .vtt .sql", "text/")
BYTES: Final = Kind("raw", "no kind that can be shown", "", "")
KINDS: Final = tuple(value for value in globals().values() if isinstance(value, Kind))

_BEGINNINGS: Final = (
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
"""Files that hold files, and the name of one that makes them a workbook."""
_MP4_BRANDS: Final = (b"isom", b"iso2", b"iso4", b"iso5", b"iso6", b"mp41", b"mp42", b"avc1", b"M4V ", b"qt  ", b"dash")
_PAGES: Final = ("<!doctype html", "<html", "<head", "<body", "<script")


def kind_of(subject: Subject) -> Kind:
    """What its bytes say that it is."""
    head = subject.head
    for beginning, kind in _BEGINNINGS:
        if head.startswith(beginning):
            return kind
    if head.startswith(b"RIFF"):
        return {b"WEBP": WEBP, b"WAVE": WAV}.get(head[8:12], BYTES)
    if head[4:8] == b"ftyp":
        return M4A if head[8:11] == b"M4A" else MP4 if head[8:12] in _MP4_BRANDS else BYTES
    ending = _ending(subject)
    for beginning, inside in _CONTAINERS:
        if head.startswith(beginning):
            return EXCEL if inside in head or ending in EXCEL.endings.split() else BYTES
    return _text_kind(ending, subject.text.text) if subject.text else BYTES


def _text_kind(ending: str, text: str) -> Kind:
    for kind in (HTML, SVG, JSON, CSV, MARKDOWN, TEXT):
        if ending in kind.endings.split():
            return kind
    start = text[:1000].lstrip("\ufeff \t\r\n").lower()
    if start.startswith(_PAGES):
        return HTML
    if start.startswith(("<svg", "<?xml")) and "<svg" in start:
        return SVG
    return JSON if start.startswith(("{", "[")) else TEXT


def lie(subject: Subject, kind: Kind) -> str:
    """A sentence on a name or media type that says something else than the bytes; empty when they agree."""
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
