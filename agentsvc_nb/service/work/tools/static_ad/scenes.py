"""Backgrounds: gradients and shapes that leave room for words. Each scene says where its words go.

All lengths are in pixels of the finished square; shapes are painted twice as large and reduced, for smooth edges.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from PIL import Image, ImageDraw, ImageFilter

from agentsvc_nb.service.work.tools.static_ad.colors import WHITE, Color, Palette, firm, luminance, mix, shade, tint

SIDE: Final = 1080
_FINE: Final = 2
Box = tuple[int, int, int, int]
"""Left, top, right, bottom."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A background, and the boxes of its words. `foot` holds the call to action; the brand stands in `brand`."""

    name: str
    paint: Callable[[Palette, random.Random], Image.Image]
    headline: Box
    subline: Box
    foot: Box
    brand: Box
    centred: bool = False


class Brush:
    """Draws in finished pixels on a finer canvas."""

    def __init__(self, ground: Image.Image) -> None:
        self.canvas = ground.resize((SIDE * _FINE, SIDE * _FINE), Image.Resampling.BICUBIC)
        self._draw = ImageDraw.Draw(self.canvas)

    def disc(self, x: float, y: float, radius: float, fill: Color) -> None:
        self._draw.ellipse([_FINE * part for part in (x - radius, y - radius, x + radius, y + radius)], fill)

    def ring(self, x: float, y: float, radius: float, width: float, fill: Color) -> None:
        box = [_FINE * part for part in (x - radius, y - radius, x + radius, y + radius)]
        self._draw.ellipse(box, None, fill, round(_FINE * width))

    def quarter(self, x: float, y: float, radius: float, turn: int, fill: Color) -> None:
        """A quarter of a disc about (x, y), beginning at `turn` quarters clockwise from the right."""
        box = [_FINE * part for part in (x - radius, y - radius, x + radius, y + radius)]
        self._draw.pieslice(box, 90 * turn, 90 * turn + 90, fill)

    def shape(self, points: list[tuple[float, float]], fill: Color) -> None:
        self._draw.polygon([(_FINE * x, _FINE * y) for x, y in points], fill)

    def panel(self, box: Box, radius: float, fill: Color) -> None:
        self._draw.rounded_rectangle([_FINE * part for part in box], _FINE * radius, fill)

    def shadow(self, box: Box, radius: float, strength: int, blur: float) -> None:
        """A soft shadow below a panel."""
        small = Image.new("L", (SIDE // 4, SIDE // 4), 0)
        ImageDraw.Draw(small).rounded_rectangle([part / 4 for part in box], radius / 4, strength)
        soft = small.filter(ImageFilter.GaussianBlur(blur / 4)).resize(self.canvas.size, Image.Resampling.BICUBIC)
        self.canvas.paste((0, 0, 0), (0, 0), soft)

    def finished(self) -> Image.Image:
        return self.canvas.reduce(_FINE)


def gradient(start: Color, end: Color, angle: float) -> Image.Image:
    """From `start` to `end` along `angle` degrees (0: to the right, 90: downwards)."""
    small = 256
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    spread = (abs(cos) + abs(sin)) or 1
    ramp = Image.new("L", (small, small))
    centre = (small - 1) / 2
    ramp.putdata(
        [
            round(255 * min(1, max(0, 0.5 + ((x - centre) * cos + (y - centre) * sin) / (small * spread))))
            for y in range(small)
            for x in range(small)
        ]
    )
    mask = ramp.resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    return Image.composite(Image.new("RGB", mask.size, end), Image.new("RGB", mask.size, start), mask)


def sunrise(colors: Palette, chance: random.Random) -> Image.Image:
    """A large sun rises behind the lower right corner."""
    ground = firm(colors.ground)
    brush = Brush(gradient(ground, colors.deep if luminance(ground) < 0.2 else tint(ground, 0.3), 60))
    x, y = 880 + chance.randint(-30, 30), 850 + chance.randint(-20, 20)
    for radius, part in ((462, 0.10), (395, 0.18)):
        brush.disc(x, y, radius, mix(ground, colors.accent, part))
    brush.disc(x, y, 320, colors.accent)
    brush.disc(x + 95, y + 70, 190, mix(colors.accent, colors.second, 0.75))
    brush.ring(986, 112, 40, 11, mix(colors.accent, colors.second, 0.4))
    return brush.finished()


def split(colors: Palette, chance: random.Random) -> Image.Image:
    """A calm left side, and arcs stacked on the right."""
    brush = Brush(Image.new("RGB", (SIDE, SIDE), tint(colors.ground, 0.93)))
    edge, cell = 660, 210
    tones = (colors.accent, colors.second, shade(colors.ground, 0.28), tint(colors.ground, 0.35))
    for row in range(6):
        for column in range(2):
            x, y, turn = edge + column * cell, row * cell - 60, chance.randrange(4)
            brush.shape([(x, y), (x + cell, y), (x + cell, y + cell), (x, y + cell)], tones[(row + column + 2) % 4])
            brush.quarter(*_corner(x, y, cell, turn), cell, turn, tones[(row + 2 * column) % 4])
    return brush.finished()


def _corner(x: float, y: float, cell: float, turn: int) -> tuple[float, float]:
    """The corner of a cell about which its quarter disc lies inside the cell."""
    return (x + (cell if turn in (1, 2) else 0), y + (cell if turn in (2, 3) else 0))


def card(colors: Palette, chance: random.Random) -> Image.Image:
    """A white card over a gradient with soft discs."""
    brush = Brush(gradient(colors.ground, mix(colors.ground, colors.second, 0.55), 45))
    for _ in range(5):
        x, y = chance.randint(-40, SIDE + 40), chance.choice((chance.randint(-60, 200), chance.randint(880, SIDE + 60)))
        brush.disc(
            x, y, chance.randint(90, 230), chance.choice((colors.accent, colors.deep, tint(colors.ground, 0.25)))
        )
    box = (120, 150, 960, 930)
    brush.shadow((120, 185, 960, 965), 44, 110, 44)
    brush.panel(box, 44, WHITE)
    brush.panel((490, 222, 590, 234), 6, colors.accent)
    return brush.finished()


def slope(colors: Palette, chance: random.Random) -> Image.Image:
    """Slopes rise from the lower edge."""
    brush = Brush(gradient(tint(colors.ground, 0.94), tint(colors.second, 0.80), 90))
    brush.disc(860 + chance.randint(-40, 40), 690, 104, colors.accent)
    heights = [700, 790, 885]
    tones = (tint(colors.ground, 0.45), colors.ground, colors.deep)
    for height, tone in zip(heights, tones, strict=True):
        peak = chance.randint(480, 860)
        lift = chance.randint(70, 150)
        points = [
            (x, height - lift * math.exp(-(((x - peak) / 260) ** 2)) + 26 * math.sin(x / 170 + peak))
            for x in range(0, SIDE + 21, 20)
        ]
        brush.shape([(-10.0, SIDE + 10.0), *points, (SIDE + 10.0, SIDE + 10.0)], tone)
    return brush.finished()


def rings(colors: Palette, chance: random.Random) -> Image.Image:
    """Rings spread from below the words."""
    brush = Brush(gradient(colors.deep, mix(colors.deep, firm(colors.ground), 0.75), 90))
    x, y = 540 + chance.randint(-60, 60), 1120
    for number, radius in enumerate(range(640, 130, -84)):
        part = 0.16 + 0.14 * number
        brush.disc(x, y, radius, mix(mix(colors.deep, colors.ground, 0.6), colors.accent, min(1.0, part)))
    return brush.finished()


def tiles(colors: Palette, chance: random.Random) -> Image.Image:
    """Two rows of tiles above the words."""
    brush = Brush(Image.new("RGB", (SIDE, SIDE), colors.deep))
    cell = SIDE / 5
    tones = (colors.ground, colors.accent, colors.second, tint(colors.ground, 0.6))
    for number in range(10):
        x, y = (number % 5) * cell, (number // 5) * cell
        under, over = chance.sample(tones, 2)
        brush.shape([(x, y), (x + cell, y), (x + cell, y + cell), (x, y + cell)], under)
        turn = chance.randrange(6)
        if turn < 4:
            brush.quarter(*_corner(x, y, cell, turn), cell, turn, over)
        elif turn == 4:
            brush.disc(x + cell / 2, y + cell / 2, cell * 0.34, over)
        else:
            brush.shape([(x, y + cell), (x + cell, y), (x + cell, y + cell)], over)
    return brush.finished()


SCENES: Final = (
    Scene("sunrise", sunrise, (80, 170, 860, 560), (80, 580, 560, 730), (80, 860, 560, 960), (80, 76, 700, 124)),
    Scene("split", split, (72, 170, 600, 610), (72, 634, 590, 800), (72, 868, 600, 968), (72, 76, 590, 124)),
    Scene("card", card, (180, 322, 900, 640), (200, 660, 880, 770), (240, 796, 840, 888), (200, 258, 880, 304), True),
    Scene("slope", slope, (80, 160, 940, 440), (80, 456, 720, 590), (80, 930, 620, 1024), (80, 72, 800, 120)),
    Scene("rings", rings, (110, 150, 970, 390), (170, 398, 910, 478), (240, 880, 840, 980), (200, 64, 880, 112), True),
    Scene("tiles", tiles, (72, 520, 1008, 750), (72, 764, 940, 868), (72, 912, 640, 1008), (72, 466, 900, 508)),
)
