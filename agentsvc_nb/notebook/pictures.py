"""Pictures as data URIs: small, checked by content, never fetched by the browser.

A media type is only a claim: Pillow decides by the bytes, of an allow-list of raster formats. SVG is a document with
script in it and is never shown inline.
"""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from PIL import Image

EDGE_PIXELS: Final = 256
LARGE_PIXELS: Final = 1_200
LARGE_BYTES: Final = 300_000
PER_OUTPUT: Final = 12
OUTPUT_BYTES: Final = 300_000
SOURCE_BYTES: Final = 20_000_000
_PIXELS_MAX: Final = 40_000_000
_MAGIC: Final = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"RIFF")
_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP")


def thumbnail(data: bytes) -> str | None:
    """A WEBP data URI of at most 256 pixels an edge; None for what is no picture, too large or broken."""
    made = _webp(data, EDGE_PIXELS, (80,))
    return _uri(made) if made else None


def large(data: bytes) -> str | None:
    """As `thumbnail`, of at most 1,200 pixels an edge, and as good as 300 kB allow."""
    for edge in (LARGE_PIXELS, LARGE_PIXELS // 2):
        if (made := _webp(data, edge, (85, 60, 30))) and len(made) <= LARGE_BYTES:
            return _uri(made)
    return thumbnail(data)


def _uri(webp: bytes) -> str:
    return "data:image/webp;base64," + base64.b64encode(webp).decode("ascii")


def _webp(data: bytes, edge: int, qualities: Sequence[int]) -> bytes | None:
    """In the first quality that stays within a large picture's bytes, or the last; None for what can't be shown."""
    if not data.startswith(_MAGIC) or len(data) > SOURCE_BYTES:
        return None
    try:
        small, made = _shrunk(data, edge), b""
        for quality in qualities:
            made = _encoded(small, quality)
            if len(made) <= LARGE_BYTES:
                break
    except Exception:  # Pillow raises many kinds on hostile bytes, and a missing picture is no failure
        return None
    return made


def _shrunk(data: bytes, edge: int) -> Image.Image:
    from PIL import Image

    with warnings.catch_warnings():
        # Pillow's own guard (Image.MAX_IMAGE_PIXELS) only warns up to twice its limit.
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            if image.width * image.height > _PIXELS_MAX:
                raise ValueError("too many pixels")
            image.draft("RGB", (edge * 2, edge * 2))
            small = image.convert("RGBA" if "A" in image.mode or "transparency" in image.info else "RGB")
    small.thumbnail((edge, edge))
    return small


def _encoded(image: Image.Image, quality: int) -> bytes:
    out = io.BytesIO()
    image.save(out, "WEBP", quality=quality)
    return out.getvalue()
