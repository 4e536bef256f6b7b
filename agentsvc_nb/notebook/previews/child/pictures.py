"""Pictures with Pillow: an allow-list of raster formats, first frame, turned as its camera was held, scaled down."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from PIL import Image, ImageOps

from agentsvc_nb.notebook.previews.child.refused import Refused

EDGES: Final = (800, 512, 256)
PICTURE_BYTES: Final = 70_000
PIXELS_MAX: Final = 100_000_000
_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP")


def read(place: str) -> dict[str, Any]:
    """`width`, `height`, `frames`, and a small `picture` in base64. Raises `Refused`, and what Pillow does."""
    with opened(place) as image:
        found = {"width": image.width, "height": image.height, "frames": getattr(image, "n_frames", 1)}
        return found | {"picture": webp(shrunk(image, EDGES[0]))}


@contextmanager
def opened(place: str) -> Iterator[Image.Image]:
    """The picture, not decoded yet."""
    warnings.simplefilter("ignore", Image.DecompressionBombWarning)
    Image.MAX_IMAGE_PIXELS = None  # ours counts what is decoded, which of a JPEG may be an eighth of each edge
    with Image.open(place, formats=_FORMATS) as image:
        yield image


def shrunk(image: Image.Image, edge: int) -> Image.Image:
    """Of at most `edge` pixels each way. Raises `Refused`."""
    width, height = image.size
    image.draft("RGB", (2 * edge, 2 * edge))
    if image.width * image.height > PIXELS_MAX:
        raise Refused(f"it has {width:,} × {height:,} pixels, too many to be looked at here.")
    coloured = _coloured(image)
    coloured.thumbnail((edge, edge), reducing_gap=2.0)
    return ImageOps.exif_transpose(coloured)


def webp(
    image: Image.Image, edges: Sequence[int] = EDGES, limit: int = PICTURE_BYTES, qualities: Sequence[int] = (80,)
) -> str:
    """The largest of these sizes that stays below the limit in one of these qualities, in base64."""
    small = _coloured(image)
    for edge in edges:
        small.thumbnail((edge, edge))
        for quality in qualities:
            out = io.BytesIO()
            small.save(out, "WEBP", quality=quality)
            if out.tell() <= limit:
                return base64.b64encode(out.getvalue()).decode("ascii")
    return base64.b64encode(out.getvalue()).decode("ascii")


def _coloured(image: Image.Image) -> Image.Image:
    """Palettes and bits can't be scaled smoothly."""
    wanted = "RGBA" if "A" in image.mode or "transparency" in image.info else "RGB"
    return image if image.mode == wanted else image.convert(wanted)
