"""Backgrounds of ads (gradients, shapes or any picture), each with a zone for the words."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from PIL import Image, ImageOps

from agentsvc_nb.tools.ads.colors import WHITE, Color, Palette, firm, luminance, mix, shade, tint
from agentsvc_nb.tools.ads.shapes import Box, Brush, Frame, Shape, flat, gradient, panel, shadow

Parts = tuple[float, float, float, float]
Align = Literal["top", "middle", "bottom"]
Paint = Callable[[Frame, Palette, random.Random], Image.Image]


@dataclass(frozen=True, slots=True)
class Scene:
    """A background, and the zone for the words by the frame's shape, in fractions of its width and height."""

    name: str
    paint: Paint
    zones: dict[Shape, Parts]
    align: Align = "top"
    centred: bool = False
    stands: dict[Shape, Parts] | None = None
    """Where a product stands; then these and the zones are in fractions of the frame's safe part."""

    def zone(self, frame: Frame) -> Box:
        parts = self.zones[frame.shape]
        return frame.inset(*parts) if self.stands else frame.kept(frame.box(*parts))

    def stand(self, frame: Frame) -> Box:
        """The place of a product, in a scene that has one."""
        assert self.stands is not None
        return frame.inset(*self.stands[frame.shape])


def sunrise(frame: Frame, colors: Palette, chance: random.Random) -> Image.Image:
    """A large sun rises behind the lower right corner."""
    ground, unit = colors.ground if colors.given else firm(colors.ground), frame.unit
    end = colors.deep if luminance(ground) < 0.2 else tint(ground, 0.3)
    brush = Brush(gradient(frame, ground, ground if colors.given else end, 60))
    x = frame.width * 0.83 + chance.randint(-30, 30) * unit
    y = frame.height * (0.70 if frame.shape == "wide" else 0.86) + chance.randint(-20, 20) * unit
    for radius, part in ((440, 0.10), (375, 0.18)):
        brush.disc(x, y, radius * unit, mix(ground, colors.accent, part))
    brush.disc(x, y, 300 * unit, colors.accent)
    brush.disc(
        x + 95 * unit, y + 70 * unit, 180 * unit, mix(colors.accent, colors.second, 1.0 if colors.given else 0.75)
    )
    return brush.finished()


def split(frame: Frame, colors: Palette, chance: random.Random) -> Image.Image:
    """A calm side for words, and arcs stacked on the other."""
    brush = Brush(flat(frame, colors.ground if colors.given else tint(colors.ground, 0.93)))
    tones = (colors.accent, colors.second, shade(colors.ground, 0.28), tint(colors.ground, 0.35))
    across, left, top = (frame.width, 0.0, frame.height * 0.66)
    cell = across / 4
    if frame.shape != "tall":
        left, top, cell = frame.width * 0.62, 0.0, frame.width * 0.38 / 2
    for row in range(math.ceil((frame.height - top) / cell)):
        for column in range(math.ceil((frame.width - left) / cell)):
            x, y, turn = left + column * cell, top + row * cell, chance.randrange(4)
            brush.square(x, y, cell, tones[(row + column + 2) % 4])
            brush.quarter(*_corner(x, y, cell, turn), cell, turn, tones[(row + 2 * column) % 4])
    return brush.finished()


def _corner(x: float, y: float, cell: float, turn: int) -> tuple[float, float]:
    """The corner of a cell to use as centre of a quarter disc so that the quarter lies inside the cell."""
    return (x + (cell if turn in (1, 2) else 0), y + (cell if turn in (2, 3) else 0))


def card(frame: Frame, colors: Palette, chance: random.Random) -> Image.Image:
    """A white card over a gradient with discs; a brand's card has the colour of its ground."""
    unit = frame.unit
    start, end, paper = colors.ground, mix(colors.ground, colors.second, 0.55), WHITE
    if colors.given:
        start, end, paper = colors.accent, colors.accent, colors.ground
    fills = (colors.second, colors.deep) if colors.given else (colors.accent, colors.deep, tint(colors.ground, 0.25))
    brush = Brush(gradient(frame, start, end, 45))
    for _ in range(5):
        x, low = chance.random() * frame.width, chance.random() < 0.5
        y = chance.uniform(0.83, 1.03) * frame.height if low else chance.uniform(-0.03, 0.17) * frame.height
        brush.disc(x, y, chance.randint(90, 230) * unit, chance.choice(fills))
    image = brush.finished()
    left, top, right, bottom = box = frame.box(0.11, 0.13, 0.89, 0.87)
    drop = round(30 * unit)
    shadow(image, (left, top + drop, right, bottom + drop), 44 * unit, 110, 44 * unit)
    panel(image, box, 44 * unit, paper)
    return image


