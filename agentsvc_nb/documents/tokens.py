"""Split text into words and tokens as search compares them (docs/api/files.md "Search").

Folding (`fold`) removes the differences that search ignores, such as case and accents. Both the query and the texts are
folded, so that search treats texts as equal only if `fold` makes them equal. Folding may change the length of a text
(straße, ﬁne, İstanbul), so `Folded` maps offsets in the folded text back to the original.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Final
from unicodedata import category, normalize

CJK: Final = (
    "\u1100-\u115e\u1161-\u11ff\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u3096\u3099\u309a"
    "\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uf900-\ufaff\U0001aff0-\U0001b167\U00020000-\U0003ffff"
)
"""CJK characters (Han, kana, bopomofo and Hangul) for use inside `[...]` in a regular expression."""

_FIRST_CJK: Final = "\u1100"
_VOICING: Final = "\u3099\u309a"


def _marks(start: int, stop: int) -> str:
    """Return all combining marks in a range of code points, for use inside `[...]`, because `re` has no `\\p{M}`."""
    kinds = "".join(map(category, map(chr, range(start, stop))))  # two letters each. A loop would be slower
    runs = re.finditer("(?:M.)+", kinds)
    return "".join(f"{chr(start + run.start() // 2)}-{chr(start + run.end() // 2 - 1)}" for run in runs)


_BMP_MARKS = _marks(0x300, 0x10000)
MARKS: Final = _BMP_MARKS + _marks(0x10000, 0x1E95F)
# `re` looks up characters below 0x10000 in a table, but tries later ranges one by one. To be 15 times as fast, check
# the later ranges in a second step.
_MARK = f"[{_BMP_MARKS}\U00010000-\U0010ffff](?<=[{MARKS}])"
LETTER: Final = rf"[^\W_{CJK}]"
"""A pattern for a letter or digit that is not CJK."""

_UNIT = re.compile(rf"[{CJK}]+|(?:[a-z0-9]++|{LETTER}|{_MARK})+")
_ASCII_WORD = re.compile("[a-z0-9]+")
_IN_WORD = re.compile(f"(?![{CJK}])(?:{LETTER}|{_MARK})")
_REST_OF_WORD = re.compile(f"(?:{LETTER}|{_MARK})*+")
_IS_CJK = re.compile(f"[{CJK}]")
_MARK_RUN = re.compile(f"{_MARK}(?:{_MARK})*")
# Python sorts the marks on one letter in quadratic time. No script needs more than 30 marks (UAX #15, stream-safe
# text).
_TOO_MANY_MARKS = re.compile(f"((?:{_MARK}|[\uff9e\uff9f]){{30}})(?:{_MARK}|[\uff9e\uff9f])+")
# Invisible characters: soft hyphens, joiners, direction and variation marks, marks that turn letters into symbols.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c-\u200f\u202a-\u202e\u2060-\u206f\u20d0-\u20ff"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
# Only Latin, Greek and Cyrillic letters (and digits) lose their marks. In other scripts, a mark is a vowel or a letter.
_LOSES_MARKS = re.compile(
    "[0-9a-z\u00df-\u02af\u0370-\u03e1\u03f0-\u052f\u1c80-\u1c8f\u1d00-\u1dbf\u1e00-\u1fff\u2c60-\u2c7f\u2de0-\u2dff"
    "\ua640-\ua69f\ua720-\ua7ff\uab30-\uab6f]"
)
# Characters that may merge with the preceding character: marks, jamo, and the half-width signs of voiced kana.
_JOINS = re.compile(f"{_MARK}|[\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\ud7b0-\ud7fb\uff9e-\uffdc]")
_ASCII_BYTES = bytes(range(0x80))
# A text may be folded piece by piece if each piece begins with a character that never merges with the preceding one.
_PIECE = re.compile(
    "(?s:.{32,4096}?(?=[\t-\r -~\u0400-\u0481\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]|\\Z)|.{1,4096})"
)


def fold(text: str) -> str:
    """Return a text as search compares it.

    The result has no capitals, no marks on Latin, Greek and Cyrillic letters, and plain characters instead of
    compatibility characters (`fi` instead of `ﬁ`).

    >>> fold("Straße in İstanbul, ﬁne Ёлка")
    'strasse in istanbul, fine елка'
    """
    if text.isascii():
        return text.lower()
    joins = _JOINS.search(non_ascii_characters(text))
    return _fold_joined(text) if joins else text.translate(_ALONE)


def non_ascii_characters(text: str) -> str:
    """Return the distinct non-ASCII characters of a text.

    Callers test these instead of the whole text, to save time. Selecting them from the bytes is five times as fast as
    `set(text)`.
    """
    beyond = text.encode("utf-8", "surrogatepass").translate(None, _ASCII_BYTES)
    return "".join(set(beyond.decode("utf-8", "surrogatepass")))


def _fold_joined(text: str) -> str:
    text = _TOO_MANY_MARKS.sub(r"\1", _UNSEEN.sub("", text))
    # Normalise twice, because ™ becomes capitals and ΐ folds to marks.
    text = normalize("NFKD", normalize("NFKD", text).casefold())
    return normalize("NFC", _MARK_RUN.sub(_filter_marks, text))  # joins the parts of Hangul and voiced kana again


class _FoldTable(dict[int, str]):
    """Maps code points to their folded characters, for `str.translate`.

    Translating is much faster than normalising, but gives wrong results for characters that merge with the preceding
    one.
    """

    def __missing__(self, code: int) -> str:
        self[code] = _fold_joined(chr(code))
        return self[code]


_ALONE: Final = _FoldTable()


def _filter_marks(found: re.Match[str]) -> str:
    """Return the marks that folding keeps: none on Latin, Greek and Cyrillic letters, voicing marks only on kana."""
    before = found.string[max(found.start() - 1, 0) : found.start()]
    if not before.isalnum() or _LOSES_MARKS.match(before):
        return ""
    of_kana = is_cjk(before)
    return "".join(mark for mark in found.group() if (mark in _VOICING) == of_kana)


def in_word(folded: str, at: int) -> bool:
    """Return True if the character at `at` is a letter, digit or mark but not CJK. Return False at the text's end."""
    char = folded[at : at + 1]
    return char.isalnum() if char < "\x80" else _IN_WORD.match(char) is not None


