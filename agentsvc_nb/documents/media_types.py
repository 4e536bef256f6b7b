"""Guess the media type of a file from its content and name, make file names safe, and tell which may have tables."""

from __future__ import annotations

import codecs
import mimetypes
import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Final, NamedTuple
from unicodedata import category, normalize

from agentsvc_nb.wire.files import KNOWN_BEGINNINGS

HEAD_BYTES: Final = 4_096
"""The number of bytes from the beginning of a file that these functions need to recognise all types."""


class Signature(NamedTuple):
    """Holds a media type and the pattern that matches the first bytes of its files."""

    media_type: str
    pattern: re.Pattern[bytes]


def _begins(media_type: str, pattern: bytes) -> Signature:
    return Signature(media_type, re.compile(pattern, re.DOTALL))


def _any_of(values: Iterable[int]) -> bytes:
    return b"[" + b"".join(b"\\x%02x" % value for value in values) + b"]"


# The possible values of a frame's third byte: in MPEG audio with a valid bit rate and sample rate, in AAC with a valid
# sample rate.
_MP3_RATES = _any_of(byte for byte in range(0x10, 0xF0) if byte & 0x0C != 0x0C)
_AAC_RATES = _any_of(byte for byte in range(256) if (byte >> 2) & 0x0F < 13)

# The first match decides. FF FE is read as the byte order mark of UTF-16, not as an MPEG frame of the obsolete layer I.
_SIGNATURES = (
    *(_begins(media_type, pattern) for media_type, pattern, _ in KNOWN_BEGINNINGS),
    _begins("image/tiff", rb"II\*\x00|MM\x00\*|II\+\x00|MM\x00\+"),
    _begins("image/bmp", rb"BM....\x00\x00\x00\x00.\x00\x00\x00"),
    _begins("image/x-icon", rb"\x00\x00\x01\x00[^\x00]\x00"),
    _begins("image/vnd.adobe.photoshop", rb"8BPS\x00[\x01\x02]"),
    _begins("image/jxl", rb"\x00\x00\x00\x0cJXL \r\n|\xff\x0a"),
    _begins("image/jp2", rb"\x00\x00\x00\x0cjP  \r\n"),
    _begins("image/avif", rb"\x00\x00..ftypavi[fs]"),
    _begins("image/avif", rb"\x00\x00..ftypmi(?:f1|af).{4}(?:.{4}){0,8}?avi[fs]"),
    _begins("image/heic", rb"\x00\x00..ftyp(?:hei[cxms]|hev[cxms]|mi(?:f1|af)|msf1)"),
    _begins("image/x-canon-cr3", rb"\x00\x00..ftypcrx "),
    _begins("audio/mp4", rb"\x00\x00..ftyp(?:M4A|M4B|M4P|F4A|F4B)"),
    _begins("video/quicktime", rb"\x00\x00..ftypqt"),
    _begins("video/3gpp2", rb"\x00\x00..ftyp3g2"),
    _begins("video/3gpp", rb"\x00\x00..ftyp3g"),
    _begins("video/mp4", rb"\x00\x00..ftyp"),
    _begins("video/quicktime", rb"\x00...(?:moov|mdat|wide|free|skip|pnot)"),
    _begins("video/webm", rb"\x1a\x45\xdf\xa3.{0,64}?\x42\x82.{1,9}?webm"),
    _begins("video/x-matroska", rb"\x1a\x45\xdf\xa3"),
    _begins("video/x-msvideo", rb"RIFF....(?:AVI |AVIX)"),
    _begins("video/mpeg", rb"\x00\x00\x01[\xb3\xba]"),
    _begins("video/mp2t", rb"(?:\x47.{187}){2}\x47|.{4}(?:\x47.{191}){2}\x47"),
    _begins("video/h264", rb"\x00\x00\x00\x01[\x27\x47\x67]"),
    _begins("video/x-ivf", rb"DKIF\x00\x00"),
    _begins("video/mxf", rb"\x06\x0e\x2b\x34\x02\x05\x01\x01"),
    _begins("video/x-flv", rb"FLV\x01[\x00\x01\x04\x05]"),
    _begins("video/x-ms-asf", rb"\x30\x26\xb2\x75\x8e\x66\xcf\x11"),
    _begins("video/vnd.rn-realvideo", rb"\.RMF\x00"),
    _begins("video/ogg", rb"OggS\x00.{22,280}?(?:\x80theora|fishead\x00|BBCD\x00)"),
    _begins("audio/ogg", rb"OggS\x00"),
    _begins("audio/wav", rb"(?:RIFF|RIFX|RF64|BW64)....WAVE"),
    _begins("audio/flac", rb"fLaC[\x00\x80]"),
    _begins("audio/aiff", rb"FORM....AIF[FC]"),
    _begins("audio/midi", rb"MThd\x00\x00\x00\x06|RIFF....RMID"),
    _begins("audio/amr", rb"#!AMR(?:-WB)?(?:_MC1\.0)?\n(?![ -~]{8})"),
    _begins("audio/x-caf", rb"caff\x00\x01"),
    _begins("audio/basic", rb"\.snd\x00\x00"),
    _begins("audio/mpeg", rb"ID3[\x02-\x04][\x00-\x0f]"),
    _begins("audio/mpeg", rb"\xff[\xe2\xe3\xf2-\xf5\xfa-\xfd]" + _MP3_RATES),
    _begins("audio/aac", rb"\xff[\xf0\xf1\xf8\xf9]" + _AAC_RATES + rb"|ADIF[\x00-\x1f\x80-\xff]"),
    _begins("audio/vnd.dts", rb"\x7f\xfe\x80\x01"),
    _begins("audio/x-ape", rb"MAC .\x0f|APETAGEX.\x07"),
    _begins("audio/x-wavpack", rb"wvpk..\x00\x00"),
    _begins("audio/x-musepack", rb"MPCKSH|MP\+[\x07\x17]"),
    _begins("audio/x-dsd", rb"DSD \x1c\x00\x00\x00|FRM8....\x00\x00\x00.DSD "),
    _begins("application/vnd.apache.parquet", rb"PAR1"),
    _begins("application/vnd.sqlite3", rb"SQLite format 3\x00"),
    _begins("application/gzip", rb"\x1f\x8b\x08"),
    _begins("application/rtf", rb"\{\\rtf"),
    _begins("application/x-7z-compressed", rb"7z\xbc\xaf\x27\x1c"),
    _begins("application/vnd.rar", rb"Rar!\x1a\x07"),
)