def slope(frame: Frame, colors: Palette, chance: random.Random) -> Image.Image:
    """Slopes rise from the lower edge."""
    width, height, unit = frame.width, frame.height, frame.unit
    sky, foot, sun = tint(colors.ground, 0.94), tint(colors.second, 0.80), colors.accent
    tones = (tint(colors.ground, 0.45), colors.ground, colors.deep)
    if colors.given:
        sky, foot, sun = colors.ground, colors.ground, colors.second
        tones = (mix(colors.ground, colors.accent, 0.35), mix(colors.ground, colors.accent, 0.7), colors.accent)
    brush = Brush(gradient(frame, sky, foot, 90))
    brush.disc(width * 0.82 + chance.randint(-40, 40) * unit, height * 0.68, 96 * unit, sun)
    for start, tone in zip((0.78, 0.85, 0.92), tones, strict=True):
        peak, lift = chance.uniform(0.45, 0.8) * width, chance.uniform(0.05, 0.11) * height
        points = [
            (
                x * unit,
                start * height
                - lift * math.exp(-(((x * unit - peak) / (width * 0.24)) ** 2))
                + 20 * unit * math.sin(x / 170 + peak),
            )
            for x in range(0, round(width / unit) + 21, 20)
        ]
        brush.shape([(-10.0, height + 10.0), *points, (width + 10.0, height + 10.0)], tone)
    return brush.finished()


def rings(frame: Frame, colors: Palette, chance: random.Random) -> Image.Image:
    """Rings spread from beside the words."""
    far, end = colors.deep, mix(colors.deep, firm(colors.ground), 0.75)
    brush = Brush(flat(frame, colors.ground) if colors.given else gradient(frame, far, end, 90))
    x, y = frame.width * 0.5 + chance.randint(-60, 60) * frame.unit, frame.height * 1.04
    if frame.shape == "wide":
        x, y = frame.width * 0.98, frame.height * 0.55
    for number, radius in enumerate(range(560, 130, -72)):
        part = (number + 1) / 6 if colors.given else 0.16 + 0.14 * number
        tone = mix(colors.ground if colors.given else mix(colors.deep, colors.ground, 0.6), colors.accent, part)
        brush.disc(x, y, radius * frame.unit, tone)
    if colors.given:
        brush.disc(x, y, 110 * frame.unit, colors.second)
    return brush.finished()


