"""Palettes from the colours that a brief names, in their order or by their roles, else chosen by its hash; and contrast
as WCAG 2 defines it."""

from __future__ import annotations

import colorsys
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from PIL import ImageColor

Color = tuple[int, int, int]

CONTRAST_MIN: Final = 4.5
"""WCAG 2 AA for text of any size."""
WHITE: Final[Color] = (255, 255, 255)
INK: Final[Color] = (17, 19, 28)
BLACK: Final[Color] = (0, 0, 0)
_WELL_READ: Final = 7.0

_NAMES: Final = {
    "#d7263d": "red|rot|rouge|roj[oa]", "#f26b21": "orange|naranja", "#ffc93c": "yellow|gelb|jaune|amarill[oa]",
    "#d9a441": "gold", "#1f8a5b": "green|grün|verte?|verde", "#0f8b8d": "teal|petrol",
    "#1fb5ad": "turquoise|türkis", "#2456e6": "blue|blau|bleue?|azul", "#14213d": "navy|marineblau",
    "#6a3df0": "purple|violett?|lila|morado", "#f0468a": "pink|rosa", "#7a4a2b": "brown|braun|marron",
    "#e8d9c0": "beige", "#14151a": "black|schwarz|noire?|negr[oa]", "#fafafa": "white|weiß|blanche?|blanc[oa]?",
    "#6b7280": "gr[ea]y|grau|gris", "#b8bec8": "silver|silber", "#8fe3c0": "mint", "#ff6f59": "coral",
    "#b8a4f5": "lavender", "#74792f": "olive?", "#7a1230": "burgundy|bordeaux", "#f7f1e3": "cream|creme",
}  # fmt: skip
_TONES: Final = {"dark": r"dark[ -]?|dunkel", "light": r"light[ -]?|hell"}
_COLOR: Final = (
    r"(?<![\w#&])(?:(?P<hex>#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3})\b)|"
    rf"(?:(?P<dark>{_TONES['dark']})|(?P<light>{_TONES['light']}))?(?P<name>{'|'.join(_NAMES.values())})\b)"
)
_COLORS = re.compile(_COLOR, re.I)
_FILLERS = re.compile(
    r"\b(?:and|then|und|dann|et|puis|y|e|luego|with|mit|avec|con|as|als|in|en|for|für|the|colou?rs?|farben?|couleurs?|colores)\b"
    r"|[\W_]",
    re.I,
)
_ROLES: Final = {
    "ground": r"background|ground|base|primary|hintergrund|grundfarbe|hauptfarbe|primärfarbe|fond|principale?|fondo|"
    r"primari[oa]",
    "accent": r"accents?|secondary|buttons?|cta|akzent(?:farbe)?|sekundärfarbe|schaltfläche|secondaire|boutons?|acento|"
    r"secundari[oa]|botón|botones",
    "second": r"second accent|tertiary|highlights?|tertiärfarbe|tertiaire|terciari[oa]",
    "ink": r"text|ink|type|letters|schrift(?:farbe)?|textfarbe|texte|texto",
}
"""What a colour of a brand is for, in the order in which colours without a role are taken."""
_OF_COLOR: Final = r"(?:[ -]?(?:colou?r|farbe|couleur))?"
_AFTER_COLOR: Final = (
    r"\s*(?:[(]|(?:as|for|als|für|en|pour|como|para)\b)?\s*(?:(?:the|an?|our|die|den|das|le|la|el)\s+)?"
)
_AVOIDED = re.compile(
    r"\b(?:no|not|never|avoid|without|kein\w*|nicht|nie|ohne|pas de|sans|sin|nunca|evitar?)\s+"
    r"(?:[\w#]+[^\w.!?;\n]+){0,2}\Z",
    re.I,
)


def is_colors(text: str) -> bool:
    """Whether a text does nothing but name colours: such a text is for the palette, not to stand on the ad.

    >>> is_colors("navy, orange"), is_colors("Orange is the new black")
    (True, False)
    """
    rest = _COLORS.sub("", text)
    return rest != text and not _FILLERS.sub("", rest)


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of an ad: a ground, a deeper tone of it, an accent, and a second accent."""

    ground: Color
    deep: Color
    accent: Color
    second: Color
    ink: Color | None = None
    """The colour of texts, wherever it can be read."""
    given: bool = False
    """Whether these are a brand's colours: they are used as they are, each in its role, in every picture."""

    def names(self) -> list[str]:
        return [code(one) for one in (self.ground, self.deep, self.accent, self.second)]

    def turned(self, times: int) -> Palette:
        """The same colours in other roles, so that variants of one brief look related but different; a brand's colours
        keep theirs."""
        if self.given:
            return self
        if times % 3 == 1:
            return Palette(tint(self.ground, 0.88), tint(self.ground, 0.72), self.ground, self.accent)
        if times % 3 == 2:
            return Palette(self.deep, shade(self.deep, 0.35), self.second, self.accent)
        return self