_NOT_IN_TEXT = re.compile(rb"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f]")


def media_type(head: bytes) -> str | None:
    """Return the media type of a file that begins with these bytes, or None if the type is unknown.

    >>> media_type(b"%PDF-1.7"), media_type(b"RIFF, WAVE and other words")
    ('application/pdf', None)
    """
    found = next((signature.media_type for signature in _SIGNATURES if signature.pattern.match(head)), None)
    if found is not None and found.startswith(("audio/", "video/")) and _reads_as_text(head):
        return None  # it is text that begins like audio or video by chance
    return found


def is_text(head: bytes) -> bool:
    """Return True if the bytes are UTF-8 or begin with a UTF-16 byte order mark. The last character may be cut."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return _NOT_IN_TEXT.search(head) is None


def _reads_as_text(head: bytes) -> bool:
    """Return True if `is_text` accepts the bytes, or if they are text in an older encoding.

    More than 64 bytes without control characters count as such text. Fewer could be the beginning of audio or video,
    which has a control byte within its first 64 bytes.
    """
    return is_text(head) or (len(head) > 64 and _NOT_IN_TEXT.search(head) is None)


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

# The standard library's functions would also read lists of the machine. This list is the same on all machines, and has
# common attachments.
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
    "xlsb": "application/vnd.ms-excel.sheet.binary.macroenabled.12",
    "xlsm": "application/vnd.ms-excel.sheet.macroenabled.12",
    "xlsx": _OFFICE_FOLDERS[b"xl"],
    "xml": "application/xml",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "zip": "application/zip",
}
_MORE_ENDINGS = mimetypes.MimeTypes()  # only Python's built-in list, without the lists of the machine

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_TYPES = frozenset(
    {"application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint", "application/vnd.ms-outlook"}
)
SPREADSHEETS: Final = frozenset(
    {
        OFFICE + "spreadsheetml.sheet",
        "application/vnd.ms-excel",
        "application/vnd.ms-excel.sheet.macroenabled.12",
        "application/vnd.ms-excel.sheet.binary.macroenabled.12",
        "application/vnd.oasis.opendocument.spreadsheet",
    }
)
_BINARY: Final = _OLE_TYPES | SPREADSHEETS | {"application/pdf", "application/gzip", "application/zip"}
_BINARY_FAMILIES: Final = (OFFICE, "application/vnd.oasis.", "application/vnd.apache.")
_HTML_START: Final = re.compile(
    rb"\s*(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*"
    rb"<(?:!doctype html|html|head|body|table|div|meta)\b",
    re.I | re.S,
)
_JSON_START: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\{\s*\"|\[\s*(?:[{\[]|\"[^\"]*\"\s*,|-?\d+(?:\.\d+)?\s*,))")
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def guess(file_name: str, head: bytes) -> str:
    """Return a file's media type: by its first bytes, else by its name, else by whether the bytes are text.

    >>> guess("photo.txt", b"\\x89PNG\\r\\n\\x1a\\n"), guess("notes.md", b"# Notes"), guess("notes", b"\\xff\\x00")
    ('image/png', 'text/markdown', 'application/octet-stream')
    """
    named = _by_name(file_name)
    known = media_type(head) or _container(file_name, head) or (correct_type(named, head) if named else None)
    return known or ("text/plain" if is_text(head) else "application/octet-stream")


def correct_type(named: str, head: bytes) -> str:
    """Return the media type of a file that is text although its name says otherwise, such as a web page saved as a PDF.
    Otherwise, return `named`.

    >>> correct_type("application/pdf", b"<html><body>Log in"), correct_type("text/csv", b"day,cost")
    ('text/html', 'text/csv')
    """
    is_table = named in ("text/csv", "text/tab-separated-values")
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        head = head.decode("utf-16", "ignore").encode()
    if not (is_table or named in _BINARY or named.startswith(_BINARY_FAMILIES)) or _NOT_IN_TEXT.search(head):
        return named
    if _HTML_START.match(head):
        return "text/html"
    if _JSON_START.match(head):
        return "application/json"
    if is_table or not head.strip():
        return named
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<?xml"):
        return "application/xml"
    if named in SPREADSHEETS:
        line = head.partition(b"\n")[0]
        return "text/tab-separated-values" if b"\t" in line else "text/csv"
    return "text/plain"


def is_audio_or_video(head: bytes) -> bool:
    """Return True if the first bytes of a file are those of audio or video."""
    return (media_type(head) or "").startswith(("audio/", "video/"))


def safe_name(text: str) -> str:
    """Return a safe file name: the last component of `text`, printable, at most 200 bytes, never empty.

    >>> safe_name("C:\\\\ads\\\\brief.pdf"), safe_name("../.."), safe_name("a\\u202egnp.exe")
    ('brief.pdf', 'file', 'agnp.exe')
    """
    name = re.split(r"[/\\]", text)[-1]
    name = normalize("NFC", "".join(c for c in name if not _is_unprintable(c))).strip()
    return "file" if name in ("", ".", "..") else _shorten_name(name)


def safe_path(text: str) -> str | None:
    """Return `text` unchanged if it is an allowed workspace path, else None.

    An allowed path is relative, has `/` between its parts and at most 500 characters. It has no `..`, empty parts,
    backslashes or unprintable characters.

    >>> safe_path("out/report.md"), safe_path("../secret"), safe_path("/etc/passwd")
    ('out/report.md', None, None)
    """
    if len(text) > PATH_MAX_CHARS or "\\" in text or any(map(_is_unprintable, text)):
        return None
    return None if any(part.strip() in ("", ".", "..") for part in text.split("/")) else text


def _is_unprintable(character: str) -> bool:
    """Return True for control characters, direction marks, line and paragraph separators, and lone surrogates."""
    return character in _BIDI or category(character) in ("Cc", "Cs", "Zl", "Zp")


def _shorten_name(name: str) -> str:
    """Return the name truncated to `NAME_MAX_BYTES` in UTF-8. Keep its file extension if that is short."""
    stem, dot, ending = name.rpartition(".")
    if not stem or len(ending.encode()) > 16:
        stem, dot, ending = name, "", ""
    room = NAME_MAX_BYTES - len((dot + ending).encode())
    return stem.encode()[:room].decode("utf-8", "ignore").rstrip() + dot + ending


def _by_name(file_name: str) -> str | None:
    _, dot, ending = file_name.lower().rpartition(".")
    return (_BY_ENDING.get(ending) or _MORE_ENDINGS.types_map[True].get(f".{ending}")) if dot else None


def _container(file_name: str, head: bytes) -> str | None:
    """Return the media type if the file is a ZIP or OLE container, as many documents are. Otherwise, return None."""
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


_TABLE_ENDINGS: Final = frozenset(
    {
        *(".csv", ".tsv", ".tab", ".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".json", ".jsonl", ".ndjson"),
        *(".html", ".htm", ".xhtml", ".md", ".markdown", ".docx", ".parquet", ".pq", ".txt"),
    }
)
_TABLE_ENDING_BY_TYPE: Final = {
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    OFFICE + "spreadsheetml.sheet": ".xlsx",
    "application/vnd.ms-excel": ".xls",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/json": ".json",
    "application/x-ndjson": ".jsonl",
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/markdown": ".md",
    OFFICE + "wordprocessingml.document": ".docx",
    "application/vnd.apache.parquet": ".parquet",
}


def table_ending(name: str, media_type: str) -> str:
    """Return the file extension of a table format, such as `.csv`, or "" if the file has no tables.

    The extension in the file's name decides if it is one of a table format. Otherwise, the media type decides.

    >>> table_ending("ads.csv.gz", "application/gzip")
    '.csv'
    """
    ending = PurePosixPath(name.lower().removesuffix(".gz")).suffix
    if ending in _TABLE_ENDINGS:
        return ending
    return _TABLE_ENDING_BY_TYPE.get(media_type.partition(";")[0].strip().lower(), "")
