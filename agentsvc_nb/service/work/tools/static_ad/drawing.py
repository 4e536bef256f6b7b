"""One picture: a scene, and words on it that fit their boxes and can be read (contrast of at least 4.5)."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from PIL import Image, ImageDraw

from agentsvc_nb.service.work.tools.static_ad.colors import CONTRAST_MIN, INK, WHITE, Color, Palette, contrast, readable
from agentsvc_nb.service.work.tools.static_ad.fitting import Type, fit
from agentsvc_nb.service.work.tools.static_ad.fonts import drawable, face_for, font, regular
from agentsvc_nb.service.work.tools.static_ad.scenes import Box, Scene
from agentsvc_nb.service.work.tools.static_ad.wording import Wording

_SAMPLE: Final = 96


@dataclass
class Picture:
    """A picture in the making: what could not be drawn, and the contrast of each text on what lies under it."""

    image: Image.Image
    palette: Palette
    face: str
    centred: bool = False
    missing: list[str] = field(default_factory=list)
    contrasts: list[float] = field(default_factory=list)

    def write(self, text: str, box: Box, sizes: tuple[int, int], *, bold: bool = False, low: bool = False) -> int:
        """Text into a box, at its top or its foot (`low`); the y where it ends, or the box's top for no text."""
        type_ = Type(self.face if bold else regular(self.face), bold)
        shown, missing = drawable(text, type_.face)
        self.missing += [char for char in missing if char not in self.missing]
        if not shown:
            return box[1]
        left, top, right, bottom = box
        fitted = fit(shown, type_, right - left, bottom - top, sizes)
        if low:
            top = bottom - fitted.height
        wide = math.ceil(max(type_.width(line, fitted.size) for line in fitted.lines))
        start = (left + right - wide) // 2 if self.centred else left
        color = self._ink((start, top, start + wide, top + fitted.height))
        self._lines(fitted.lines, type_, fitted.size, fitted.step, (left, top, right), color)
        return top + fitted.height

    def _lines(
        self, lines: Sequence[str], type_: Type, size: int, step: int, at: tuple[int, int, int], color: Color
    ) -> None:
        left, top, right = at
        draw, stroke = ImageDraw.Draw(self.image), type_.stroke(size)
        for number, line in enumerate(lines):
            x = (left + right) / 2 if self.centred else left + stroke
            y = top + step * number + step * 0.82
            anchor = "ms" if self.centred else "ls"
            draw.text((x, y), line, color, font(type_.face, size), anchor, stroke_width=stroke, stroke_fill=color)

    def button(self, text: str, box: Box) -> None:
        """The call to action, as a pill whose text can be read on it."""
        type_ = Type(self.face, True)
        shown, missing = drawable(text, type_.face)
        self.missing += [char for char in missing if char not in self.missing]
        if not shown:
            return
        left, top, right, bottom = box
        height = min(88, bottom - top)
        fitted = fit(shown, type_, right - left - 88, round(height * 0.62), (18, 38))
        width = round(max(type_.width(line, fitted.size) for line in fitted.lines)) + 88
        x = (left + right - width) // 2 if self.centred else left
        ground = self._far_from((x, top, x + width, top + height))
        color = readable(ground, WHITE, INK)
        self.contrasts.append(contrast(color, ground))
        pill = _pill(width, height)
        self.image.paste(ground, (x, top), pill)
        draw, stroke = ImageDraw.Draw(self.image), type_.stroke(fitted.size)
        middle = (x + width / 2, top + height / 2)
        draw.text(
            middle, fitted.lines[0], color, font(type_.face, fitted.size), "mm", stroke_width=stroke, stroke_fill=color
        )

    def _far_from(self, box: Box) -> Color:
        """A colour of the palette that stands out most from what lies under the box."""
        under = self._under(box)
        return max(
            (self.palette.accent, self.palette.deep, self.palette.second, WHITE),
            key=lambda one: min(2.2, min(contrast(one, color) for color in under)),
        )

    def _ink(self, box: Box) -> Color:
        """A colour that can be read on all that lies under the box; a veil is laid there first when none can."""
        under = self._under(box)
        wishes = (self.palette.deep, WHITE, INK)
        best = {wish: min(contrast(wish, color) for color in under) for wish in wishes}
        chosen = next((wish for wish in wishes if best[wish] >= 7), max(wishes, key=lambda wish: best[wish]))
        if best[chosen] < CONTRAST_MIN:
            veil = self.palette.deep if contrast(WHITE, self.palette.deep) >= CONTRAST_MIN else INK
            left, top, right, bottom = box
            mask = _pill(right - left + 56, bottom - top + 40, 28)
            self.image.paste(veil, (left - 28, top - 20), mask)
            chosen, best[WHITE] = WHITE, contrast(WHITE, veil)
        self.contrasts.append(best[chosen])
        return chosen

    def _under(self, box: Box) -> list[Color]:
        """The colours under a box."""
        sample = self.image.crop(box).resize((_SAMPLE, _SAMPLE), Image.Resampling.NEAREST)
        found = sample.getcolors(_SAMPLE**2) or []
        return [(color[0], color[1], color[2]) for _, color in found if isinstance(color, tuple)]


def draw(scene: Scene, background: Image.Image, colors: Palette, words: Wording) -> Picture:
    """The words on the scene's background."""
    face = face_for(" ".join((words.headline, words.subline, words.action, words.brand)))
    picture = Picture(background.copy(), colors, face, scene.centred)
    picture.write(words.brand, scene.brand, (20, 34), bold=True)
    end = picture.write(words.headline, scene.headline, (34, 112), bold=True, low=scene.name in ("rings", "tiles"))
    left, top, right, bottom = scene.subline
    start = end + 20 if words.headline else top
    picture.write(words.subline, (left, start, right, start + bottom - top), (26, 42))
    picture.button(words.action, scene.foot)
    return picture


def paint(scene: Scene, colors: Palette, seed: int) -> Image.Image:
    """The scene's background, the same for the same seed."""
    return scene.paint(colors, random.Random(seed))


def _pill(width: int, height: int, radius: int | None = None) -> Image.Image:
    """A mask of a rounded box with smooth edges."""
    mask = Image.new("L", (width * 2, height * 2), 0)
    ImageDraw.Draw(mask).rounded_rectangle(
        (0, 0, width * 2 - 1, height * 2 - 1), 2 * (height / 2 if radius is None else radius), 255
    )
    return mask.reduce(2)
