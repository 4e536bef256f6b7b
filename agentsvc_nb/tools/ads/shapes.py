"""Frames of ads, and shapes with smooth edges, which are drawn at twice the size and reduced."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from PIL import Image, ImageDraw, ImageFilter

from agentsvc_nb.tools.ads.colors import Color
from agentsvc_nb.tools.ads.models import SIZES, SizeName

Shape = Literal["tall", "square", "wide"]
Box = tuple[int, int, int, int]
"""Left, top, right, bottom, in pixels."""
_REFERENCE: Final = 1080
_EDGE: Final = 0.05
_ALIKE: Final = 0.01


@dataclass(frozen=True, slots=True)
class Frame:
    """The size of an ad in pixels."""

    width: int
    height: int
    safe: Box
    """The part that no platform covers."""

    @property
    def unit(self) -> float:
        """The unit of shapes in pixels: a 1080th of the shorter side."""
        return min(self.width, self.height) / _REFERENCE

    @property
    def type_unit(self) -> float:
        """The unit of type in pixels: larger than `unit` in a long frame, which has room for it."""
        return math.sqrt(self.width * self.height) / _REFERENCE

    @property
    def shape(self) -> Shape:
        ratio = self.width / self.height
        return "tall" if ratio < 0.7 else "wide" if ratio > 1.3 else "square"

    def box(self, left: float, top: float, right: float, bottom: float) -> Box:
        """A box given in fractions of the frame's width and height."""
        width, height = self.width, self.height
        return round(left * width), round(top * height), round(right * width), round(bottom * height)

    def inset(self, left: float, top: float, right: float, bottom: float) -> Box:
        """A box given in fractions of the safe part."""
        x, y, x_end, y_end = self.safe
        width, height = x_end - x, y_end - y
        return x + round(left * width), y + round(top * height), x + round(right * width), y + round(bottom * height)

    def kept(self, box: Box) -> Box:
        """The part of a box that is safe; the box is moved when that would be less than half of its height."""
        left, top, right, bottom = self.safe
        low, high = max(box[1], top), min(box[3], bottom)
        if 2 * (high - low) < box[3] - box[1]:
            low = max(top, min(box[1], bottom - (box[3] - box[1])))
            high = min(bottom, low + box[3] - box[1])
        return max(box[0], left), low, min(box[2], right), high


def frame(name: SizeName) -> Frame:
    width, height, top, right, bottom, left = SIZES[name]
    return Frame(width, height, (left, top, width - right, height - bottom))


def whole(width: int, height: int) -> Frame:
    """A frame of any size: safe as the size of an ad with the same proportions, else but for a narrow edge."""
    for name, (across, down, *_) in SIZES.items():
        if abs(width / height - across / down) < _ALIKE:
            left, top, right, bottom = frame(name).safe
            scale = width / across
            return Frame(
                width, height, (round(left * scale), round(top * scale), round(right * scale), round(bottom * scale))
            )
    edge = round(_EDGE * min(width, height))
    return Frame(width, height, (edge, edge, width - edge, height - edge))


_FINE: Final = 2
_SOFT: Final = 4


Points = list[tuple[float, float]]
Stroke = Callable[[ImageDraw.ImageDraw, Points], None]


