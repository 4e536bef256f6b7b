"""Palettes from the colours that a brief names, else chosen by its hash; and contrast as WCAG 2 defines it."""

from __future__ import annotations

import colorsys
import re
from dataclasses import dataclass
from typing import Final

from PIL import ImageColor

Color = tuple[int, int, int]

CONTRAST_MIN: Final = 4.5
"""WCAG 2 AA for text of any size."""
WHITE: Final[Color] = (255, 255, 255)
INK: Final[Color] = (17, 19, 28)
BLACK: Final[Color] = (0, 0, 0)

_HEX = re.compile(r"#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3})\b")
_NAMES: Final = {
    "red": "#d7263d", "rot": "#d7263d", "orange": "#f26b21", "yellow": "#ffc93c", "gelb": "#ffc93c",
    "gold": "#d9a441", "green": "#1f8a5b", "grün": "#1f8a5b", "teal": "#0f8b8d", "turquoise": "#1fb5ad",
    "blue": "#2456e6", "blau": "#2456e6", "navy": "#14213d", "purple": "#6a3df0", "violet": "#6a3df0",
    "lila": "#6a3df0", "pink": "#f0468a", "rosa": "#f0468a", "brown": "#7a4a2b", "beige": "#e8d9c0",
    "black": "#14151a", "schwarz": "#14151a", "white": "#fafafa", "grey": "#6b7280", "gray": "#6b7280",
    "mint": "#8fe3c0", "coral": "#ff6f59", "lavender": "#b8a4f5", "olive": "#74792f",
}  # fmt: skip
_NAMED = re.compile(rf"(?i)\b(?:{'|'.join(_NAMES)})\b")


def is_colors(text: str) -> bool:
    """Whether a text does nothing but name colours: such a text is for the palette, not to stand on the ad.

    >>> is_colors("navy, orange"), is_colors("Orange is the new black")
    (True, False)
    """
    rest = _NAMED.sub("", _HEX.sub("", text))
    return rest != text and not re.sub(r"(?i)\b(?:and|und|et|y|with|mit|colou?rs?|farben?)\b|[\W_]", "", rest)


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of an ad: a ground, a deeper tone of it, an accent, and a second accent."""

    ground: Color
    deep: Color
    accent: Color
    second: Color

    def names(self) -> list[str]:
        return ["#{:02x}{:02x}{:02x}".format(*color) for color in (self.ground, self.deep, self.accent, self.second)]

    def turned(self, times: int) -> Palette:
        """The same colours in other roles, so that variants of one brief look related but different."""
        if times % 3 == 1:
            return Palette(tint(self.ground, 0.88), tint(self.ground, 0.72), self.ground, self.accent)
        if times % 3 == 2:
            return Palette(self.deep, shade(self.deep, 0.35), self.second, self.accent)
        return self


def _hex(*codes: str) -> list[Color]:
    return [color(code) for code in codes]


def color(code: str) -> Color:
    return ImageColor.getrgb(code)[:3]


PALETTES: Final = tuple(
    Palette(*_hex(*codes))
    for codes in (
        ("#1b4dff", "#0b1f7a", "#ffd166", "#7ee8fa"),
        ("#0f766e", "#083d3a", "#ffb454", "#d5f5e3"),
        ("#ff5a3c", "#a3200d", "#ffe3b3", "#2b2d6e"),
        ("#5b2be0", "#2a0f7a", "#ff8fb1", "#8ef6e4"),
        ("#12372a", "#081c15", "#f4a259", "#b5e48c"),
        ("#d81e5b", "#7a0c33", "#ffd9a0", "#3f1d74"),
        ("#14213d", "#080d1c", "#fca311", "#7cc6fe"),
        ("#e07a1f", "#8a3b0a", "#fff1d0", "#21405e"),
    )
)


def palette(brief: str, seed: int) -> Palette:
    """A palette of the brief's colours, hex codes before names; missing ones are derived from them. A brief without
    colours gets a ready palette by `seed`."""
    codes = [found[0] for found in _HEX.finditer(brief)]
    named = [_NAMES[found[0].casefold()] for found in _NAMED.finditer(brief)]
    # White, black and greys come last: they are no good as a ground when there is another colour.
    colors = sorted(dict.fromkeys(color(code) for code in [*codes, *named]), key=lambda one: _vividness(one) < 0.2)[:3]
    if not colors:
        return PALETTES[seed % len(PALETTES)]
    ground = colors[0]
    accent = colors[1] if len(colors) > 1 else opposite(ground)
    return Palette(ground, shade(ground, 0.5), accent, colors[2] if len(colors) > 2 else tint(accent, 0.55))


def luminance(of: Color) -> float:
    """Relative luminance, 0 (black) to 1 (white)."""
    linear = [part / 255 / 12.92 if part / 255 <= 0.04045 else ((part / 255 + 0.055) / 1.055) ** 2.4 for part in of]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: Color, other: Color) -> float:
    """The contrast ratio of two colours, 1 to 21.

    >>> round(contrast((0, 0, 0), (255, 255, 255)))
    21
    """
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def readable(on: Color, *wishes: Color) -> Color:
    """The first wish with enough contrast on the colour, else white or black, of which one always has."""
    chosen = next((wish for wish in wishes if contrast(wish, on) >= CONTRAST_MIN), None)
    return chosen or max((WHITE, BLACK), key=lambda one: contrast(one, on))


def firm(of: Color) -> Color:
    """The colour, darkened until white or ink can be read well on it: on a medium tone neither can."""
    while contrast(WHITE, of) < 5.5 and contrast(INK, of) < 8:
        of = shade(of, 0.08)
    return of


def mix(one: Color, other: Color, part: float) -> Color:
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(one, other, strict=True))
    return red, green, blue


def tint(of: Color, part: float) -> Color:
    return mix(of, WHITE, part)


def shade(of: Color, part: float) -> Color:
    return mix(of, (0, 0, 0), part)


def _vividness(of: Color) -> float:
    return (max(of) - min(of)) / 255


def opposite(of: Color) -> Color:
    """A bright colour from the other side of the colour wheel."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*(part / 255 for part in of))
    light = 0.72 if lightness < 0.6 else 0.3
    red, green, blue = (
        round(part * 255) for part in colorsys.hls_to_rgb((hue + 0.45) % 1, light, max(saturation, 0.75))
    )
    return red, green, blue
