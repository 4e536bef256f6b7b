"""What a picture says about itself: the words on it, and the picture that `edit_image` made it from.

Both are claims of a file that anybody may have written: text to show, and a path to compare with the chat's own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
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


def inscription(texts: Mapping[str, Any]) -> Inscription:
    """What the texts in a picture say, by their names."""
    design, before = _parsed(texts.get(DESIGN)), _parsed(texts.get(EDITED_FROM))
    words = design.get("words")
    said = [words.get(name) for name in _WORDS] if isinstance(words, dict) else []
    return Inscription(
        label(" · ".join(text for text in said if isinstance(text, str) and text), _WORDS_CHARS),
        _text(before.get("path")),
        _text(before.get("sha256")),
    )


def _parsed(text: object) -> dict[str, Any]:
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= _PATH_CHARS else ""
