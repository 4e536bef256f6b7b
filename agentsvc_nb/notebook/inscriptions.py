"""What a picture says about itself: the words on it, and the picture that `edit_image` made it from.

Both are claims of a file that anybody may have written: text to show, and a path to compare with the chat's own.
"""

from __future__ import annotations

import io
import json
import warnings
from dataclasses import dataclass
from typing import Any, Final

from agentsvc_nb.safe.text import label
from agentsvc_nb.wire.toolset.images import DESIGN, EDITED_FROM

_WORDS: Final = ("headline", "subline", "action", "brand")
_WORDS_CHARS: Final = 300
_PATH_CHARS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Inscription:
    """`words` stand on the picture; `before` is the path, `before_id` the SHA-256 of the picture before."""

    words: str = ""
    before: str = ""
    before_id: str = ""


def inscription(data: bytes) -> Inscription:
    """What the bytes of a picture say; nothing when they say nothing, or no PNG is in them."""
    found = _texts(data)
    design, before = _parsed(found.get(DESIGN)), _parsed(found.get(EDITED_FROM))
    words = design.get("words")
    said = [words.get(name) for name in _WORDS] if isinstance(words, dict) else []
    return Inscription(
        label(" · ".join(text for text in said if isinstance(text, str) and text), _WORDS_CHARS),
        _text(before.get("path")),
        _text(before.get("sha256")),
    )


def _texts(data: bytes) -> dict[str, Any]:
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
                return {
                    str(name): value for name, value in image.info.items()
                }  # what stands before the pixels, which are not read
    except Exception:  # Pillow raises many kinds on hostile bytes; such a picture says nothing
        return {}


def _parsed(text: object) -> dict[str, Any]:
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= _PATH_CHARS else ""
