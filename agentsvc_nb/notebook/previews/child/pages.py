"""PDF with PDFium, the library of Chromium, here without its JavaScript."""

from __future__ import annotations

from typing import Any, Final

import pypdfium2

from agentsvc_nb.notebook.previews.child.pictures import webp
from agentsvc_nb.notebook.previews.child.refused import Refused

PAGES: Final = 3
EDGES: Final = (600, 400, 200)
PICTURE_BYTES: Final = 45_000
TEXT_CHARS: Final = 1_000


def read(place: str) -> dict[str, Any]:
    """`count`, and of the first `pages` each a `picture` in base64 and its `text`. Raises `Refused`, and PDFium's."""
    try:
        document = pypdfium2.PdfDocument(place)
    except pypdfium2.PdfiumError as error:
        raise Refused("it wants a password." if "assword" in str(error) else f"it is damaged: {error}") from None
    count = len(document)
    if not count:
        raise Refused("it has no pages.")
    return {"count": count, "pages": [_page(document[number]) for number in range(min(count, PAGES))]}


def _page(page: pypdfium2.PdfPage) -> dict[str, str]:
    scale = EDGES[0] / max(*page.get_size(), 1.0)
    picture = page.render(scale=scale, may_draw_forms=False).to_pil()
    text = page.get_textpage().get_text_bounded()[:TEXT_CHARS]
    return {"picture": webp(picture, EDGES, PICTURE_BYTES), "text": text}
