"""Layout of an ad's texts, each as large as its space allows; and their drawing on a background, each in a colour that
can be read there (a contrast of at least 4.5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from PIL import Image, ImageDraw

from agentsvc_nb.tools.ads.colors import BLACK, CONTRAST_MIN, INK, WHITE, Color, Palette, contrast, readable
from agentsvc_nb.tools.ads.fitting import LEADING, Fitted, Type, fit
from agentsvc_nb.tools.ads.fonts import family_for, font, legible, runs_leftwards
from agentsvc_nb.tools.ads.pictures import LOGO_CLEAR, logo_size, place_logo
from agentsvc_nb.tools.ads.scenes import Align, Scene
from agentsvc_nb.tools.ads.shapes import Box, Frame, panel
from agentsvc_nb.tools.ads.wording import Wording

_HEADLINE: Final = (26, 112)
_SUBLINE: Final = (22, 42)
_BRAND: Final = (18, 34)
_BUTTON: Final = (18, 36)
"""Smallest and largest size of type for each text, in type units (`Frame.type_unit`)."""
_BRAND_HIGH: Final = 46
_BUTTON_HIGH: Final = 84
_BUTTON_LINES: Final = 3
_BUTTON_INSET: Final = 44
_GAP: Final = 22
_BUTTON_GAP: Final = 38
_HEADLINE_SHARES: Final = (0.68, 0.84)
"""Of the room that the headline and the subline share; the larger one is for a headline that would be cut."""


TextName = Literal["brand", "headline", "subline", "call to action"]


@dataclass(frozen=True, slots=True)
class Block:
    """A text in its place. `box` is as wide as the longest line; a `button` is drawn as a pill that fills the box.
    `leftwards`: the ad's text runs from right to left."""

    name: TextName
    fitted: Fitted
    type: Type
    box: Box
    button: bool = False
    leftwards: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    blocks: list[Block]
    centred: bool
    logo: Box | None = None

    @property
    def cut(self) -> list[TextName]:
        """The texts of which not all can be seen: even the smallest type was too large."""
        return [block.name for block in self.blocks if block.fitted.cut]


@dataclass(slots=True)
class _Piece:
    """A text with its size, but without its place. Lengths are in pixels; `gap` is the space above it."""

    name: TextName
    fitted: Fitted
    type: Type
    width: int
    height: int
    gap: int
    button: bool = False
    leftwards: bool = False


def drawable(words: Wording) -> Wording:
    """The texts as they are drawn. Raises `WorkFailure("missing_glyphs")` for a text that no font draws in full."""
    return Wording(
        legible("headline", words.headline),
        legible("subline", words.subline),
        legible("call to action", words.action),
        legible("brand", words.brand),
    )


def lay_out(scene: Scene, frame: Frame, words: Wording, language: str = "", logo: Image.Image | None = None) -> Layout:
    """Place all texts of an ad within the scene's zone. Words of `language` are parted between its syllables. A logo
    stands above them, instead of the brand's name."""
    left, top, right, bottom = zone = scene.zone(frame)
    if logo is None:
        return _texts_in(zone, scene, frame, words, language)
    wide, high = logo_size(logo, zone, frame.type_unit)
    clear = math.ceil(LOGO_CLEAR * high)
    top += high + (clear if scene.stands else 2 * clear)  # a scene with a product leaves room above its words
    below = _texts_in((left, top, right, bottom), scene, frame, replace(words, brand=""), language)
    foot = (below.blocks[0].box[1] if below.blocks else top) - clear
    x = (left + right - wide) // 2 if scene.centred else right - wide if runs_leftwards(words.headline) else left
    return replace(below, logo=(x, foot - high, x + wide, foot))


def _texts_in(zone: Box, scene: Scene, frame: Frame, words: Wording, language: str) -> Layout:
    left, top, right, bottom = zone
    setter = _Setter(right - left, frame.type_unit, language)
    brand = setter.text("brand", words.brand, _BRAND, setter.high(_BRAND_HIGH))
    button = setter.button(words.action)
    room = bottom - top - sum(piece.height + piece.gap for piece in (brand, button) if piece)
    headline, subline = setter.share(words, room)
    pieces = [piece for piece in (brand, headline, subline, button) if piece]
    for piece in pieces:
        piece.leftwards = runs_leftwards(words.headline)
    return Layout(_stacked(pieces, zone, scene.align, scene.centred), scene.centred)


class _Setter:
    """Fits texts to a width."""

    def __init__(self, width: int, unit: float, language: str) -> None:
        self._width, self._unit, self._language = width, unit, language

    def high(self, units: int) -> int:
        return round(units * self._unit)

    def text(self, name: TextName, text: str, sizes: tuple[int, int], height: int) -> _Piece | None:
        return self._set(name, text, sizes, self._width, height, _GAP)

    def share(self, words: Wording, room: int) -> tuple[_Piece | None, _Piece | None]:
        """The headline and the subline in a room for both."""
        for share in _HEADLINE_SHARES if words.subline else (1.0,):
            headline = self.text("headline", words.headline, _HEADLINE, round(room * share) - self.high(_GAP))
            if headline is None or not headline.fitted.cut:
                break
        left_over = room - (headline.height + headline.gap if headline else 0)
        return headline, self.text("subline", words.subline, _SUBLINE, left_over - self.high(_GAP))

    def button(self, text: str) -> _Piece | None:
        """The text of the call to action in a pill, which is higher for a text of several lines; None for an empty
        text."""
        inset, height = self.high(_BUTTON_INSET), self.high(_BUTTON_HIGH)
        width, lines = self._width - 2 * inset, round(_BUTTON_LINES * self.high(_BUTTON[1]) * LEADING)
        piece = self._set("call to action", text, _BUTTON, width, round(height * 0.6), _BUTTON_GAP)
        if piece is not None and (piece.fitted.cut or piece.fitted.parting or len(piece.fitted.lines) > 1):
            piece = self._set("call to action", text, _BUTTON, width, lines, _BUTTON_GAP)
        if piece is not None:
            piece.button, piece.width = True, piece.width + 2 * inset
            piece.height = max(height, piece.height + round(height * 0.4))
        return piece

    def _set(
        self, name: TextName, text: str, sizes: tuple[int, int], width: int, height: int, gap: int
    ) -> _Piece | None:
        if not text:
            return None
        type_ = Type(family_for(text), name != "subline", self._language)
        fitted = fit(text, type_, width, height, (self.high(sizes[0]), self.high(sizes[1])))
        wide = math.ceil(max(type_.width(line, fitted.size) for line in fitted.lines))
        return _Piece(name, fitted, type_, wide, fitted.height, self.high(gap))


