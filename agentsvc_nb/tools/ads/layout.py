"""Which text stands where: a stack of brand, headline, subline and button, each as large as its room allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.tools.ads.fonts import Fitted, Type, family_for, fit, legible, runs_leftwards
from agentsvc_nb.tools.ads.scenes import Align, Scene
from agentsvc_nb.tools.ads.shapes import Box, Frame
from agentsvc_nb.tools.ads.wording import Wording

_HEADLINE: Final = (32, 112)
_SUBLINE: Final = (24, 42)
_BRAND: Final = (18, 34)
_BUTTON: Final = (16, 36)
"""Smallest and largest type, in type units."""
_BRAND_HIGH: Final = 46
_BUTTON_HIGH: Final = 84
_BUTTON_INSET: Final = 44
_GAP: Final = 22
_BUTTON_GAP: Final = 38
_HEADLINE_SHARE: Final = 0.68


@dataclass(frozen=True, slots=True)
class Block:
    """A text in its place. `box` is as wide as its longest line; a `button` is drawn on a pill of that box."""

    fitted: Fitted
    type: Type
    box: Box
    button: bool = False
    leftwards: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    blocks: list[Block]
    centred: bool


@dataclass(slots=True)
class _Piece:
    """A text that is fitted and not placed yet."""

    fitted: Fitted
    type: Type
    width: int
    height: int
    gap: int
    button: bool = False
    leftwards: bool = False


def drawable(words: Wording) -> Wording:
    """The texts as they are drawn. Raises `WorkFailure("missing_glyphs")` for one that no font has whole."""
    return Wording(
        legible("headline", words.headline),
        legible("subline", words.subline),
        legible("call to action", words.action),
        legible("brand", words.brand),
    )


def layout(scene: Scene, frame: Frame, words: Wording) -> Layout:
    """All texts of an ad, within the scene's zone."""
    left, top, right, bottom = zone = scene.zone(frame)
    setter = _Setter(right - left, frame.type_unit)
    brand = setter.text(words.brand, True, _BRAND, setter.high(_BRAND_HIGH))
    button = setter.button(words.action)
    room = bottom - top - sum(piece.height + piece.gap for piece in (brand, button) if piece)
    share = _HEADLINE_SHARE if words.subline else 1.0
    headline = setter.text(words.headline, True, _HEADLINE, round(room * share) - setter.high(_GAP))
    left_over = room - (headline.height + headline.gap if headline else 0)
    subline = setter.text(words.subline, False, _SUBLINE, left_over - setter.high(_GAP))
    pieces = [piece for piece in (brand, headline, subline, button) if piece]
    for piece in pieces:
        piece.leftwards = runs_leftwards(words.headline)
    return Layout(_stacked(pieces, zone, scene.align, scene.centred), scene.centred)


class _Setter:
    """Fits texts to a width."""

    def __init__(self, width: int, unit: float) -> None:
        self._width, self._unit = width, unit

    def high(self, units: int) -> int:
        return round(units * self._unit)

    def text(self, text: str, bold: bool, sizes: tuple[int, int], height: int) -> _Piece | None:
        return self._set(text, bold, sizes, self._width, height, _GAP)

    def button(self, text: str) -> _Piece | None:
        """One line in a pill."""
        inset, height = self.high(_BUTTON_INSET), self.high(_BUTTON_HIGH)
        piece = self._set(text, True, _BUTTON, self._width - 2 * inset, round(height * 0.6), _BUTTON_GAP)
        if piece is not None:
            piece.button, piece.width, piece.height = True, piece.width + 2 * inset, height
        return piece

    def _set(self, text: str, bold: bool, sizes: tuple[int, int], width: int, height: int, gap: int) -> _Piece | None:
        if not text:
            return None
        type_ = Type(family_for(text), bold)
        fitted = fit(text, type_, width, height, (self.high(sizes[0]), self.high(sizes[1])))
        wide = math.ceil(max(type_.width(line, fitted.size) for line in fitted.lines))
        return _Piece(fitted, type_, wide, fitted.height, self.high(gap))


def _stacked(pieces: list[_Piece], zone: Box, align: Align, centred: bool) -> list[Block]:
    """One below the other; the first has no gap above it."""
    left, top, right, bottom = zone
    if not pieces:
        return []
    spare = bottom - top - sum(piece.height + piece.gap for piece in pieces) + pieces[0].gap
    y = top + {"top": 0, "middle": max(0, spare) // 2, "bottom": max(0, spare)}[align]
    blocks = []
    for number, piece in enumerate(pieces):
        y += piece.gap if number else 0
        x = (left + right - piece.width) // 2 if centred else right - piece.width if piece.leftwards else left
        box = (x, y, x + piece.width, y + piece.height)
        blocks.append(Block(piece.fitted, piece.type, box, piece.button, piece.leftwards))
        y += piece.height
    return blocks
