"""Text fitted into a box: at the largest size; smaller rather than with a parted word; parted at syllables, as its
language has them, rather than tiny; cut only where the smallest type is too large."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, Final

from agentsvc_nb.tools.ads.fonts import font

if TYPE_CHECKING:
    from pyphen import Pyphen


LEADING: Final = 1.16
_SMALL: Final = 0.33
"""Part of the sum of the smallest and the largest size: smaller type is too small for a headline."""
_WIDE: Final = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
_PIECE = re.compile(rf"[{_WIDE}]|[^\s{_WIDE}]+|\s+")


@dataclass(frozen=True, slots=True)
class Type:
    """A typeface: a family and its weight; and the language of what is set in it."""

    family: str
    bold: bool = False
    language: str = ""

    def width(self, text: str, size: int) -> float:
        return _width(self.family, self.bold, size, text)


@lru_cache(maxsize=4096)
def _width(family: str, bold: bool, size: int, text: str) -> float:
    return font(family, bold, size).getlength(text)


class Parting(IntEnum):
    """How the words of a text were parted at the ends of lines."""

    NONE = 0
    SYLLABLES = 1
    ANYWHERE = 2


@dataclass(frozen=True, slots=True)
class Fitted:
    """Lines at a size in pixels, and the pixels from one line to the next."""

    lines: Sequence[str]
    size: int
    step: int
    parting: Parting = Parting.NONE
    cut: bool = False

    @property
    def height(self) -> int:
        return self.step * len(self.lines)


def fit(text: str, type_: Type, width: int, height: int, sizes: tuple[int, int]) -> Fitted:
    """The text at the largest size in `sizes` (smallest, largest) that fits. Text that does not fit at the smallest
    size is cut, which `…` marks.

    A long word that would make all of the text small is parted between syllables instead; elsewhere only where nothing
    else fits.
    """
    best = _largest(text, type_, width, height, sizes, Parting.NONE)
    if best is None or best.size < sum(sizes) * _SMALL:
        parted = _largest(text, type_, width, height, sizes, Parting.SYLLABLES)
        best = max((one for one in (best, parted) if one), key=lambda one: one.size, default=None)
    best = best or _largest(text, type_, width, height, sizes, Parting.ANYWHERE)
    if best is None:
        return _cut(_set(text, type_, width, sizes[0]), type_, width, height)
    return _balanced(text, best, type_, width)


def _largest(
    text: str, type_: Type, width: int, height: int, sizes: tuple[int, int], parting: Parting
) -> Fitted | None:
    """The text at the largest size that fits with no worse parting; None when the smallest does not fit."""

    def fitted(size: int) -> Fitted | None:
        tried = _set(text, type_, width, size, parting)
        fits = tried.height <= height and tried.parting <= parting and _within(tried, type_, width)
        return tried if fits else None

    low, high = sizes
    if (at := fitted(low)) is None:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if (tried := fitted(middle)) is None:
            high = middle
        else:
            at, low = tried, middle
    return at


def _balanced(text: str, fitted: Fitted, type_: Type, width: int) -> Fitted:
    """The text at the least width that takes no more lines, so that no word is left alone on the last one."""
    if len(fitted.lines) == 1 or fitted.parting:
        return fitted
    for narrow in range(width // 2, width, max(1, width // 40)):
        tried = _set(text, type_, narrow, fitted.size)
        if len(tried.lines) == len(fitted.lines) and not tried.parting:
            return tried
    return fitted


def _within(fitted: Fitted, type_: Type, width: int) -> bool:
    """Whether all lines are within the width: a single letter may be wider."""
    return all(type_.width(line, fitted.size) <= width for line in fitted.lines)


def _set(text: str, type_: Type, width: int, size: int, allowed: Parting = Parting.NONE) -> Fitted:
    """The text in lines. Syllables are looked for only where parting is `allowed`: their patterns take long to read."""
    lines, parting = [""], Parting.NONE
    for piece in _PIECE.findall(text):
        if type_.width((lines[-1] + piece).strip(), size) <= width:
            lines[-1] += piece
        elif not piece.isspace():
            pieces, worst = _parted(piece, type_, width, size, allowed)
            lines += pieces
            parting = max(parting, worst)
    return Fitted([line.strip() for line in lines if line.strip()], size, round(size * LEADING), parting)


def _parted(word: str, type_: Type, width: int, size: int, allowed: Parting) -> tuple[list[str], Parting]:
    """A word in pieces that each fit a line, with a hyphen between letters. A mark stays with its letter."""
    pieces: list[str] = []
    worst, done = Parting.NONE, 0
    ends = joints(word, type_.language) if allowed and type_.width(word, size) > width else []
    while done < len(word) and type_.width(word[done:], size) > width:
        rest = word[done:]
        most = bisect_right(range(1, len(rest)), width, key=lambda at: ceil(type_.width(rest[:at] + "-", size)))
        end = max((at - done for at in ends if done < at <= done + most), default=0)
        worst = max(worst, Parting.SYLLABLES if end else Parting.ANYWHERE)
        if not end:
            end = max(1, most)
            end = next((at for at in range(end, 0, -1) if at == len(rest) or not _is_mark(rest[at])), end)
        pieces.append(rest[:end] + ("-" if rest[end - 1 : end + 1].isalpha() else ""))
        done += end
    return [*pieces, word[done:]], worst


def _is_mark(char: str) -> bool:
    return unicodedata.category(char).startswith("M")


def _cut(fitted: Fitted, type_: Type, width: int, height: int) -> Fitted:
    kept = list(fitted.lines[: max(1, height // fitted.step)])
    last = kept[-1]
    while last and type_.width(last + "…", fitted.size) > width:
        last = last[:-1]
    return Fitted([*kept[:-1], last.rstrip(" -") + "…"], fitted.size, fitted.step, fitted.parting, cut=True)


_LETTERS = re.compile(r"[^\W\d_]+")
_LEAST: Final = 3
"""Letters that stay together at either end of a word."""
_DICTIONARIES: Final = {"de": "de_DE", "en": "en_US", "fr": "fr", "es": "es"}
_OF_SCRIPTS: Final = {"GREEK": "el_GR", "CYRILLIC": "ru_RU"}


# Each size that is tried asks for the same words again.
@lru_cache(maxsize=256)
def joints(word: str, language: str) -> list[int]:
    """After how many of its characters the word may be parted. A word of no known language is taken for German, which
    has most of the words that are too long for a line.

    >>> joints("Krankenversicherung", "de")
    [4, 7, 10, 12, 15]
    """
    found = {at for at in range(1, len(word)) if word[at - 1] in "-–/" and word[at].isalnum()}
    for run in _LETTERS.finditer(word):
        found.update(run.start() + at for at in _dictionary(_name(run[0], language)).positions(run[0]))
    return sorted(found)


def _name(word: str, language: str) -> str:
    script = unicodedata.name(word[0], "").partition(" ")[0]
    return _OF_SCRIPTS.get(script) or _DICTIONARIES.get(language, _DICTIONARIES["de"])


@lru_cache(maxsize=8)
def _dictionary(name: str) -> Pyphen:
    """The patterns of a language; a megabyte at most, read when they are first needed."""
    from pyphen import Pyphen

    return Pyphen(lang=name, left=_LEAST, right=_LEAST)