class Brush:
    """Draws shapes, given in pixels of the finished picture. Only the part of the ground that they touch is enlarged,
    to smooth the edges, and reduced again."""

    def __init__(self, ground: Image.Image) -> None:
        self._ground = ground
        self._strokes: list[tuple[Points, Stroke]] = []

    def disc(self, x: float, y: float, radius: float, fill: Color) -> None:
        self._add(_around(x, y, radius), lambda draw, points: draw.ellipse(points, fill))

    def quarter(self, x: float, y: float, radius: float, turn: int, fill: Color) -> None:
        """A quarter of a disc about (x, y), beginning at `turn` quarters clockwise from the right."""
        self._add(_around(x, y, radius), lambda draw, points: draw.pieslice(points, 90 * turn, 90 * turn + 90, fill))

    def shape(self, points: Points, fill: Color) -> None:
        self._add(points, lambda draw, points: draw.polygon(points, fill))

    def square(self, x: float, y: float, side: float, fill: Color) -> None:
        self._add([(x, y), (x + side, y + side)], lambda draw, points: draw.rectangle(points, fill))

    def finished(self) -> Image.Image:
        left, top, right, bottom = box = self._touched()
        size = ((right - left) * _FINE, (bottom - top) * _FINE)
        canvas = self._ground.resize(size, Image.Resampling.NEAREST, box)  # reducing it restores the pixels
        draw = ImageDraw.Draw(canvas)
        for points, stroke in self._strokes:
            stroke(draw, [(_FINE * (x - left), _FINE * (y - top)) for x, y in points])
        self._ground.paste(canvas.reduce(_FINE), (left, top))
        return self._ground

    def _add(self, points: Points, stroke: Stroke) -> None:
        self._strokes.append((points, stroke))

    def _touched(self) -> Box:
        """The part of the ground that holds all strokes."""
        across = [x for points, _ in self._strokes for x, _ in points]
        down = [y for points, _ in self._strokes for _, y in points]
        width, height = self._ground.size
        return (
            max(0, math.floor(min(across)) - 1),
            max(0, math.floor(min(down)) - 1),
            min(width, math.ceil(max(across)) + 1),
            min(height, math.ceil(max(down)) + 1),
        )


def _around(x: float, y: float, radius: float) -> Points:
    return [(x - radius, y - radius), (x + radius, y + radius)]


def flat(frame: Frame, color: Color) -> Image.Image:
    return Image.new("RGB", (frame.width, frame.height), color)


def gradient(frame: Frame, start: Color, end: Color, angle: float) -> Image.Image:
    """From `start` to `end` along `angle` degrees (0: to the right, 90: downwards)."""
    turned = Image.linear_gradient("L").rotate(90 - angle, Image.Resampling.BILINEAR, expand=True)
    spread = abs(math.cos(math.radians(angle))) + abs(math.sin(math.radians(angle)))
    edge = math.ceil((turned.width - 256 / spread) / 2)  # cuts off the empty corners of the rotation
    mask = turned.resize(
        (frame.width, frame.height), Image.Resampling.BILINEAR, (edge, edge, turned.width - edge, turned.height - edge)
    )
    ends = list(zip(start, end, strict=True))
    mask.putpalette([round(low + (high - low) * part / 255) for part in range(256) for low, high in ends])
    return mask.convert("RGB")


def pill(width: int, height: int, radius: float | None = None) -> Image.Image:
    """A mask of a rounded box with smooth edges; without `radius`, its ends are half circles."""
    mask = Image.new("L", (width * _FINE, height * _FINE), 0)
    round_by = _FINE * (height / 2 if radius is None else radius)
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, width * _FINE - 1, height * _FINE - 1), round_by, 255)
    return mask.reduce(_FINE)


def panel(image: Image.Image, box: Box, radius: float, fill: Color) -> None:
    """Draw a rounded box on the finished picture."""
    left, top, right, bottom = box
    image.paste(fill, (left, top), pill(right - left, bottom - top, radius))


def shadow(image: Image.Image, box: Box, radius: float, strength: int, blur: float) -> None:
    """Draw a soft shadow on the finished picture."""
    small = Image.new("L", (image.width // _SOFT, image.height // _SOFT), 0)
    ImageDraw.Draw(small).rounded_rectangle([part / _SOFT for part in box], radius / _SOFT, strength)
    soft = small.filter(ImageFilter.GaussianBlur(blur / _SOFT)).resize(image.size, Image.Resampling.BILINEAR)
    image.paste((0, 0, 0), (0, 0), soft)