def in_run(folded: str, at: int) -> bool:
    """Return True if the character at `at` is CJK. Return False at the end of the text."""
    return _IS_CJK.match(folded, at) is not None


def word_end(folded: str, at: int) -> int:
    """Return the end of the word that continues at `at`, or `at` if no word continues there."""
    rest = _REST_OF_WORD.match(folded, at)
    return rest.end() if rest else at


def is_cjk(unit: str) -> bool:
    return _IS_CJK.match(unit) is not None


def units(text: str) -> list[str]:
    """Split a text into its folded words. An unbroken run of CJK characters is one unit.

    >>> units("Ad-copy: 夏のセールsale")
    ['ad', 'copy', '夏のセール', 'sale']
    """
    folded = fold(text)
    return _ASCII_WORD.findall(folded) if folded.isascii() else _UNIT.findall(folded)


def grams(unit: str) -> Iterator[str]:
    """Yield the tokens of a unit for the index: the word, or each pair of neighbours in a CJK run and its last
    character.

    So each character of a run begins exactly one token, and a phrase can tell where the run ends.
    """
    if is_cjk(unit):
        yield from (unit[at : at + 2] for at in range(len(unit)))
    else:
        yield unit


def tokens(text: str) -> list[str]:
    """Return a text's tokens for the index, in order. Of ASCII characters, tokens contain only `a-z0-9`.

    >>> tokens("夏のB2B sale")
    ['夏の', 'の', 'b2b', 'sale']
    """
    found: list[str] = []
    for unit in units(text):
        if unit < _FIRST_CJK:  # true for most words, and faster than testing for CJK
            found.append(unit)
        else:
            found += grams(unit)
    return found


def _is_aligned(kinds: str) -> bool:
    """Return True if each character folds to exactly one character, so that offsets do not change, as in most texts."""
    return not _JOINS.search(kinds) and all(len(_ALONE[ord(char)]) == 1 for char in kinds)


class Folded:
    """A folded text. `span` maps its offsets to those of the original text.

    `kinds` must contain at least the non-ASCII characters of the original text.
    """

    def __init__(self, original: str, kinds: str) -> None:
        self._aligned = _is_aligned(kinds)
        if self._aligned:
            self.text = original.translate(_ALONE)
            return
        self._pieces = _PIECE.findall(original)
        folded = [fold(piece) for piece in self._pieces]
        self.text = "".join(folded)
        self._starts = list(accumulate(map(len, folded), initial=0))
        self._origins = list(accumulate(map(len, self._pieces), initial=0))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the start and end, in the original, of the non-empty part [start, end) of `text`."""
        if self._aligned:
            return start, end
        return self._origin(start, 0), self._origin(end, 1)

    def _origin(self, offset: int, ending: int) -> int:
        at = bisect_right(self._starts, offset - ending, hi=len(self._pieces)) - 1
        piece, inside = self._pieces[at], offset - self._starts[at]
        if not piece.isascii():
            inside = self._unfolded(piece, inside, ending)
        return self._origins[at] + inside

    @staticmethod
    def _unfolded(piece: str, inside: int, ending: int) -> int:
        def length(count: int) -> int:
            return len(fold(piece[:count]))

        count = bisect_right(range(len(piece) + 1), inside, key=length) - 1
        return count + (ending and length(count) < inside)
