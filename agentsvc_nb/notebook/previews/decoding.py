"""Bytes to text: a byte order mark is believed, then UTF-8 is tried, then the encoding is guessed."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Final

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16's, with which it begins
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS: Final = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_SAMPLE_BYTES: Final = 16_000
"""A guess from more takes longer and is no better."""

_WESTERN: Final = "cp1252"
_LIKELY: Final = (
    *(_WESTERN, "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r"),
    *("shift_jis", "euc_jp", "gb18030", "big5", "euc_kr"),
)
"""What files still are in. A short text looks as good in one of a hundred others."""


@dataclass(frozen=True, slots=True)
class Text:
    """`guessed`: nothing but the look of the text says that it is in this encoding."""

    text: str
    encoding: str
    guessed: bool = False


def decoded(data: bytes, *, cut: bool) -> Text | None:
    """The text that these bytes are, or that they begin when they are `cut`; None for what is no text.

    >>> decoded("Zürich".encode("utf-16"), cut=False)
    Text(text='Zürich', encoding='utf-16', guessed=False)
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return Text(data.decode(encoding, "replace"), encoding.removesuffix("-sig"))
    data = data.rstrip(b"\0")  # the hole of a file that was made larger than what is written yet
    if b"\0" in data or not data:
        return None
    try:
        # Where it is cut, the last character may be half there.
        return Text(codecs.getincrementaldecoder("utf-8")().decode(data, final=not cut), "utf-8")
    except UnicodeDecodeError:
        return None if len(_CONTROLS.findall(data)) > len(data) / 50 else _guessed(data)


def _guessed(data: bytes) -> Text:
    from charset_normalizer import from_bytes

    found = from_bytes(data[:_SAMPLE_BYTES], cp_isolation=[*_LIKELY])
    best = found.best()
    # Letters of western and central Europe often look as well in either: western is the likelier.
    western = best is None or any(
        _WESTERN in match.could_be_from_charset and match.chaos <= best.chaos for match in found
    )
    encoding = _WESTERN if best is None or western else best.encoding
    return Text(data.decode(encoding, "replace"), encoding.replace("_", "-"), guessed=True)
