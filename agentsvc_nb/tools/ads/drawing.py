"""One picture: words on a background, each in a colour that can be read there (contrast of at least 4.5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from PIL import Image, ImageDraw

from agentsvc_nb.tools.ads.colors import BLACK, CONTRAST_MIN, INK, WHITE, Color, Palette, contrast, readable
from agentsvc_nb.tools.ads.fonts import font
from agentsvc_nb.tools.ads.layout import Block, Layout
from agentsvc_nb.tools.ads.shapes import Box, panel

_SAMPLE: Final = 64
_COMFORTABLE: Final = 7.0
_BUTTON_CONTRAST: Final = 3.0
"""WCAG 2.1 AA for the shape of a control against what lies beside it."""
_BASELINE: Final = 0.82


@dataclass
class Picture:
    """A picture in the making, and the contrast of each text on what lies under it."""

    image: Image.Image
    palette: Palette
    contrasts: list[float] = field(default_factory=list)

    def write(self, block: Block, centred: bool) -> None:
        """A text, on what is there; on a veil when no colour can be read on that."""
        color = self._ink(block.box)
        left, top, right, _ = block.box
        draw, type_, step = ImageDraw.Draw(self.image), block.type, block.fitted.step
        face = font(type_.family, type_.bold, block.fitted.size)
        x, anchor = ((left + right) / 2, "ms") if centred else (right, "rs") if block.leftwards else (left, "ls")
        for number, line in enumerate(block.fitted.lines):
            draw.text((x, top + step * (number + _BASELINE)), line, color, face, anchor)

    def button(self, block: Block) -> None:
        """The call to action, as a pill whose text can be read on it."""
        left, top, right, bottom = block.box
        ground = self._apart(block.box)
        color = readable(ground, WHITE, INK)
        self.contrasts.append(contrast(color, ground))
        panel(self.image, block.box, (bottom - top) / 2, ground)
        face = font(block.type.family, True, block.fitted.size)
        middle = ((left + right) / 2, (top + bottom) / 2)
        ImageDraw.Draw(self.image).text(middle, block.fitted.lines[0], color, face, "mm")

    def _apart(self, box: Box) -> Color:
        """A colour of the palette that stands apart from what lies under the box, the accent before others."""
        under = self._under(box)
        wishes = (self.palette.accent, self.palette.second, self.palette.deep, self.palette.ground, INK, WHITE)
        least = {wish: min(contrast(wish, color) for color in under) for wish in wishes}
        return next((wish for wish in wishes if least[wish] >= _BUTTON_CONTRAST), max(wishes, key=least.__getitem__))

    def _ink(self, box: Box) -> Color:
        """A colour that can be read on all that lies under the box; a veil is laid there first when none can."""
        under = self._under(box)
        wishes = (self.palette.deep, WHITE, INK, BLACK)
        least = {wish: min(contrast(wish, color) for color in under) for wish in wishes}
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

    def _under(self, box: Box) -> list[Color]:
        """The colours under a box."""
        sample = self.image.resize((_SAMPLE, _SAMPLE), Image.Resampling.NEAREST, box)
        found = sample.getcolors(_SAMPLE**2) or []
        return [(color[0], color[1], color[2]) for _, color in found if isinstance(color, tuple)]


def draw(background: Image.Image, colors: Palette, words: Layout) -> Picture:
    """The words on the background, which becomes the picture."""
    picture = Picture(background, colors)
    for block in words.blocks:
        if block.button:
            picture.button(block)
        else:
            picture.write(block, words.centred)
    return picture
