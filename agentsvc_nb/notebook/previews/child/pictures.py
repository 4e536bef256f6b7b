"""Decode pictures with Pillow and pages of PDFs with PDFium, scaled down."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.notebook.previews.child import CannotDecode

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdfium2 import PdfPage


# The edges are tried in this order, in pixels, until the picture has at most the number of bytes.
EDGES: Final = (800, 512, 256)
PICTURE_BYTES: Final = 70_000
LARGE_EDGES: Final = (1_200, 600, 256)
LARGE_BYTES: Final = 300_000
LARGE_QUALITIES: Final = (85, 60, 30)
SMALL_EDGE: Final = 256
TEXT_CHARS: Final = 100_000
"""The most characters of text chunks; longer ones are all ignored."""
PIXELS_MAX: Final = 100_000_000
"""The most pixels that are decoded."""
_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP")


def read_picture(path: str) -> dict[str, Any]:
    """Return `width`, `height`, `frames`, and a preview as a `picture` in base64.

    Raises `CannotDecode` when it has too many pixels, and Pillow's errors.
    """
    with _opened(path) as image:
        found = {"width": image.width, "height": image.height, "frames": getattr(image, "n_frames", 1)}
        return found | {"picture": webp(_shrunk(image, EDGES[0]))}


def read_small(path: str) -> dict[str, Any]:
    """Return a thumbnail as a `picture` in base64, and text chunks by keyword as `texts`. Raises as `read_picture`."""
    with _opened(path) as image:
        # Values that are `str` are text chunks of a PNG. Those after its pixels have not been read at this point.
        texts = {name: text for name, text in image.info.items() if isinstance(name, str) and isinstance(text, str)}
        picture = webp(_shrunk(image, SMALL_EDGE), (SMALL_EDGE,))
    return {"picture": picture, "texts": texts if sum(map(len, texts.values())) <= TEXT_CHARS else {}}


def read_large(path: str) -> dict[str, Any]:
    """Return a large view as a `picture` in base64. Raises as `read_picture`."""
    with _opened(path) as image:
        return {"picture": webp(_shrunk(image, LARGE_EDGES[0]), LARGE_EDGES, LARGE_BYTES, LARGE_QUALITIES)}


@contextmanager
def _opened(path: str) -> Iterator[Image]:
    """Open a picture without decoding its pixels."""
    from PIL import Image

    warnings.simplefilter("ignore", Image.DecompressionBombWarning)
    # `_shrunk` limits the pixels that are decoded instead: of a JPEG, these may be an eighth of each edge.
    Image.MAX_IMAGE_PIXELS = None
    with Image.open(path, formats=_FORMATS) as image:
        yield image


def _shrunk(image: Image, edge: int) -> Image:
    """Return a copy of at most `edge` pixels an edge. Raises `CannotDecode` when it has too many pixels."""
    from PIL import ImageOps

    width, height = image.size
    image.draft("RGB", (2 * edge, 2 * edge))
    if image.width * image.height > PIXELS_MAX:
        raise CannotDecode(f"it has {width:,} × {height:,} pixels, too many to be looked at here.")
    coloured = _coloured(image)
    coloured.thumbnail((edge, edge), reducing_gap=2.0)
    return ImageOps.exif_transpose(coloured)


def webp(
    image: Image, edges: Sequence[int] = EDGES, limit: int = PICTURE_BYTES, qualities: Sequence[int] = (80,)
) -> str:
    """Encode a picture as WebP in base64: the largest size and best quality of at most `limit` bytes.

    If none is small enough, the smallest size in the lowest quality.
    """
    small = _coloured(image)
    for edge in edges:
        small.thumbnail((edge, edge))
        for quality in qualities:
            out = io.BytesIO()
            small.save(out, "WEBP", quality=quality)
            if out.tell() <= limit:
                return base64.b64encode(out.getvalue()).decode("ascii")
    return base64.b64encode(out.getvalue()).decode("ascii")


def _coloured(image: Image) -> Image:
    """Convert a picture to RGB or RGBA, because palettes and single bits can't be scaled smoothly."""
    wanted = "RGBA" if "A" in image.mode or "transparency" in image.info else "RGB"
    return image if image.mode == wanted else image.convert(wanted)


PAGES: Final = 3
PAGE_EDGES: Final = (600, 400, 200)
PAGE_PICTURE_BYTES: Final = 45_000
PAGE_TEXT_CHARS: Final = 1_000


def read_pages(path: str) -> dict[str, Any]:
    """Return the number of pages as `count`, and the first three as `pages`: a `picture` in base64 and its `text`.

    Raises `CannotDecode` when the file is damaged, empty or needs a password, and the errors of PDFium.
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
    scale = PAGE_EDGES[0] / max(*page.get_size(), 1.0)
    picture = page.render(scale=scale, may_draw_forms=False).to_pil()
    text = page.get_textpage().get_text_bounded()[:PAGE_TEXT_CHARS]
    return {"picture": webp(picture, PAGE_EDGES, PAGE_PICTURE_BYTES), "text": text}
