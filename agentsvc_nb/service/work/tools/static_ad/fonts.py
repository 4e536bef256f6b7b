"""Faces for the ads, and which characters they can draw.

Pillow brings Aileron for Latin; of the fonts that systems carry, those that are there extend it to other scripts.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

from PIL import ImageFont
from PIL.ImageFont import FreeTypeFont

OWN: Final = "Aileron"
_SYSTEM: Final = (
    "DejaVuSans-Bold.ttf",
    "DejaVuSans.ttf",
    "NotoSansCJK-Bold.ttc",
    "NotoSansArabic-Bold.ttf",
    "Arial Unicode.ttf",
)
_PROBE: Final = 48
_NO_CHARACTER: Final = "\U0010fffe"


@lru_cache(maxsize=256)
def font(face: str, size: int) -> FreeTypeFont:
    """The face at a size in pixels. Raises `OSError` when the system lacks it."""
    if face == OWN:
        own = ImageFont.load_default(size)
        if not isinstance(own, FreeTypeFont):
            raise OSError("This Pillow was built without FreeType: install Pillow from its wheels.")
        return own
    return ImageFont.truetype(face, size)


@lru_cache(maxsize=1)
def faces() -> tuple[str, ...]:
    """The faces that are there, the preferred first."""
    return (OWN, *(face for face in _SYSTEM if _there(face)))


def _there(face: str) -> bool:
    try:
        font(face, _PROBE)
    except OSError:
        return False
    return True


@lru_cache(maxsize=4096)
def draws(face: str, char: str) -> bool:
    """Whether the face has a glyph for the character: one that differs from its sign for none."""
    if char.isspace() or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return True
    probe = font(face, _PROBE)
    return _picture(probe, char) != _picture(probe, _NO_CHARACTER)


def _picture(probe: FreeTypeFont, char: str) -> tuple[tuple[int, int], bytes]:
    mask = probe.getmask(char)
    return mask.size, bytes(mask)


def face_for(text: str) -> str:
    """The face that draws most of the text; the preferred of equals."""
    return max(faces(), key=lambda face: sum(draws(face, char) for char in text))


def drawable(text: str, face: str) -> tuple[str, list[str]]:
    """The text as far as the face can draw it, and the characters that it lacks; punctuation alone is not drawn."""
    missing = [char for char in text if not draws(face, char)]
    kept = "".join(
        char for char in text if draws(face, char) and unicodedata.category(char) != "Me" and char not in "\ufe0f\u200d"
    )
    whole = not missing or any(char.isalnum() for char in kept)
    return " ".join(kept.split()) if whole else "", list(dict.fromkeys(missing))


def regular(face: str) -> str:
    """The same family in its regular weight, when it is there."""
    return "DejaVuSans.ttf" if face == "DejaVuSans-Bold.ttf" and "DejaVuSans.ttf" in faces() else face
