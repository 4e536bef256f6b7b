"""How files begin: media types by content (contract.md §2: audio and video by content, not by name). Pure."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

HEAD_BYTES: Final = 4_096
"""How much of a file's beginning the functions here want to see; with less they know fewer types."""


class Signature(NamedTuple):
    """A file that begins with `pattern` is of this media type."""

    media_type: str
    pattern: re.Pattern[bytes]


def _begins(media_type: str, pattern: bytes) -> Signature:
    return Signature(media_type, re.compile(pattern, re.DOTALL))


def _any_of(values: Iterable[int]) -> bytes:
    return b"[" + b"".join(b"\\x%02x" % value for value in values) + b"]"


# Of an MPEG audio frame's third byte: the bit rates and sample rates that exist. Likewise the sample rates of AAC.
_MP3_RATES = _any_of(byte for byte in range(0x10, 0xF0) if byte & 0x0C != 0x0C)
_AAC_RATES = _any_of(byte for byte in range(256) if (byte >> 2) & 0x0F < 13)

# The first that fits counts. FF FE is the mark of UTF-16, and no MPEG frame here: that would be layer I, long extinct.
_SIGNATURES = (
    _begins("image/png", rb"\x89PNG\r\n\x1a\n"),
    _begins("image/jpeg", rb"\xff\xd8\xff"),
    _begins("image/gif", rb"GIF8[79]a"),
    _begins("image/webp", rb"RIFF....WEBP"),
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
    _begins("application/pdf", rb"(?:\xef\xbb\xbf|\s)*%PDF-"),
    _begins("application/vnd.apache.parquet", rb"PAR1"),
    _begins("application/vnd.sqlite3", rb"SQLite format 3\x00"),
    _begins("application/gzip", rb"\x1f\x8b\x08"),
    _begins("application/x-7z-compressed", rb"7z\xbc\xaf\x27\x1c"),
    _begins("application/vnd.rar", rb"Rar!\x1a\x07"),
)


_NOT_IN_TEXT = re.compile(rb"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f]")


def media_type(head: bytes) -> str | None:
    """The media type that the first bytes show; None when they show none.

    >>> media_type(b"%PDF-1.7"), media_type(b"RIFF, WAVE and other words")
    ('application/pdf', None)
    """
    found = next((signature.media_type for signature in _SIGNATURES if signature.pattern.match(head)), None)
    if found is not None and found.startswith(("audio/", "video/")) and _reads_as_text(head):
        return None  # words that happen to begin like a container; the real ones hold bytes that text does not
    return found


def is_text(head: bytes) -> bool:
    """Whether the bytes are UTF-8 text, or UTF-16 by its mark; the last character may be cut."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return _NOT_IN_TEXT.search(head) is None


def _reads_as_text(head: bytes) -> bool:
    """Text in UTF-8, or enough of it in some older encoding: 64 bytes of audio or video have a control byte."""
    return is_text(head) or (len(head) > 64 and _NOT_IN_TEXT.search(head) is None)