def tiles(frame: Frame, colors: Palette, chance: random.Random) -> Image.Image:
    """Tiles above the words, or beside them."""
    brush = Brush(flat(frame, colors.ground if colors.given else colors.deep))
    wide = frame.shape == "wide"
    cell = frame.height / 3 if wide else frame.width / 5
    columns, rows = (2, 3) if wide else (5, 2)
    left = frame.width - columns * cell if wide else 0.0
    tones = (colors.ground, colors.accent, colors.second, tint(colors.ground, 0.6))
    if colors.given:
        tones = (colors.deep, colors.accent, colors.second, tint(colors.accent, 0.4))
    for number in range(columns * rows):
        x, y = left + (number % columns) * cell, (number // columns) * cell
        under, over = chance.sample(tones, 2)
        brush.square(x, y, cell, under)
        turn = chance.randrange(6)
        if turn < 4:
            brush.quarter(*_corner(x, y, cell, turn), cell, turn, over)
        elif turn == 4:
            brush.disc(x + cell / 2, y + cell / 2, cell * 0.34, over)
        else:
            brush.shape([(x, y + cell), (x + cell, y), (x + cell, y + cell)], over)
    return brush.finished()


_TOP: Final[dict[Shape, Parts]] = {
    "square": (0.074, 0.068, 0.926, 0.60), "tall": (0.09, 0.10, 0.91, 0.62), "wide": (0.055, 0.09, 0.62, 0.92),
}  # fmt: skip
_SIDE: Final[dict[Shape, Parts]] = {
    "square": (0.067, 0.068, 0.57, 0.93), "tall": (0.09, 0.10, 0.91, 0.62), "wide": (0.055, 0.09, 0.58, 0.92),
}  # fmt: skip
_SKY: Final[dict[Shape, Parts]] = {
    "square": (0.074, 0.068, 0.926, 0.57), "tall": (0.09, 0.10, 0.91, 0.58), "wide": (0.055, 0.08, 0.74, 0.66),
}  # fmt: skip
_CARD: Final[dict[Shape, Parts]] = {
    "square": (0.165, 0.185, 0.835, 0.815), "tall": (0.17, 0.17, 0.83, 0.83), "wide": (0.155, 0.185, 0.845, 0.815),
}  # fmt: skip
_ABOVE: Final[dict[Shape, Parts]] = {
    "square": (0.10, 0.06, 0.90, 0.53), "tall": (0.09, 0.10, 0.91, 0.66), "wide": (0.055, 0.09, 0.54, 0.91),
}  # fmt: skip
_BELOW: Final[dict[Shape, Parts]] = {
    "square": (0.067, 0.43, 0.933, 0.935), "tall": (0.09, 0.28, 0.91, 0.90), "wide": (0.055, 0.09, 0.60, 0.91),
}  # fmt: skip

SCENES: Final = (
    Scene("sunrise", sunrise, _TOP),
    Scene("split", split, _SIDE, "middle"),
    Scene("card", card, _CARD, "middle", True),
    Scene("slope", slope, _SKY),
    Scene("rings", rings, _ABOVE, "middle", True),
    Scene("tiles", tiles, _BELOW, "middle"),
)


_STAGE_WORDS: Final[dict[Shape, Parts]] = {
    "square": (0.01, 0.0, 0.99, 0.52), "tall": (0.02, 0.0, 0.98, 0.53), "wide": (0.0, 0.03, 0.52, 0.97),
}  # fmt: skip
_STAGE: Final[dict[Shape, Parts]] = {
    "square": (0.12, 0.56, 0.88, 1.0), "tall": (0.06, 0.57, 0.94, 1.0), "wide": (0.58, 0.04, 1.0, 0.96),
}  # fmt: skip
_BAND_WORDS: Final[dict[Shape, Parts]] = {
    "square": (0.0, 0.03, 0.46, 0.97), "tall": (0.02, 0.49, 0.98, 1.0), "wide": (0.0, 0.03, 0.50, 0.97),
}  # fmt: skip
_BAND: Final[dict[Shape, Parts]] = {
    "square": (0.56, 0.08, 1.0, 0.92), "tall": (0.06, 0.0, 0.94, 0.41), "wide": (0.60, 0.06, 1.0, 0.94),
}  # fmt: skip


def stage(frame: Frame, colors: Palette, chance: random.Random) -> Image.Image:
    """Two discs behind the product."""
    left, top, right, bottom = frame.inset(*_STAGE[frame.shape])
    x, y, radius = (left + right) / 2, (top + bottom) / 2, 0.52 * min(right - left, bottom - top)
    brush = Brush(flat(frame, colors.ground if colors.given else firm(colors.ground)))
    aside = chance.choice((-1, 1)) * 0.62 * radius
    brush.disc(x + aside, y + 0.5 * radius, 0.55 * radius, colors.second)
    brush.disc(x, y, radius, colors.accent)
    return brush.finished()


def band(frame: Frame, colors: Palette, chance: random.Random) -> Image.Image:
    """A side of another colour for the product, with a disc at its edge."""
    image = flat(frame, colors.ground if colors.given else firm(colors.ground))
    left, top, right, bottom = frame.inset(*_BAND[frame.shape])
    edge = round(36 * frame.unit)
    tall = frame.shape == "tall"
    side = (0, 0, frame.width, bottom + edge) if tall else (left - edge, 0, frame.width, frame.height)
    image.paste(colors.accent, side)
    brush = Brush(image)
    reach = 0.30 * min(right - left, bottom - top)
    x = chance.choice((left, right)) if tall else right
    brush.disc(x, top if tall else chance.choice((top, bottom)), reach, colors.second)
    return brush.finished()


PRODUCT_SCENES: Final = (
    Scene("stage", stage, _STAGE_WORDS, "middle", stands=_STAGE),
    Scene("band", band, _BAND_WORDS, "middle", stands=_BAND),
)


def named(name: str) -> Scene:
    """The scene of this name. Raises `KeyError` when there is none."""
    return {scene.name: scene for scene in (*SCENES, *PRODUCT_SCENES)}[name]


SHADE: Final[Color] = (8, 10, 16)
_ZONES: Final[dict[Shape, Parts]] = {
    "square": (0.067, 0.44, 0.933, 0.94), "tall": (0.09, 0.50, 0.91, 0.90), "wide": (0.055, 0.34, 0.70, 0.92),
}  # fmt: skip
_SHADED_FROM: Final = 0.25
_SHADED: Final = 216


def photo_scene(picture: Image.Image, with_words: bool, with_product: bool = False) -> Scene:
    """A scene with a picture as background, cropped to the frame; darkened at the foot if words go on it."""

    def paint(frame: Frame, colors: Palette, chance: random.Random) -> Image.Image:
        cut = ImageOps.fit(picture.convert("RGB"), (frame.width, frame.height), Image.Resampling.LANCZOS)
        return _shaded(cut, frame) if with_words else cut

    if with_product:
        return Scene("photo", paint, _BAND_WORDS, "middle", stands=_BAND)
    return Scene("photo", paint, _ZONES, "bottom")


def _shaded(image: Image.Image, frame: Frame) -> Image.Image:
    """The image, darkened towards the foot."""
    ramp = Image.linear_gradient("L").point(
        [round(_SHADED * min(1.0, max(0.0, part / 255 - _SHADED_FROM) * 2.2)) for part in range(256)]
    )
    mask = ramp.resize(image.size, Image.Resampling.BILINEAR)
    return Image.composite(flat(frame, SHADE), image, mask)
