"""Text into a box: the largest size at which it fits, wrapped between words, or within a word that is too long."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.service.work.tools.static_ad.fonts import OWN, font

LEADING: Final = 1.16
_WIDE: Final = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
_PIECE = re.compile(rf"[{_WIDE}]|[^\s{_WIDE}]+|\s+")


@dataclass(frozen=True, slots=True)
class Type:
    """A face and how bold it is drawn: Pillow's own face has one weight, so a stroke stands in for bold."""

    face: str
    bold: bool = False

    def stroke(self, size: int) -> float:
        return size / 38 if self.bold and self.face == OWN else 0.0

    def width(self, text: str, size: int) -> float:
        return font(self.face, size).getlength(text) + 2 * self.stroke(size)


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
    """The text at the largest of `sizes` (smallest, largest) that fits; at the smallest it is cut, marked with `…`."""
    return _balanced(text, _largest(text, type_, width, height, sizes), type_, width)


def _largest(text: str, type_: Type, width: int, height: int, sizes: tuple[int, int]) -> Fitted:
    low, high = sizes
    if not _fits(at := _set(text, type_, width, low), height):
        return _cut(at, type_, width, height)
    while high - low > 1:
        middle = (low + high) // 2
        tried = _set(text, type_, width, middle)
        if _fits(tried, height) and not _broken(text, tried):
            at, low = tried, middle
        else:
            high = middle
    return at


def _balanced(text: str, fitted: Fitted, type_: Type, width: int) -> Fitted:
    """The same lines at the least width that needs no more of them: no word is left alone at the end."""
    if fitted.lines[-1].endswith("…") or len(fitted.lines) == 1:
        return fitted
    for narrow in range(width // 2, width, max(1, width // 40)):
        tried = _set(text, type_, narrow, fitted.size)
        if len(tried.lines) == len(fitted.lines) and not _broken(text, tried):
            return tried
    return fitted


def _fits(fitted: Fitted, height: int) -> bool:
    return fitted.height <= height


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
    """A word in pieces that each fit a line."""
    pieces = [""]
    for char in word:
        if pieces[-1] and type_.width(pieces[-1] + char, size) > width:
            pieces.append("")
        pieces[-1] += char
    return pieces


def _cut(fitted: Fitted, type_: Type, width: int, height: int) -> Fitted:
    kept = list(fitted.lines[: max(1, height // fitted.step)])
    last = kept[-1]
    while last and type_.width(last + "…", fitted.size) > width:
        last = last[:-1]
    return Fitted([*kept[:-1], last.rstrip() + "…"], fitted.size, fitted.step)
