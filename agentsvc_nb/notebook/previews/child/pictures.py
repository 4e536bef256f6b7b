"""Pictures with Pillow: an allow-list of raster formats, first frame, turned as its camera was held, scaled down."""

from __future__ import annotations

import base64
import io
import warnings
from typing import Any, Final

from PIL import Image, ImageOps

from agentsvc_nb.notebook.previews.child.refused import Refused

EDGES: Final = (800, 512, 256)
PICTURE_BYTES: Final = 70_000
PIXELS_MAX: Final = 100_000_000
_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP")


def read(place: str) -> dict[str, Any]:
    """`width`, `height`, `frames`, and a small `picture` in base64. Raises `Refused`, and what Pillow does."""
    warnings.simplefilter("ignore", Image.DecompressionBombWarning)
    Image.MAX_IMAGE_PIXELS = None  # ours below counts what is decoded, which of a JPEG may be an eighth of each edge
    with Image.open(place, formats=_FORMATS) as image:
        width, height = image.size
        found = {"width": width, "height": height, "frames": getattr(image, "n_frames", 1)}
        image.draft("RGB", (2 * EDGES[0], 2 * EDGES[0]))
        if image.width * image.height > PIXELS_MAX:
            raise Refused(f"it has {width:,} × {height:,} pixels, too many to be looked at here.")
        coloured = _coloured(image)
        coloured.thumbnail((EDGES[0], EDGES[0]), reducing_gap=2.0)
        return found | {"picture": webp(ImageOps.exif_transpose(coloured))}


def webp(image: Image.Image, edges: tuple[int, ...] = EDGES, limit: int = PICTURE_BYTES) -> str:
    """The largest of these sizes that stays below the limit, in base64."""
    small = _coloured(image)
    for edge in edges:
        small.thumbnail((edge, edge))
        out = io.BytesIO()
        small.save(out, "WEBP", quality=80)
        if out.tell() <= limit:
            break
    return base64.b64encode(out.getvalue()).decode("ascii")


def _coloured(image: Image.Image) -> Image.Image:
    """Palettes and bits can't be scaled smoothly."""
    wanted = "RGBA" if "A" in image.mode or "transparency" in image.info else "RGB"
    return image if image.mode == wanted else image.convert(wanted)
