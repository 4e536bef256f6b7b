"""Shapes with smooth edges: drawn twice as large, and reduced."""

from __future__ import annotations

import math
from typing import Final

from PIL import Image, ImageDraw, ImageFilter

from agentsvc_nb.service.work.tools.static_ad.colors import Color
from agentsvc_nb.service.work.tools.static_ad.frames import Box, Frame

_FINE: Final = 2
_SOFT: Final = 4


class Brush:
    """Draws in finished pixels on a finer canvas."""

    def __init__(self, ground: Image.Image) -> None:
        size = (ground.width * _FINE, ground.height * _FINE)
        self.canvas = ground.resize(size, Image.Resampling.NEAREST)  # reduced again, it is what it was
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

    def square(self, x: float, y: float, side: float, fill: Color) -> None:
        self._draw.rectangle([_FINE * x, _FINE * y, _FINE * (x + side), _FINE * (y + side)], fill)

    def finished(self) -> Image.Image:
        return self.canvas.reduce(_FINE)


def flat(frame: Frame, color: Color) -> Image.Image:
    return Image.new("RGB", (frame.width, frame.height), color)


def gradient(frame: Frame, start: Color, end: Color, angle: float) -> Image.Image:
    """From `start` to `end` along `angle` degrees (0: to the right, 90: downwards)."""
    turned = Image.linear_gradient("L").rotate(90 - angle, Image.Resampling.BILINEAR, expand=True)
    spread = abs(math.cos(math.radians(angle))) + abs(math.sin(math.radians(angle)))
    edge = math.ceil((turned.width - 256 / spread) / 2)  # outside are the corners that nothing was turned into
    mask = turned.resize(
        (frame.width, frame.height), Image.Resampling.BILINEAR, (edge, edge, turned.width - edge, turned.height - edge)
    )
    bands = [
        mask.point([round(low + (high - low) * part / 255) for part in range(256)])
        for low, high in zip(start, end, strict=True)
    ]
    return Image.merge("RGB", bands)


def pill(width: int, height: int, radius: float | None = None) -> Image.Image:
    """A mask of a rounded box with smooth edges."""
    mask = Image.new("L", (width * _FINE, height * _FINE), 0)
    round_by = _FINE * (height / 2 if radius is None else radius)
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, width * _FINE - 1, height * _FINE - 1), round_by, 255)
    return mask.reduce(_FINE)


def panel(image: Image.Image, box: Box, radius: float, fill: Color) -> None:
    """A rounded box, on the finished picture."""
    left, top, right, bottom = box
    image.paste(fill, (left, top), pill(right - left, bottom - top, radius))


def shadow(image: Image.Image, box: Box, radius: float, strength: int, blur: float) -> None:
    """A soft shadow, on the finished picture."""
    small = Image.new("L", (image.width // _SOFT, image.height // _SOFT), 0)
    ImageDraw.Draw(small).rounded_rectangle([part / _SOFT for part in box], radius / _SOFT, strength)
    soft = small.filter(ImageFilter.GaussianBlur(blur / _SOFT)).resize(image.size, Image.Resampling.BILINEAR)
    image.paste((0, 0, 0), (0, 0), soft)
