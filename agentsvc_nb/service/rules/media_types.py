"""What a file is, and what it may be called (contract.md §2, §4). Pure."""

from __future__ import annotations

import mimetypes
import re
from typing import Final
from unicodedata import category, normalize

from agentsvc_nb.service.rules import signatures

NAME_MAX_BYTES: Final = 200
PATH_MAX_CHARS: Final = 500

OFFICE: Final = "application/vnd.openxmlformats-officedocument."
_OFFICE_FOLDERS = {
    b"word": OFFICE + "wordprocessingml.document",
    b"xl": OFFICE + "spreadsheetml.sheet",
    b"ppt": OFFICE + "presentationml.presentation",
}
_OFFICE_ENTRY = re.compile(rb"PK\x03\x04[\s\S]{26}(word|xl|ppt)/")
_DECLARED_ENTRY = re.compile(rb"PK\x03\x04[\s\S]{26}mimetype(application/[\w.+-]{1,80}?)PK")

# The standard library reads the machine's own lists; ours are the same everywhere, and know what people attach.
_BY_ENDING = {
    "css": "text/css",
    "csv": "text/csv",
    "docx": _OFFICE_FOLDERS[b"word"],
    "eml": "message/rfc822",
    "epub": "application/epub+zip",
    "htm": "text/html",
    "html": "text/html",
    "ics": "text/calendar",
    "ipynb": "application/x-ipynb+json",
    "js": "text/javascript",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "log": "text/plain",
    "markdown": "text/markdown",
    "md": "text/markdown",
    "ndjson": "application/x-ndjson",
    "odp": "application/vnd.oasis.opendocument.presentation",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "odt": "application/vnd.oasis.opendocument.text",
    "parquet": "application/vnd.apache.parquet",
    "pptx": _OFFICE_FOLDERS[b"ppt"],
    "py": "text/x-python",
    "rtf": "application/rtf",
    "srt": "text/plain",
    "toml": "application/toml",
    "ts": "text/x-typescript",
    "tsv": "text/tab-separated-values",
    "txt": "text/plain",
    "vtt": "text/vtt",
    "webp": "image/webp",
    "xlsx": _OFFICE_FOLDERS[b"xl"],
    "xml": "application/xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "zip": "application/zip",
}
_MORE_ENDINGS = mimetypes.MimeTypes()  # without the machine's files

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_TYPES = frozenset(
    {"application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint", "application/vnd.ms-outlook"}
)
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def guess(file_name: str, head: bytes) -> str:
    """The media type by the first bytes (`signatures.HEAD_BYTES` of them), else by the name, else text or not.

    >>> guess("photo.txt", b"\\x89PNG\\r\\n\\x1a\\n"), guess("notes.md", b"# Notes"), guess("notes", b"\\xff\\x00")
    ('image/png', 'text/markdown', 'application/octet-stream')
    """
    known = signatures.media_type(head) or _container(file_name, head) or _by_name(file_name)
    return known or ("text/plain" if signatures.is_text(head) else "application/octet-stream")


def is_audio_or_video(head: bytes) -> bool:
    """Whether a file is audio or video, by its first bytes and not by its name."""
    return (signatures.media_type(head) or "").startswith(("audio/", "video/"))


def safe_name(text: str) -> str:
    """A file name out of what a client sent: the last component, printable, at most 200 bytes, never empty.

    >>> safe_name("C:\\\\ads\\\\brief.pdf"), safe_name("../.."), safe_name("a\\u202egnp.exe")
    ('brief.pdf', 'file', 'agnp.exe')
    """
    name = re.split(r"[/\\]", text)[-1]
    name = normalize("NFC", "".join(c for c in name if not _unprintable(c))).strip()
    return "file" if name in ("", ".", "..") else _shortened(name)


def safe_path(text: str) -> str | None:
    """The workspace path as it is when it may be one, else None: relative, `/` between its parts, at most 500
    characters, without `..`, empty parts, backslashes or characters that cannot be seen.

    >>> safe_path("out/report.md"), safe_path("../secret"), safe_path("/etc/passwd")
    ('out/report.md', None, None)
    """
    if len(text) > PATH_MAX_CHARS or "\\" in text or any(map(_unprintable, text)):
        return None
    return None if any(part.strip() in ("", ".", "..") for part in text.split("/")) else text


def _unprintable(character: str) -> bool:
    """Control characters, line and paragraph separators, lone surrogates, and what turns the reading direction."""
    return character in _BIDI or category(character) in ("Cc", "Cs", "Zl", "Zp")


def _shortened(name: str) -> str:
    """Cut to `NAME_MAX_BYTES` of UTF-8; a short ending is kept."""
    stem, dot, ending = name.rpartition(".")
    if not stem or len(ending.encode()) > 16:
        stem, dot, ending = name, "", ""
    room = NAME_MAX_BYTES - len((dot + ending).encode())
    return stem.encode()[:room].decode("utf-8", "ignore").rstrip() + dot + ending


def _by_name(file_name: str) -> str | None:
    _, dot, ending = file_name.lower().rpartition(".")
    return (_BY_ENDING.get(ending) or _MORE_ENDINGS.types_map[True].get(f".{ending}")) if dot else None


def _container(file_name: str, head: bytes) -> str | None:
    """ZIP and OLE hold documents of many kinds."""
    named = _by_name(file_name)
    if head.startswith(_OLE):
        return named if named in _OLE_TYPES else "application/x-ole-storage"
    if not head.startswith(b"PK\x03\x04"):
        return "application/zip" if head.startswith(b"PK\x05\x06") else None
    if declared := _DECLARED_ENTRY.match(head):
        return declared[1].decode("ascii")
    if office := _OFFICE_ENTRY.search(head):
        return _OFFICE_FOLDERS[office[1]]
    return named if named and _may_be_zip(named) else "application/zip"


def _may_be_zip(media_type: str) -> bool:
    return media_type.startswith((OFFICE, "application/vnd.oasis.")) or media_type in (
        "application/epub+zip",
        "application/java-archive",
        "application/vnd.android.package-archive",
    )
