"""Decode files and web pages by the byte order mark, else as UTF-8 if valid, else by a declared or guessed encoding."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from webencodings import Encoding

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # must precede UTF-16, because its byte order mark begins with that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL_BYTES: Final = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_HEAD_BYTES: Final = 4_000
"""The number of first bytes in which zero bytes are counted, to detect UTF-16 without a byte order mark."""
_SAMPLE_BYTES: Final = 16_000
"""The number of bytes from which an encoding is guessed. More bytes take longer and do not improve the guess."""
_SAMPLE_LINES: Final = 2_000

_WESTERN: Final = ("cp1252", "mac_roman", "cp850")
"""The western encodings of Windows, of spreadsheets on a Mac, and of DOS."""
_LIKELY_ENCODINGS: Final = (
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r"),
    *("shift_jis", "euc_jp", "gb18030", "big5", "euc_kr"),
)
"""The other encodings to consider, which are in use today. More encodings would often fit a short text equally well."""
_SURE: Final = 0.9
_RARE: Final = 0.5
_FAMILIAR: Final = re.compile(
    r"(?:(?<=[^\W\d_])|(?=.[^\W\d_]))[äöüßéèêëàâáãçñóòôõíìîïúùûýÿœæøåÄÖÜÉÈÊÀÂÁÃÇÑÓÔÕÍÎÚÛŒÆÅØ]|(?<=[A-Za-z])’(?=[A-Za-z])"
    r"|(?<![A-Za-z])[€„“‘–—]|[”“’…€](?![A-Za-z])|[\u00a0°§©®]"
)
"""Matches non-ASCII characters of western texts in their usual positions, such as `ä` next to a letter."""


@dataclass(frozen=True, slots=True)
class DecodedText:
    """Holds a text and the encoding of its bytes. `guessed` is True if only the bytes suggest that encoding."""

    text: str
    encoding: str
    guessed: bool = False


def decode(data: bytes, *, cut: bool, declared: str | None = None) -> DecodedText | None:
    """Return the text of these bytes, or None if they are not text.

    Set `cut` if the bytes are only the beginning of a file. `declared` is the encoding to use instead of a guess if the
    text is in no UTF encoding.

    >>> decode("Zürich".encode("utf-16"), cut=False)
    DecodedText(text='Zürich', encoding='utf-16', guessed=False)
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return DecodedText(data.decode(encoding, "replace"), encoding.removesuffix("-sig"))
    if encoding := _detect_utf16(data[:_HEAD_BYTES]):
        return DecodedText(data.decode(encoding, "replace"), encoding)
    data = data.rstrip(b"\0")  # a file that was allocated in full before it was written ends with zeros
    if not data or data.count(0) > len(data) / 100:
        return None
    try:
        # The last character may be incomplete if the text is cut.
        return DecodedText(codecs.getincrementaldecoder("utf-8")().decode(data, final=not cut), "utf-8")
    except UnicodeDecodeError:
        return None if len(_CONTROL_BYTES.findall(data)) > len(data) / 50 else _decode_other(data, declared)


def text_of(data: bytes) -> str:
    """Return the text of a whole file that was recognised as text. Read it as Windows-1252 if `decode` rejects it."""
    found = decode(data, cut=False)
    return data.decode(_WESTERN[0], "replace") if found is None else found.text


def _detect_utf16(head: bytes) -> str:
    """Return the UTF-16 variant of a text without a byte order mark, or "" if the text has few zero bytes.

    In UTF-16, each ASCII character has one zero byte, whose position shows the byte order.
    """
    zeros = head[::2].count(0), head[1::2].count(0)
    if max(zeros) <= len(head) / 5 or min(zeros) * 10 >= max(zeros):
        return ""
    return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"


