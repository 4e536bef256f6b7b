"""Pictures as data URIs: small, checked by content, never fetched by the browser.

A media type is only a claim: Pillow decides by the bytes, of an allow-list of raster formats. SVG is a document with
script in it and is never shown inline.
"""

from __future__ import annotations

import base64
import io
import warnings
from typing import Final

EDGE_PIXELS: Final = 256
PER_OUTPUT: Final = 12
OUTPUT_BYTES: Final = 300_000
SOURCE_BYTES: Final = 20_000_000
_PIXELS_MAX: Final = 40_000_000
_MAGIC: Final = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"RIFF")
_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP")


def thumbnail(data: bytes) -> str | None:
    """A WEBP data URI of at most 256 pixels an edge; None for what is no picture, too large or broken."""
    if not data.startswith(_MAGIC) or len(data) > SOURCE_BYTES:
        return None
    try:
        made = _webp(data)
    except Exception:  # Pillow raises many kinds on hostile bytes, and a missing picture is no failure
        return None
    return "data:image/webp;base64," + base64.b64encode(made).decode("ascii")


def _webp(data: bytes) -> bytes:
    from PIL import Image

    with warnings.catch_warnings():
        # Pillow's own guard (Image.MAX_IMAGE_PIXELS) only warns up to twice its limit.
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            if image.width * image.height > _PIXELS_MAX:
                raise ValueError("too many pixels")
            image.draft("RGB", (EDGE_PIXELS * 2, EDGE_PIXELS * 2))
            small = image.convert("RGBA" if "A" in image.mode or "transparency" in image.info else "RGB")
    small.thumbnail((EDGE_PIXELS, EDGE_PIXELS))
    out = io.BytesIO()
    small.save(out, "WEBP", quality=80)
    return out.getvalue()
