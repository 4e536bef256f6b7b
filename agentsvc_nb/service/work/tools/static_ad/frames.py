"""The sizes that ads come in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

from agentsvc_nb.wire.toolset.images import SIZES, SizeName

Shape = Literal["tall", "square", "wide"]
Box = tuple[int, int, int, int]
"""Left, top, right, bottom, in pixels."""
_REFERENCE: Final = 1080


@dataclass(frozen=True, slots=True)
class Frame:
    """A size in pixels."""

    width: int
    height: int

    @property
    def unit(self) -> float:
        """The shorter side in parts of 1080: what shapes are measured in."""
        return min(self.width, self.height) / _REFERENCE

    @property
    def type_unit(self) -> float:
        """What type is measured in: large in a tall frame, where there is room for it."""
        return math.sqrt(self.width * self.height) / _REFERENCE

    @property
    def shape(self) -> Shape:
        ratio = self.width / self.height
        return "tall" if ratio < 0.7 else "wide" if ratio > 1.3 else "square"

    def box(self, left: float, top: float, right: float, bottom: float) -> Box:
        """A box given in parts of the frame."""
        width, height = self.width, self.height
        return round(left * width), round(top * height), round(right * width), round(bottom * height)


def frame(name: SizeName) -> Frame:
    return Frame(*SIZES[name])