def _stacked(pieces: list[_Piece], zone: Box, align: Align, centred: bool) -> list[Block]:
    """The pieces placed below each other; the first has no gap above it."""
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
        blocks.append(Block(piece.name, piece.fitted, piece.type, box, piece.button, piece.leftwards))
        y += piece.height
    return blocks


_SAMPLE: Final = 64
_COMFORTABLE: Final = 7.0
_BUTTON_CONTRAST: Final = 3.0
"""WCAG 2.1 AA: contrast of a control's shape with its surroundings."""
_BASELINE: Final = 0.82


@dataclass
class Picture:
    """A picture being drawn, and the contrast of each text with what lies under it."""

    image: Image.Image
    palette: Palette
    contrasts: list[float] = field(default_factory=list)

    def write(self, block: Block, centred: bool) -> None:
        """Draw a text on the picture, or on a veil over it when no colour could be read there."""
        color = self._ink(block.box)
        left, top, right, _ = block.box
        draw, type_, step = ImageDraw.Draw(self.image), block.type, block.fitted.step
        face = font(type_.family, type_.bold, block.fitted.size)
        x, anchor = ((left + right) / 2, "ms") if centred else (right, "rs") if block.leftwards else (left, "ls")
        for number, line in enumerate(block.fitted.lines):
            draw.text((x, top + step * (number + _BASELINE)), line, color, face, anchor)

    def button(self, block: Block) -> None:
        """Draw the call to action: a pill with a text that can be read on it."""
        left, top, right, bottom = block.box
        ground = self._apart(block.box)
        color = readable(ground, WHITE, INK)
        self.contrasts.append(contrast(color, ground))
        lines, step = block.fitted.lines, block.fitted.step
        panel(self.image, block.box, (bottom - top) / 2 / len(lines), ground)
        draw, face = ImageDraw.Draw(self.image), font(block.type.family, True, block.fitted.size)
        first = (top + bottom - step * (len(lines) - 1)) / 2
        for number, line in enumerate(lines):
            draw.text(((left + right) / 2, first + step * number), line, color, face, "mm")

    def _apart(self, box: Box) -> Color:
        """The first colour, beginning with the palette's accent, that contrasts with what lies under the box."""
        under = self.under(box)
        wishes = (self.palette.accent, self.palette.second, self.palette.deep, self.palette.ground, INK, WHITE)
        least = {wish: min(contrast(wish, color) for color in under) for wish in wishes}
        return next((wish for wish in wishes if least[wish] >= _BUTTON_CONTRAST), max(wishes, key=least.__getitem__))

    def _ink(self, box: Box) -> Color:
        """A colour that can be read on everything under the box; if there is none, draw a veil there first."""
        under = self.under(box)
        wishes = (self.palette.deep, WHITE, INK, BLACK)
        least = {wish: min(contrast(wish, color) for color in under) for wish in (*wishes, self.palette.ink or INK)}
        if self.palette.ink and least[self.palette.ink] >= CONTRAST_MIN:
            self.contrasts.append(least[self.palette.ink])
            return self.palette.ink
        best = max(wishes, key=least.__getitem__)
        chosen = next((wish for wish in wishes if least[wish] >= _COMFORTABLE), best)
        if least[chosen] < CONTRAST_MIN:
            return self._veiled(box)
        self.contrasts.append(least[chosen])
        return chosen

    def _veiled(self, box: Box) -> Color:
        veil = self.palette.deep if contrast(WHITE, self.palette.deep) >= CONTRAST_MIN else INK
        left, top, right, bottom = box
        edge = max(8, (bottom - top) // 10)
        panel(self.image, (left - edge, top - edge // 2, right + edge, bottom + edge // 2), edge, veil)
        self.contrasts.append(contrast(WHITE, veil))
        return WHITE

    def under(self, box: Box) -> list[Color]:
        """The colours under a box, from a sample of its pixels."""
        sample = self.image.resize((_SAMPLE, _SAMPLE), Image.Resampling.NEAREST, box)
        found = sample.getcolors(_SAMPLE**2) or []
        return [(color[0], color[1], color[2]) for _, color in found if isinstance(color, tuple)]


def draw(background: Image.Image, colors: Palette, words: Layout, logo: Image.Image | None = None) -> Picture:
    """Draw the logo and the words on the background, which is changed in place."""
    picture = Picture(background, colors)
    if logo is not None and words.logo is not None:
        place_logo(background, logo, words.logo, picture.under(words.logo))
    for block in words.blocks:
        if block.button:
            picture.button(block)
        else:
            picture.write(block, words.centred)
    return picture
