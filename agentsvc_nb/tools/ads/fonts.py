"""Find fonts that can draw a text, measure texts, and break them into lines."""

from __future__ import annotations

import contextlib
import re
import unicodedata
from functools import lru_cache
from pathlib import Path
from typing import Final

from PIL import ImageFont, features
from PIL.ImageFont import FreeTypeFont

from agentsvc_nb.tools.ads.models import JOINERS
from agentsvc_nb.tools.port import WorkFailure

_SHIPPED: Final = Path(__file__).parent / "faces"
OWN: Final = "Noto Sans"
_FILES: Final[dict[str, tuple[str, str]]] = {
    OWN: (str(_SHIPPED / "NotoSans-Regular.ttf"), str(_SHIPPED / "NotoSans-Bold.ttf")),
    "Noto Sans CJK": ("NotoSansCJK-Regular.ttc", "NotoSansCJK-Bold.ttc"),
    **{
        f"Noto Sans {script}": (f"NotoSans{script}-Regular.ttf", f"NotoSans{script}-Bold.ttf")
        for script in ("Arabic", "Hebrew", "Devanagari", "Thai")
    },
    "DejaVu Sans": ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf"),
    "Arial Unicode": ("Arial Unicode.ttf", "Arial Unicode.ttf"),
    "Microsoft YaHei": ("msyh.ttc", "msyhbd.ttc"),
}
_PROBE: Final = 48
_NO_CHARACTER: Final = "\U0010fffe"
_JOINED: Final = re.compile("[\u0900-\u0dff\u0f00-\u109f\u1700-\u18af\u1900-\u1cff\ua800-\uabff\U00011000-\U00011fff]")
"""Matches letters of left-to-right scripts whose form depends on their neighbours."""
_NAMED_MAX: Final = 5
_WIDE: Final = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
_PIECE: Final = re.compile(
    rf"[「『（【]*(?:[ァ-ヺー・]+|[{_WIDE}])[、。，．：；！？」』）】ーっゃゅょッャュョ]*|-*[^\s\-{_WIDE}「『（【]+-*|\s+|."
)
"""Matches the pieces between which a line may break: at spaces, after hyphens, and between characters of scripts
without spaces, but not before punctuation."""


@lru_cache(maxsize=512)
def font(family: str, bold: bool, size: int) -> FreeTypeFont:
    """Return the font of a family at a size in pixels. Raise `OSError` if the family is not installed."""
    return ImageFont.truetype(_FILES[family][bold], size)


@lru_cache(maxsize=1)
def families() -> tuple[str, ...]:
    """Return the installed font families, the preferred ones first."""
    found = []
    for family in _FILES:
        with contextlib.suppress(OSError):
            if font(family, False, _PROBE) and font(family, True, _PROBE):
                found.append(family)
    return tuple(found)


@lru_cache(maxsize=8192)
def can_draw(family: str, char: str) -> bool:
    """Return True if the font family can draw the character (has a glyph for it)."""
    if char.isspace() or char in JOINERS:
        return True
    is_leftwards = unicodedata.bidirectional(char) in ("R", "AL")
    is_shaped = is_leftwards or unicodedata.category(char).startswith("M") or _JOINED.match(char)
    if is_shaped and not features.check("raqm"):  # without these libraries, letters are not joined and reordered
        return False
    # Turn off shaping, because it would draw a circle below a lone mark.
    probe = ImageFont.truetype(_FILES[family][True], _PROBE, layout_engine=ImageFont.Layout.BASIC)
    glyph, missing = probe.getmask(char), probe.getmask(_NO_CHARACTER)
    return (glyph.size, bytes(glyph)) != (missing.size, bytes(missing))


def family_for(name: str, text: str) -> str:
    """Return the first preferred font family that can draw the whole text.

    Raises `WorkFailure("missing_glyphs")` if there is none. `name` is the text's name for that message, such as
    `headline`.
    """
    missing = {family: [char for char in dict.fromkeys(text) if not can_draw(family, char)] for family in families()}
    best = min(missing, key=lambda family: len(missing[family]))
    if left := missing[best][:_NAMED_MAX]:
        shown = ", ".join(char if char.isprintable() else f"U+{ord(char):04X}" for char in left)
        # The Unicode name of a letter begins with its script.
        names = [unicodedata.name(char, "unknown") if unicodedata.category(char)[0] in "LM" else "" for char in left]
        scripts = ", ".join(dict.fromkeys(name.partition(" ")[0].capitalize() or "symbols" for name in names))
        said = f"The fonts on the service's machine lack {shown} ({scripts}) for the {name}. "
        advice = "Install a Noto Sans font that has them there and restart the service, or leave these characters out."
        raise WorkFailure("missing_glyphs", said + advice)
    return best


def runs_leftwards(text: str) -> bool:
    """Return True if the first letter that has a direction is written from right to left."""
    directions = [kind for kind in map(unicodedata.bidirectional, text) if kind in ("L", "R", "AL")]
    return directions[:1] not in ([], ["L"])


@lru_cache(maxsize=4096)
def width(family: str, bold: bool, size: int, text: str) -> float:
    return font(family, bold, size).getlength(text)


def widest_word(family: str, bold: bool, size: int, text: str) -> float:
    return max((width(family, bold, size, piece) for piece in _PIECE.findall(text)), default=0.0)


def wrap(family: str, bold: bool, size: int, text: str, room: int) -> list[str]:
    """Return the lines of a text, which are about equally long, so that the last line is not a single word."""
    lines = _fill_lines(family, bold, size, text, room)
    least = round(widest_word(family, bold, size, text))
    for narrow in range(max(least, room // 2), room, max(1, room // 40)) if len(lines) > 1 else ():
        if len(balanced := _fill_lines(family, bold, size, text, narrow)) == len(lines):
            return balanced
    return lines


def _fill_lines(family: str, bold: bool, size: int, text: str, room: int) -> list[str]:
    lines = [""]
    for piece in _PIECE.findall(text):
        if not lines[-1] or width(family, bold, size, (lines[-1] + piece).strip()) <= room:
            lines[-1] += piece
        else:
            lines.append(piece)
    return [line.strip() for line in lines if line.strip()]
