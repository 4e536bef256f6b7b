"""Text into a box: the largest size at which it fits, wrapped between words, or within a word that is too long."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Final

from agentsvc_nb.service.work.tools.static_ad.fonts import font

LEADING: Final = 1.16
_SMALL: Final = 0.33
"""Of the sum of the smallest and the largest size: type that is smaller is not for headlines."""
_WIDE: Final = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
_PIECE = re.compile(rf"[{_WIDE}]|[^\s{_WIDE}]+|\s+")


@dataclass(frozen=True, slots=True)
class Type:
    """A family and its weight."""

    family: str
    bold: bool = False

    def width(self, text: str, size: int) -> float:
        return _width(self.family, self.bold, size, text)


@lru_cache(maxsize=4096)
def _width(family: str, bold: bool, size: int, text: str) -> float:
    return font(family, bold, size).getlength(text)


@dataclass(frozen=True, slots=True)
class Fitted:
    """Lines at a size in pixels, and the pixels from one line to the next."""

    lines: Sequence[str]
    size: int
    step: int

    @property
    def height(self) -> int:
        return self.step * len(self.lines)


def fit(text: str, type_: Type, width: int, height: int, sizes: tuple[int, int]) -> Fitted:
    """The text at the largest of `sizes` (smallest, largest) that fits; at the smallest it is cut, marked with `…`.

    A word that would make all of it small is parted with a hyphen instead.
    """
    whole = _largest(text, type_, width, height, sizes)
    if whole.size < (sizes[0] + sizes[1]) * _SMALL:
        parted = _largest(text, type_, width, height, sizes, parting=True)
        whole = max(whole, parted, key=lambda each: each.size)
    return _balanced(text, whole, type_, width)


def _largest(
    text: str, type_: Type, width: int, height: int, sizes: tuple[int, int], *, parting: bool = False
) -> Fitted:
    low, high = sizes
    if not _fits(at := _set(text, type_, width, low), height):
        return _cut(at, type_, width, height)
    while high - low > 1:
        middle = (low + high) // 2
        tried = _set(text, type_, width, middle)
        if _fits(tried, height) and _within(tried, type_, width) and (parting or not _broken(text, tried)):
            at, low = tried, middle
        else:
            high = middle
    return at


def _balanced(text: str, fitted: Fitted, type_: Type, width: int) -> Fitted:
    """The same lines at the least width that needs no more of them: no word is left alone at the end."""
    cut = fitted.lines[-1].endswith("…") and not text.endswith("…")
    if cut or len(fitted.lines) == 1 or _broken(text, fitted):
        return fitted
    for narrow in range(width // 2, width, max(1, width // 40)):
        tried = _set(text, type_, narrow, fitted.size)
        if len(tried.lines) == len(fitted.lines) and not _broken(text, tried):
            return tried
    return fitted


def _fits(fitted: Fitted, height: int) -> bool:
    return fitted.height <= height


def _within(fitted: Fitted, type_: Type, width: int) -> bool:
    """Whether no letter alone is wider than a line."""
    return all(type_.width(line, fitted.size) <= width for line in fitted.lines)


def _broken(text: str, fitted: Fitted) -> bool:
    """Whether a word was cut in two: a smaller size is better than that."""
    words = set(text.split())
    return any(word not in words for line in fitted.lines for word in line.split() if not re.search(f"[{_WIDE}]", word))


def _set(text: str, type_: Type, width: int, size: int) -> Fitted:
    return Fitted(_wrap(text, type_, width, size), size, round(size * LEADING))


def _wrap(text: str, type_: Type, width: int, size: int) -> list[str]:
    lines = [""]
    for piece in _PIECE.findall(text):
        if type_.width((lines[-1] + piece).strip(), size) <= width:
            lines[-1] += piece
        elif not piece.isspace():
            lines += _break(piece, type_, width, size)
    return [line.strip() for line in lines if line.strip()]


def _break(word: str, type_: Type, width: int, size: int) -> list[str]:
    """A word in pieces that each fit a line, with a hyphen where letters were parted. A mark stays with its letter."""
    pieces = []
    while word and type_.width(word, size) > width:
        end = max(1, bisect_right(range(1, len(word)), width, key=lambda at: ceil(type_.width(word[:at] + "-", size))))
        end = next((at for at in range(end, 0, -1) if at == len(word) or not _is_mark(word[at])), end)
        pieces.append(word[:end] + ("-" if word[end - 1 : end + 1].isalpha() else ""))
        word = word[end:]
    return [*pieces, word]


def _is_mark(char: str) -> bool:
    return unicodedata.category(char).startswith("M")


def _cut(fitted: Fitted, type_: Type, width: int, height: int) -> Fitted:
    kept = list(fitted.lines[: max(1, height // fitted.step)])
    last = kept[-1]
    while last and type_.width(last + "…", fitted.size) > width:
        last = last[:-1]
    return Fitted([*kept[:-1], last.rstrip() + "…"], fitted.size, fitted.step)