def code(of: Color) -> str:
    return "#{:02x}{:02x}{:02x}".format(*of)


def _ready(ground: str, deep: str, accent: str, second: str) -> Palette:
    return Palette(color(ground), color(deep), color(accent), color(second))


def color(text: str) -> Color:
    return ImageColor.getrgb(text)[:3]


PALETTES: Final = tuple(
    _ready(*codes)
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
    """A palette of the brief's colours by their roles (`text: white`), else in their order. A brief without colours
    gets a ready palette by `seed`."""
    roles: dict[str, Color] = {}
    others: list[Color] = []
    for found in _COLORS.finditer(brief):
        if _AVOIDED.search(brief, max(0, found.start() - 40), found.start()):
            continue
        role = _role(brief, found)
        if role and role not in roles:
            roles[role] = _meant(found)
        else:
            others.append(_meant(found))
    left = [one for one in dict.fromkeys(others) if one not in roles.values()]
    for role in ("ground", "accent", "second"):
        if role not in roles and left:
            roles[role] = left.pop(0)
    return _of_brand(roles) if roles else PALETTES[seed % len(PALETTES)]


def brand(codes: Sequence[str]) -> Palette:
    """The palette of a brand's colours: ground, accent, second accent, texts."""
    return _of_brand(dict(zip(_ROLES, map(color, codes), strict=False)))


def _of_brand(roles: dict[str, Color]) -> Palette:
    """The brand's colours, and those it lacks made of them."""
    ground = roles.get("ground") or (WHITE if "accent" in roles else opposite(roles.get("ink") or INK))
    accent = roles.get("accent") or opposite(ground)
    second = roles.get("second") or tint(accent, 0.55)
    return Palette(ground, _deep(ground, (accent, second)), accent, second, roles.get("ink"), given=True)


def _deep(ground: Color, others: Sequence[Color]) -> Color:
    """A dark tone for texts on the ground and veils: of a light ground, the brand's own if it has one."""
    if luminance(ground) < 0.3:
        return shade(ground, 0.5)
    dark = [one for one in others if contrast(one, ground) >= _WELL_READ]
    return max(dark, key=lambda one: contrast(one, ground)) if dark else shade(ground, 0.8)


def _role(brief: str, found: re.Match[str]) -> str | None:
    """What the colour is said to be for: `background: navy`, `navy for the background`, `navy background`."""
    before = brief[max(0, found.start() - 40) : found.start()].rpartition("\n")[2]
    after = brief[found.end() : found.end() + 40].partition("\n")[0]
    ends = re.match(r"\s*(?:$|[,;.()|]|and\b|und\b|et\b|y\b)", after)
    for role, words in _BY_LENGTH:
        if ends and re.search(
            rf"\b(?:{words}){_OF_COLOR}(?:[\s:=–-]{{1,3}}|\s+(?:is|in|ist|est|es)\s+)\Z", before, re.I
        ):
            return role
    for role, words in _BY_LENGTH:
        if re.match(rf"{_AFTER_COLOR}(?:{words})\b(?!\s*[:=])", after, re.I):
            return role
    return None


_BY_LENGTH: Final = sorted(_ROLES.items(), key=lambda one: one[0] != "second")
"""`second accent` is looked for before `accent`."""


def _meant(found: re.Match[str]) -> Color:
    if found["hex"]:
        return color(found["hex"])
    name = next(one for one, words in _NAMES.items() if re.fullmatch(words, found["name"], re.I))
    return shade(color(name), 0.45) if found["dark"] else tint(color(name), 0.5) if found["light"] else color(name)


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


def opposite(of: Color) -> Color:
    """A bright colour from the other side of the colour wheel."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*(part / 255 for part in of))
    light = 0.72 if lightness < 0.6 else 0.3
    red, green, blue = (
        round(part * 255) for part in colorsys.hls_to_rgb((hue + 0.45) % 1, light, max(saturation, 0.75))
    )
    return red, green, blue