def _decode_other(data: bytes, declared: str | None) -> DecodedText:
    """Decode a text that is not valid UTF-8.

    If more than two thirds of its non-ASCII characters are valid UTF-8, decode it as UTF-8 nevertheless. Otherwise, use
    the declared encoding (or Latin-1, if the declared one fails). Without a declaration, guess the encoding.
    """
    text = data.decode("utf-8", "replace")
    broken, beyond_ascii = text.count("\ufffd"), len(text) - len(text.encode("ascii", "ignore"))
    if broken * 2 < beyond_ascii - broken:
        return DecodedText(text, "utf-8")
    if declared is None:
        encoding = _guess(data)
        return DecodedText(data.decode(encoding, "replace"), encoding.replace("_", "-"), guessed=True)
    try:
        return DecodedText(data.decode(declared), declared)
    except (LookupError, UnicodeDecodeError):  # a file may declare an encoding that is unknown or wrong
        return DecodedText(data.decode("latin-1"), "latin-1")


def _guess(data: bytes) -> str:
    """Return the encoding that best fits the lines with non-ASCII bytes."""
    lines = (line for line in data.splitlines() if not line.isascii())
    sample = b"\n".join(islice(lines, _SAMPLE_LINES))[:_SAMPLE_BYTES]
    western = max(_WESTERN, key=lambda name: _rate_western(sample.decode(name, "replace")))
    if _rate_western(sample.decode(western, "replace")) >= _SURE:
        return western
    from charset_normalizer import from_bytes

    found = from_bytes(sample, cp_isolation=[*_LIKELY_ENCODINGS])
    best = found.best()
    # European text often fits both the western and the central European encoding. The western encoding is more likely.
    as_well = best is None or any(
        _WESTERN[0] in match.could_be_from_charset and match.chaos <= best.chaos for match in found
    )
    return _WESTERN[0] if best is None or as_well else best.encoding


def _rate_western(text: str) -> float:
    """Return the share (0 to 1) of the non-ASCII characters that are where western languages have them.

    Return 0.0 if more than half of the letters are non-ASCII, because western texts consist mostly of ASCII letters.
    """
    beyond = [char for char in text if not char.isascii()]
    letters = sum(1 for char in text if char.isalpha())
    rare = sum(1 for char in beyond if char.isalpha()) <= _RARE * letters
    return len(_FAMILIAR.findall(text)) / len(beyond) if beyond and rare else 0.0


_PIECE_BYTES: Final = 1 << 16
_PRESCAN_BYTES: Final = 1024
_META: Final = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)


def decode_page(data: bytes, label: str = "") -> Iterator[str]:
    """Yield the text of a web page in pieces, decoded as browsers do it.

    The first source that exists decides the encoding: the byte order mark, `label` (the charset of `Content-Type`), or
    a `<meta>` element. Without any, the encoding is UTF-8 if the bytes are valid UTF-8, else Windows-1252. Only the
    encodings of the WHATWG standard are allowed, because other codecs of Python take quadratic time (`punycode`) or
    raise errors despite `errors="replace"` (`idna`).

    The text comes in pieces, because a codec holds the interpreter's lock: Windows-1252 takes two seconds for 5 MB of
    undefined bytes.

    >>> "".join(decode_page("Zürich €".encode("cp1252"), "latin1"))
    'Zürich €'
    """
    from webencodings import IncrementalDecoder, lookup  # imported here, because only web pages need it

    decoder = IncrementalDecoder(lookup(label) or _find_declared(data) or lookup(_fallback(data)), "replace")
    for at in range(0, len(data), _PIECE_BYTES):
        yield decoder.decode(data[at : at + _PIECE_BYTES])
    yield decoder.decode(b"", final=True)


def _find_declared(data: bytes) -> Encoding | None:
    """Return the encoding that a page's `<meta>` element names, or None.

    If the element names UTF-16, return UTF-8: the element was found as ASCII text, so the page cannot be UTF-16.
    """
    from webencodings import lookup

    named = _META.search(data[:_PRESCAN_BYTES])
    found = lookup(named[1].decode("ascii", "ignore")) if named else None
    return lookup("utf-8") if found and found.name.startswith("utf-16") else found


def _fallback(data: bytes) -> str:
    try:
        data.decode()
    except UnicodeDecodeError:
        return "windows-1252"
    return "utf-8"
