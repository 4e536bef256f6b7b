"""A picture as small as a gallery shows many, and the texts that stand in it."""

from __future__ import annotations

from typing import Any, Final

from agentsvc_nb.notebook.previews.child.pictures import opened, shrunk, webp

EDGE: Final = 256
TEXT_CHARS: Final = 100_000


def read(place: str) -> dict[str, Any]:
    """`picture` in base64, and its `texts` by name. Raises `Refused`, and what Pillow does."""
    with opened(place) as image:
        # Only of a PNG are they `str`: the texts before its pixels; those behind them are not read yet.
        texts = {name: text for name, text in image.info.items() if isinstance(name, str) and isinstance(text, str)}
        picture = webp(shrunk(image, EDGE), (EDGE,))
    return {"picture": picture, "texts": texts if sum(map(len, texts.values())) <= TEXT_CHARS else {}}
