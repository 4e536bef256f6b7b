"""Pictures that a decoder made: checked to be what an output may hold, with caption and alternative text."""

from __future__ import annotations

import re
from typing import Any, Final

from agentsvc_nb.notebook.display.render import MUTED
from agentsvc_nb.notebook.previews.kinds import CannotShow
from agentsvc_nb.wire.text import escape

_BASE64: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}")
PICTURE_CHARS: Final = 100_000
"""Of 75 kB in base64."""
_LOOK: Final = "display:inline-block;vertical-align:top;margin:4px 12px 8px 0;max-width:100%;overflow-wrap:anywhere"


def data_uri(picture: Any, most: int = PICTURE_CHARS) -> str:
    """Of a WebP picture in base64, of at most so many characters. Raises `CannotShow` for what is none."""
    if not isinstance(picture, str) or len(picture) > most or not _BASE64.fullmatch(picture):
        raise CannotShow("its decoder gave no picture.")
    return f"data:image/webp;base64,{picture}"


def figure(picture: Any, alternative: str, caption: str) -> str:
    """A WebP picture in base64, as a figure. Raises `CannotShow` for what is none or too large."""
    return (
        f'<figure style="{_LOOK}"><img src="{data_uri(picture)}" alt="{escape(alternative, 400)}"'
        f' style="max-width:100%"><figcaption style="{MUTED}">{escape(caption, 400)}</figcaption></figure>'
    )
