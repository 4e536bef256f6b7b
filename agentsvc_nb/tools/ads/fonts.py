"""Fonts, and the characters that they can draw."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from PIL import ImageFont, features
from PIL.ImageFont import FreeTypeFont

from agentsvc_nb.tools.port import WorkFailure

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
_SHAPED = features.check("raqm")
"""Whether Pillow has Raqm (HarfBuzz and FriBiDi), without which it can't join, reorder or place letters."""
_JOINED: Final = re.compile("[\u0900-\u0dff\u0f00-\u109f\u1700-\u18af\u1900-\u1cff\ua800-\uabff\U00011000-\U00011fff]")
"""Scripts from left to right whose letters change their form with their neighbours."""
_ORDERS: Final = "\u061c\u200c-\u200f\u202a-\u202e\u2066-\u2069"
"""Joiners and direction marks, which only matter beside letters that are shaped."""
_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u180b-\u180f\u200b\u2060-\u2065\u206a-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)
"""Soft hyphens, variation selectors and zero-width spaces: a text without them looks the same."""
_NAMED_MAX: Final = 5
_REMEDIES: Final = {
    **dict.fromkeys(("CJK", "Hiragana", "Katakana", "Hangul", "Bopomofo"), "Noto Sans CJK"),
    **{script: f"Noto Sans {script}" for script in ("Arabic", "Hebrew", "Devanagari", "Thai")},
}


@lru_cache(maxsize=256)
def font(family: str, bold: bool, size: int) -> FreeTypeFont:
    """The family at a size in pixels. Raises `OSError` when the system lacks it."""
    return ImageFont.truetype(_FILES[family][bold], size)


@lru_cache(maxsize=1)
def families() -> tuple[str, ...]:
    """The installed families, the preferred first."""
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
    """Whether the family can draw the character correctly."""
    if char.isspace() or re.match(f"[{_ORDERS}]", char):
        return True
    return (_SHAPED or not _is_shaped(char)) and _has(family, char)


def _has(family: str, char: str) -> bool:
    """Whether the family has a glyph for the character, one that differs from the sign for a missing glyph."""
    probe = _probe(family)
    return _picture(probe, char) != _picture(probe, _NO_CHARACTER)


@lru_cache(maxsize=16)
def _probe(family: str) -> FreeTypeFont:
    """The family's font without shaping, which would put a lone mark on a circle."""
    return ImageFont.truetype(_FILES[family][True], _PROBE, layout_engine=ImageFont.Layout.BASIC)


def _picture(probe: FreeTypeFont, char: str) -> tuple[tuple[int, int], bytes]:
    mask = probe.getmask(char)
    return mask.size, bytes(mask)


def _is_shaped(char: str) -> bool:
    leftwards = unicodedata.bidirectional(char) in ("R", "AL")
    return leftwards or unicodedata.category(char).startswith("M") or _JOINED.match(char) is not None


def family_for(text: str) -> str:
    """The family that draws most of the text; the preferred of equals."""
    chars = set(text)
    return max(families(), key=lambda family: sum(draws(family, char) for char in chars))


def tidy(text: str) -> str:
    """The text with its letters composed, on one line, and without invisible characters.

    >>> tidy("soft\u00adly  u\u0308ber")
    'softly über'
    """
    seen = _UNSEEN.sub("", unicodedata.normalize("NFC", text))
    if not (_SHAPED and any(map(_is_shaped, seen))):
        seen = re.sub(f"[{_ORDERS}]", "", seen)
    return " ".join("".join(char for char in seen if char.isspace() or unicodedata.category(char) != "Cc").split())


def legible(name: str, text: str) -> str:
    """The text as it is drawn; `name` (such as `headline`) is for the error. Raises `WorkFailure("missing_glyphs")`
    when no family draws all of it."""
    kept = tidy(text)
    family = family_for(kept)
    if missing := [char for char in dict.fromkeys(kept) if not draws(family, char)]:
        raise WorkFailure("missing_glyphs", _said(name, missing))
    return kept


def _said(name: str, missing: Sequence[str]) -> str:
    """The error message: which characters can't be drawn, and what to do about it."""
    scripts = list(dict.fromkeys(map(_script, missing)))
    more = f" and {len(missing) - _NAMED_MAX} more" if len(missing) > _NAMED_MAX else ""
    named = f"{', '.join(map(_name, missing[:_NAMED_MAX]))}{more} ({', '.join(scripts[:_NAMED_MAX])})"
    if not _SHAPED and any(map(_is_shaped, missing)):
        told = f"The {name} has letters that must be joined or placed: {named}."
        return f"{told} Install FriBiDi on the service's machine and start the service anew, or leave them out."
    told = f"No font on the service's machine draws all of the {name}: it lacks {named}."
    if wanted := list(dict.fromkeys(_REMEDIES[script] for script in scripts if script in _REMEDIES)):
        return f"{told} Install {' and '.join(wanted)} there and start the service anew, or leave them out."
    return f"{told} Leave them out."


def _name(char: str) -> str:
    """The character itself if it is visible, else its code point."""
    visible = char.isprintable() and not unicodedata.category(char).startswith("M")
    return char if visible else f"U+{ord(char):04X}"


def _script(char: str) -> str:
    """The script of a character, from the first word of its Unicode name; `symbols` for one that belongs to none."""
    if unicodedata.category(char)[0] not in "LM":
        return "symbols"
    first = unicodedata.name(char, "symbols").partition(" ")[0]
    return first if first in ("CJK", "symbols") else first.capitalize()


def runs_leftwards(text: str) -> bool:
    """Whether a text runs from right to left, by its first letter that has a direction."""
    return next(
        (kind in ("R", "AL") for kind in map(unicodedata.bidirectional, text) if kind in ("L", "R", "AL")), False
    )
