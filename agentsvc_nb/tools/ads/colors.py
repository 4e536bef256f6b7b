"""Choose the colours of ads, and compute their contrast by WCAG 2 (an accessibility standard)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from PIL import ImageColor

Color = tuple[int, int, int]

CONTRAST_MIN: Final = 4.5
"""The minimum contrast that WCAG 2 (level AA) requires for text of any size."""
SHAPE_CONTRAST_MIN: Final = 3.0
"""The minimum contrast that WCAG 2.1 (level AA) requires for the shape of a control, such as a button."""
WHITE: Final[Color] = (255, 255, 255)
INK: Final[Color] = (17, 19, 28)
BLACK: Final[Color] = (0, 0, 0)


def luminance(of: Color) -> float:
    """Return the relative luminance of a colour, from 0 (black) to 1 (white)."""
    red, green, blue = (part / 255 / 12.92 if part <= 10 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in of)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Color, other: Color) -> float:
    """Return the contrast ratio of two colours, from 1 to 21.

    >>> round(contrast((0, 0, 0), (255, 255, 255)))
    21
    """
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def choose_readable(on: Color, *wishes: Color) -> Color:
    """Return the first of `wishes` that has enough contrast to the background `on`.

    If none has, return white or black, whichever has more contrast.
    """
    chosen = next((wish for wish in wishes if contrast(wish, on) >= CONTRAST_MIN), None)
    return chosen or max((WHITE, BLACK), key=lambda one: contrast(one, on))


def mix(one: Color, other: Color, part: float) -> Color:
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(one, other, strict=True))
    return red, green, blue


@dataclass(frozen=True, slots=True)
class Palette:
    """Holds the colours of an ad: the background (`ground`), two accents, and the colour of texts (`ink`)."""

    ground: Color
    accent: Color
    second: Color
    ink: Color

    @classmethod
    def from_codes(cls, codes: Sequence[str]) -> Palette:
        """Return the palette of one to four colour codes: background, accent, second accent, texts. Missing colours are
        derived. A text colour that is not readable on the background is replaced.

        >>> Palette.from_codes(["#000"]).codes()
        ['#000000', '#bfbfbf', '#606060', '#ffffff']
        """
        ground, *others = (ImageColor.getrgb(code)[:3] for code in codes)
        light = mix(ground, WHITE, 0.75) if contrast(ground, WHITE) > contrast(ground, BLACK) else None
        accent = others[0] if others else light or mix(ground, BLACK, 0.7)
        second = others[1] if len(others) > 1 else mix(ground, accent, 0.5)
        return cls(ground, accent, second, choose_readable(ground, *others[2:], WHITE, INK))

    def codes(self) -> list[str]:
        return ["#{:02x}{:02x}{:02x}".format(*one) for one in (self.ground, self.accent, self.second, self.ink)]

    def button(self) -> Color:
        """Return the colour for a button.

        Choose the first of these that contrasts with the background: first accent, second accent, colour of texts. If
        none does, choose the colour of texts.
        """
        wishes = (self.accent, self.second, self.ink)
        return next((one for one in wishes if contrast(one, self.ground) >= SHAPE_CONTRAST_MIN), self.ink)


PALETTES: Final = tuple(
    Palette.from_codes(codes)
    for codes in (
        ("#10264d", "#ffb238", "#7cc6fe"),
        ("#fff4e0", "#d8431a", "#1d3557"),
        ("#12372a", "#f4a259", "#b5e48c"),
        ("#3b1a78", "#ff8fb1", "#8ef6e4"),
        ("#e6f4ef", "#0f766e", "#ffb454"),
        ("#a3172f", "#ffd166", "#ffe9d6"),
    )
)
"""The palettes for ads whose request gives no colours."""
