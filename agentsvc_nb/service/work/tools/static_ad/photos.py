"""Any picture as a background: cut to the frame, and darkened where the words stand."""

from __future__ import annotations

import random
from typing import Final

from PIL import Image, ImageOps

from agentsvc_nb.service.work.tools.static_ad.brush import flat
from agentsvc_nb.service.work.tools.static_ad.colors import Color, Palette
from agentsvc_nb.service.work.tools.static_ad.frames import Frame, Shape
from agentsvc_nb.service.work.tools.static_ad.scenes import Parts, Scene

SHADE: Final[Color] = (8, 10, 16)
_ZONES: Final[dict[Shape, Parts]] = {
    "square": (0.067, 0.44, 0.933, 0.94), "tall": (0.09, 0.50, 0.91, 0.90), "wide": (0.055, 0.34, 0.70, 0.92),
}  # fmt: skip
_SHADED_FROM: Final = 0.25
_SHADED: Final = 216


def photo_scene(picture: Image.Image, with_words: bool) -> Scene:
    """A scene whose background is a picture."""

    def paint(frame: Frame, colors: Palette, chance: random.Random) -> Image.Image:
        cut = ImageOps.fit(picture.convert("RGB"), (frame.width, frame.height), Image.Resampling.LANCZOS)
        return _shaded(cut, frame) if with_words else cut

    return Scene("photo", paint, _ZONES, "bottom")


def _shaded(image: Image.Image, frame: Frame) -> Image.Image:
    """Darker towards the foot."""
    ramp = Image.linear_gradient("L").point(
        [round(_SHADED * min(1.0, max(0.0, part / 255 - _SHADED_FROM) * 2.2)) for part in range(256)]
    )
    mask = ramp.resize(image.size, Image.Resampling.BILINEAR)
    return Image.composite(flat(frame, SHADE), image, mask)
