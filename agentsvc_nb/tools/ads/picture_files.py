"""Picture files: writing PNG with the ad's design in it, and reading untrusted pictures within limits."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import IO, Any, Final

from PIL import Image, ImageChops, ImageOps

from agentsvc_nb.tools.ads.models import DESIGN, EDITED_FROM
from agentsvc_nb.tools.port import WorkFailure

_UP: Final = b"\x02"
_LEVEL: Final = 3


def encode(
    image: Image.Image, design: dict[str, Any] | None = None, edited_from: dict[str, str] | None = None
) -> bytes:
    """The bytes of a PNG file. `image` is RGB; `design` and `edited_from` are stored in text chunks as JSON."""
    # Each row is stored as its difference to the row above (PNG's filter "up"), computed for all rows at once.
    above = Image.new("RGB", image.size)
    above.paste(image, (0, 1))
    raw = memoryview(ImageChops.subtract_modulo(image, above).tobytes())
    step = image.width * 3
    lines = bytearray(image.height * (1 + step))
    lines[:: 1 + step] = _UP * image.height
    for row in range(image.height):
        at = row * (1 + step) + 1
        lines[at : at + step] = raw[row * step : (row + 1) * step]
    chunks = [_chunk(b"IHDR", struct.pack(">IIBBBBB", image.width, image.height, 8, 2, 0, 0, 0))]
    for name, held in ((DESIGN, design), (EDITED_FROM, edited_from)):
        if held is not None:
            chunks.append(_chunk(b"iTXt", name.encode() + bytes(5) + json.dumps(held, ensure_ascii=False).encode()))
    chunks += [_chunk(b"IDAT", zlib.compress(lines, _LEVEL)), _chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def design(image: Image.Image) -> dict[str, Any] | None:
    """The design that is stored in a picture that this package drew; None for any other picture."""
    try:
        found = json.loads(image.info.get(DESIGN, ""))
    except (TypeError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PIXELS_MAX: Final = 50_000_000
FORMATS: Final = ("PNG", "JPEG", "WEBP", "GIF")


def read_picture(file: Path | IO[bytes], name: str) -> Image.Image:
    """The picture, upright, on white, with its `info`. Raises `WorkFailure("invalid_tool_input")` for a file that is no
    picture, or too large."""
    try:
        with Image.open(file, formats=FORMATS) as opened:
            if opened.width * opened.height > PIXELS_MAX:
                raise WorkFailure("invalid_tool_input", f"{name} has more than {PIXELS_MAX:,} pixels.")
            info = dict(opened.info)
            opened.load()
            made = ImageOps.exif_transpose(opened).convert("RGBA")
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError):
        raise WorkFailure("invalid_tool_input", f"{name} is no picture: give PNG, JPEG, WebP or GIF.") from None
    ground = Image.new("RGB", made.size, (255, 255, 255))
    ground.paste(made, (0, 0), made)
    ground.info = info
    return ground
