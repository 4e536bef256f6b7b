"""A picture as large as a page needs it."""

from __future__ import annotations

from typing import Any, Final

from agentsvc_nb.notebook.previews.child.pictures import opened, shrunk, webp

EDGES: Final = (1_200, 600, 256)
PICTURE_BYTES: Final = 300_000
QUALITIES: Final = (85, 60, 30)


def read(place: str) -> dict[str, Any]:
    """`picture` in base64. Raises `Refused`, and what Pillow does."""
    with opened(place) as image:
        return {"picture": webp(shrunk(image, EDGES[0]), EDGES, PICTURE_BYTES, QUALITIES)}
