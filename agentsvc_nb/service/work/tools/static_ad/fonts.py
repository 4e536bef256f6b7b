"""Families for the ads, and which characters they can draw.

Noto Sans, which has Latin, Greek and Cyrillic, comes with the package; of the fonts that systems carry, those that are
there extend it to other scripts. A text is set in one family: the one that draws most of it.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import Final

from PIL import ImageFont, features
from PIL.ImageFont import FreeTypeFont

_SHIPPED: Final = Path(__file__).parent / "faces"
OWN: Final = "Noto Sans"
_FILES: Final[dict[str, tuple[str, str]]] = {
    OWN: (str(_SHIPPED / "NotoSans-Regular.ttf"), str(_SHIPPED / "NotoSans-Bold.ttf")),
    "Noto Sans CJK": ("NotoSansCJK-Regular.ttc", "NotoSansCJK-Bold.ttc"),
    "Noto Sans Arabic": ("NotoSansArabic-Regular.ttf", "NotoSansArabic-Bold.ttf"),
    "Noto Sans Hebrew": ("NotoSansHebrew-Regular.ttf", "NotoSansHebrew-Bold.ttf"),
    "Noto Sans Devanagari": ("NotoSansDevanagari-Regular.ttf", "NotoSansDevanagari-Bold.ttf"),
    "Noto Sans Thai": ("NotoSansThai-Regular.ttf", "NotoSansThai-Bold.ttf"),
    "DejaVu Sans": ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf"),
    "Arial Unicode": ("Arial Unicode.ttf", "Arial Unicode.ttf"),
    "Microsoft YaHei": ("msyh.ttc", "msyhbd.ttc"),
}
_PROBE: Final = 48
_NO_CHARACTER: Final = "\U0010fffe"
_SHAPED: Final = features.check("raqm")
"""Without it Pillow can't join or turn letters, which scripts from right to left need."""


@lru_cache(maxsize=256)
def font(family: str, bold: bool, size: int) -> FreeTypeFont:
    """The family at a size in pixels. Raises `OSError` when the system lacks it."""
    return ImageFont.truetype(_FILES[family][bold], size)


@lru_cache(maxsize=1)
def families() -> tuple[str, ...]:
    """The families that are there, the preferred first."""
    return tuple(family for family in _FILES if _there(family))


def _there(family: str) -> bool:
    try:
        font(family, False, _PROBE)
        font(family, True, _PROBE)
    except OSError:
        return False
    return True


@lru_cache(maxsize=8192)
def draws(family: str, char: str) -> bool:
    """Whether the family has a glyph for the character: one that differs from its sign for none."""
    if char.isspace() or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return True
    if not _SHAPED and unicodedata.bidirectional(char) in ("R", "AL"):
        return False
    probe = font(family, True, _PROBE)
    return _picture(probe, char) != _picture(probe, _NO_CHARACTER)


def _picture(probe: FreeTypeFont, char: str) -> tuple[tuple[int, int], bytes]:
    mask = probe.getmask(char)
    return mask.size, bytes(mask)


def family_for(text: str) -> str:
    """The family that draws most of the text; the preferred of equals."""
    chars = set(text)
    return max(families(), key=lambda family: sum(draws(family, char) for char in chars))


def drawable(text: str, family: str) -> tuple[str, list[str]]:
    """The text as far as the family can draw it, and the characters that it lacks; punctuation alone is not drawn."""
    missing = [char for char in text if not draws(family, char)]
    kept = "".join(
        char
        for char in text
        if draws(family, char) and unicodedata.category(char) != "Me" and char not in "\ufe0f\u200d"
    )
    whole = not missing or any(char.isalnum() for char in kept)
    return " ".join(kept.split()) if whole else "", list(dict.fromkeys(missing))


def runs_leftwards(text: str) -> bool:
    """Whether a text begins on the right: by its first letter that has a direction."""
    return next(
        (kind in ("R", "AL") for kind in map(unicodedata.bidirectional, text) if kind in ("L", "R", "AL")), False
    )
