"""Represent the text of a document, tell which media types have text, and read plain text.

`documents.reading` reads other formats in a child process, so that the service need not import their libraries.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentsvc_nb.documents.decoding import decode
from agentsvc_nb.documents.media_types import OFFICE, SPREADSHEETS
from agentsvc_nb.wire.limits import INDEXED_TEXT_BYTES

PAGE_END: Final = "\f"
"""The character (form feed) that ends each page of a PDF and each slide of a presentation in a document's text."""
QUICK_BYTES: Final = 64_000
"""The size up to which plain text takes only a few milliseconds to read and index."""
BYTES_PER_CHARACTER: Final = 4
NO_TEXT: Final = "It contains no text."
NOT_TEXT: Final = "It is not text, although its name ends like that of a text file."
EMPTY: Final = "It is empty."
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
"""Matches characters that cannot be stored: some databases end texts at NUL, and lone surrogates have no encoding."""
_PLAIN: Final = re.compile(r"text/|application/(?:.*\+)?(?:json|xml|yaml|toml|x-ndjson|javascript|sql)\b")
_JSON: Final = ("application/json", "application/x-ipynb+json")
DOCUMENTS: Final = SPREADSHEETS | {
    *("text/html", "application/xhtml+xml", "message/rfc822", "application/pdf", "application/gzip"),
    *("application/msword", "application/vnd.ms-powerpoint", "application/vnd.ms-outlook", "application/rtf"),
    *("application/x-ole-storage", "application/vnd.oasis.opendocument.text"),
    "application/vnd.oasis.opendocument.presentation",
}
"""Media types of documents whose text can be read, or that get a sentence that says why not. `has_text` adds plain text
and new Office formats."""


_ARCHIVES: Final = frozenset(
    {
        "application/zip",
        "application/x-tar",
        "application/x-7z-compressed",
        "application/vnd.rar",
        "application/x-bzip2",
    }
)
_DATABASES: Final = frozenset({"application/vnd.sqlite3"})
_UNKNOWN: Final = frozenset({"application/octet-stream", "application/x-msdownload", "application/java-archive"})


def why_not_read(media_type: str) -> str:
    """Return a sentence that tells the user what to do with a file whose text is not read, or "" for pictures, sound,
    video and tables.

    >>> why_not_read("application/zip")
    'It is an archive. Unpack it, and attach the files that the question needs.'
    """
    kind = strip_parameters(media_type)
    if kind in _ARCHIVES:
        return "It is an archive. Unpack it, and attach the files that the question needs."
    if kind in _DATABASES:
        return "It is a database. Read the table that you need with DuckDB or pandas, and attach it as CSV."
    return "Files of this kind are not read. Attach a table, a document or a text." if kind in _UNKNOWN else ""


@dataclass(frozen=True, slots=True)
class Document:
    """A file's text as Markdown. `unreadable` is a sentence that says why the text, or a part of it, is missing."""

    text: str = ""
    unreadable: str = ""


def read_quick(path: Path, media_type: str, limit: int = INDEXED_TEXT_BYTES) -> Document:
    """Read plain text or JSON. Raises `OSError` if the file does not exist."""
    if not path.stat().st_size:
        return Document(unreadable=EMPTY)
    found = read_json(path, limit) if strip_parameters(media_type) in _JSON else read_plain(path, limit)
    return make_storable(found, limit)


def make_storable(found: Document, limit: int) -> Document:
    """Return the document without characters that cannot be stored. If no text remains, set its `unreadable`."""
    text = _UNSTORABLE.sub(" ", found.text)[:limit]
    return Document(text, found.unreadable or ("" if text.strip() else NO_TEXT))


def is_plain(kind: str) -> bool:
    return kind not in DOCUMENTS and not kind.startswith("image/") and _PLAIN.match(kind) is not None


def has_text(media_type: str) -> bool:
    """Return True if files of this media type have readable text."""
    kind = strip_parameters(media_type)
    return is_plain(kind) or kind in DOCUMENTS or kind.startswith(OFFICE)


def is_quick(media_type: str, size_bytes: int) -> bool:
    """Return True if a file takes only a few milliseconds to read, whatever its content."""
    return size_bytes <= QUICK_BYTES and is_plain(strip_parameters(media_type))


def is_truncated(text: str) -> bool:
    """Return True if the index may have truncated the text, because the text has the maximum size.

    The index truncates at a number of bytes, but never within a character. Most texts are so short that encoding is not
    necessary to decide.
    """
    most = BYTES_PER_CHARACTER
    return len(text) * most >= INDEXED_TEXT_BYTES <= len(text.encode()) + most


@dataclass(frozen=True, slots=True)
class TextPlace:
    """Says where a passage is: its line (from 1), the heading above, and its page or slide if there are pages."""

    page: int | None
    heading: str
    line: int


def find_place(text: str, offset: int) -> TextPlace:
    """Return the place of the character at `offset` in a document's text.

    >>> find_place("# Costs\\n\\n42 euros.\\f# Later\\f", 9), find_place("plain", 3)
    (TextPlace(page=1, heading='Costs', line=3), TextPlace(page=None, heading='', line=1))
    """
    before = text[:offset]
    page = before.count(PAGE_END) + 1 if PAGE_END in text else None
    headings = _HEADING.findall(before)
    return TextPlace(page, headings[-1] if headings else "", before.count("\n") + 1)


_HEADING: Final = re.compile(r"(?:^|\f)#{1,6} +(\S.*?) *(?=\n|\f|$)", re.MULTILINE)


def strip_parameters(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()


def read_plain(path: Path, limit: int) -> Document:
    with path.open("rb") as file:
        data = file.read(limit * BYTES_PER_CHARACTER)
    return Document(text) if (text := decode_beginning(data)) is not None else Document(unreadable=NOT_TEXT)


def read_json(path: Path, limit: int) -> Document:
    """Read JSON as text. If it contains escapes such as `caf\\u00e9`, write these as letters."""
    found = read_plain(path, limit)
    if "\\u" not in found.text:
        return found
    try:
        return Document(json.dumps(json.loads(found.text), ensure_ascii=False, indent=1))
    except (ValueError, RecursionError):
        return found


def decode_beginning(data: bytes, charset: str = "cp1252") -> str | None:
    """Decode a file's beginning as UTF, else as `charset`: guessing takes too long. Return None if it is not text."""
    found = decode(data, cut=True, declared=charset)
    return found.text if found else None
