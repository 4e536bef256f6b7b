"""Sanitise untrusted text, so that it can't contain markup or control codes of terminals.

All displayed text must pass through `plain` (text) or `escape` (HTML). Pages and files that an agent reads influence
what it writes, so its text may come from an attacker.
"""

from __future__ import annotations

import html
import json
import re
from typing import Any, Final

_ANSI = re.compile(
    "\x1b(?:\\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    "|\\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\\\)"  # OSC: titles, links
    "|[PX^_][^\x1b]{0,4096}\x1b\\\\"  # DCS, SOS, PM, APC
    "|[ -/]*[0-~])"
    "|\x9b[0-?]*[ -/]*[@-~]"
)
_NEWLINE = re.compile("\r\n?|\u2028|\u2029|\x85")
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 except tab and newline
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional controls, which change the order of displayed text
    "\ufeff\U000e0000-\U000e007f]"  # byte order mark and tag characters, which are invisible
)
# Letters and marks without a shape, which `str.isprintable` does not detect: joiners of letters, fillers of Hangul,
# inherent vowels of Khmer, selectors of Mongolian and of variants, the blank of Braille, a note without a head.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159\U000e0100-\U000e01ef]"
)
_IN_WRITING = re.compile("[\u200c\u200d\ufe0e\ufe0f\xa0\u2002-\u200a\u202f\u205f\u3000]")
_SURROGATE = re.compile("[\ud800-\udfff]")  # UTF-8 can't encode surrogates: they would break the kernel's messages
_CODE = re.compile("`([^`]+)`")
_CURRENCY: Final = "[$€£¥]|EUR|USD|GBP|CHF|JPY"
_UNIT: Final = rf"{_CURRENCY}|[%‰]|cents?|[kMG]?B|s|ms|min|h|kg|g|km|m|x"
_NUMBER: Final = re.compile(rf"[-+\u2212]?\s?(?:{_CURRENCY})?\s?\d[\d.,\u00a0\u202f' ]*\s?(?:{_UNIT})?")

LABEL_CHARS: Final = 200


def plain(text: str) -> str:
    r"""Return the text without terminal sequences, control characters (except tab and newline) and bidirectional
    controls.

    >>> plain("\x1b[31mred\x1b[0m\u202e")
    'red'
    """
    text = _NEWLINE.sub("\n", _ANSI.sub("", text))
    return _SURROGATE.sub("\ufffd", _INVISIBLE.sub("", text))


def label(text: object, limit: int = LABEL_CHARS) -> str:
    """Return the text sanitised, on one line, and truncated to `limit` characters."""
    line = " ".join(plain(str(text)).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def escape(text: object, limit: int = LABEL_CHARS) -> str:
    """Return the text as `label` does, with special characters escaped for HTML content and quoted attributes."""
    return html.escape(label(text, limit), quote=True)


def worded(text: object, limit: int = LABEL_CHARS) -> str:
    """Return a text for HTML, as `escape` does, with `<code>` for text between backticks.

    >>> worded("`%runs` lists them & more")
    '<code>%runs</code> lists them &amp; more'
    """
    return _CODE.sub(r"<code>\1</code>", escape(text, limit))


def in_bold(text: str) -> str:
    """Return a text for a terminal, with text between backticks in bold.

    >>> in_bold("`%runs` lists them")
    '\\x1b[1m%runs\\x1b[0m lists them'
    """
    return _CODE.sub("\x1b[1m\\1\x1b[0m", text)


def is_number(text: str) -> bool:
    """Return True if a table's cell contains only an amount, so that it should be aligned to the right.

    >>> is_number("1,234.50 €"), is_number("EUR 1,234.50"), is_number("12 March")
    (True, True, False)
    """
    return len(text) <= 40 and _NUMBER.fullmatch(text.strip()) is not None


def excerpt(text: str, limit: int) -> str:
    """Return the text sanitised, cut to `limit` characters. If it was longer, a last line states the whole length."""
    shown = plain(text[: 2 * limit])[:limit]
    return shown if len(text) <= limit else f"{shown}\n… ({len(text):,} characters)"


def exact(value: Any, indent: int | None = None, limit: int | None = None) -> str:
    r"""Return a value as JSON for a person who must see all of it, such as before an approval. Invisible characters
    become escapes.

    JSON that is truncated to `limit` characters ends with a line that says how long the whole JSON is.

    >>> exact({"to": "ada@example.com\u202e\n"})
    '{"to": "ada@example.com\\u202e\\n"}'
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    shown = text if limit is None else text[:limit]
    more = "" if len(shown) == len(text) else f"\n… ({len(text):,} characters)"
    return reveal(shown) + more


def editable(value: Any) -> str:
    r"""Return a value as JSON for a person to edit. Invisible characters become JSON escapes, so that the JSON still
    means `value`.

    >>> editable("\u202e\U000e0001")
    '"\\u202e\\udb40\\udc01"'
    """
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return "".join(json.dumps(char)[1:-1] if char != "\n" and _is_invisible(char) else char for char in text)


def reveal(text: str) -> str:
    r"""Return code for a person who must see all of it. Invisible characters except tab and newline become escapes.

    >>> reveal("admin\u3164 = 'a\u200db'")
    "admin\\u3164 = 'a\\u200db'"
    """
    return "".join(char if char in "\n\t" or not _is_invisible(char) else _escape(char) for char in text)


def forbidden(text: str) -> str:
    r"""Return the names of the invisible characters in code that make it unfit for approval, or "" if there are none.

    Some invisible characters are allowed, because writing systems need them: joiners, variation selectors as in emoji,
    and wide spaces. `reveal` shows them.

    >>> forbidden("x = 1 # \u202e\u3164"), forbidden("print('a\u200db')")
    ('U+202E, U+3164', '')
    """
    found = {char for char in text if char not in "\n\t" and _is_invisible(char) and not _IN_WRITING.match(char)}
    return ", ".join(f"U+{ord(char):04X}" for char in sorted(found))


def _is_invisible(char: str) -> bool:
    return not char.isprintable() or _BLANK.match(char) is not None


def _escape(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
