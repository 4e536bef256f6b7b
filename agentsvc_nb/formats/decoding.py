"""Decoding of bytes to text: by the byte order mark, else as UTF-8, else in a guessed encoding."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Final

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: its mark begins with UTF-16's
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
"""The encodings in use today. Among all hundred of them, a short text would look as good in several."""


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A text and its encoding; `guessed` if only the look of the text speaks for that encoding."""

    text: str
    encoding: str
    guessed: bool = False


def decode(data: bytes, *, cut: bool) -> DecodedText | None:
    """The text of these bytes; None if they are not text. `cut`: they are only the beginning of a file.

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
        # The last character may be cut off.
        return DecodedText(codecs.getincrementaldecoder("utf-8")().decode(data, final=not cut), "utf-8")
    except UnicodeDecodeError:
        return None if len(_CONTROL_BYTES.findall(data)) > len(data) / 50 else _guess(data)


def text_of(data: bytes) -> str:
    """The text of a whole file that counts as text; bytes that look like no text are read as Windows-1252."""
    found = decode(data, cut=False)
    return data.decode(_WESTERN, "replace") if found is None else found.text


def _guess(data: bytes) -> DecodedText:
    from charset_normalizer import from_bytes

    found = from_bytes(data[:_SAMPLE_BYTES], cp_isolation=[*_LIKELY_ENCODINGS])
    best = found.best()
    # European text often looks as well in the western encoding as in the central European one: western is likelier.
    western = best is None or any(
        _WESTERN in match.could_be_from_charset and match.chaos <= best.chaos for match in found
    )
    encoding = _WESTERN if best is None or western else best.encoding
    return DecodedText(data.decode(encoding, "replace"), encoding.replace("_", "-"), guessed=True)
