"""PDF with PDFium, Chromium's library, here without its JavaScript."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.notebook.previews.child import CannotDecode
from agentsvc_nb.notebook.previews.child.pictures import webp

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

PAGES: Final = 3
EDGES: Final = (600, 400, 200)
PICTURE_BYTES: Final = 45_000
TEXT_CHARS: Final = 1_000


def read_pages(path: str) -> dict[str, Any]:
    """`count`, and of the first `pages` each a `picture` in base64 and its `text`.

    Raises `CannotDecode`, and the errors of PDFium.
    """
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        raise CannotDecode("it wants a password." if "assword" in str(error) else f"it is damaged: {error}") from None
    count = len(document)
    if not count:
        raise CannotDecode("it has no pages.")
    return {"count": count, "pages": [_read_page(document[number]) for number in range(min(count, PAGES))]}


def _read_page(page: PdfPage) -> dict[str, str]:
    scale = EDGES[0] / max(*page.get_size(), 1.0)
    picture = page.render(scale=scale, may_draw_forms=False).to_pil()
    text = page.get_textpage().get_text_bounded()[:TEXT_CHARS]
    return {"picture": webp(picture, EDGES, PICTURE_BYTES), "text": text}
