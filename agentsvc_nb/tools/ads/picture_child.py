"""The limited child process that decodes a picture. It reads one line of JSON, `{"file", "side", "pixels"}`, and prints
one line: `{"width", "height", "info", "data"}`, with RGBA in base64, or `{"error"}`.
"""

from __future__ import annotations

import base64
import json
import struct
import sys
from pathlib import Path
from typing import Any, Final

from PIL import Image, ImageOps

FORMATS: Final = ("PNG", "JPEG", "WEBP", "GIF")
INFO_CHARS: Final = 100_000
_BROKEN: Final = (OSError, ValueError, SyntaxError, EOFError, struct.error)


def main() -> None:
    given = json.loads(sys.stdin.readline())
    try:
        answer = _decoded(Path(given["file"]), given["side"], given["pixels"])
    except Image.DecompressionBombError:
        answer = {"error": f"has more than {given['pixels']:,} pixels."}
    except _BROKEN:
        answer = {"error": "is no picture: give PNG, JPEG, WebP or GIF."}
    print(json.dumps(answer), flush=True)


def _decoded(file: Path, side: int, pixels: int) -> dict[str, Any]:
    """The picture upright, with no side longer than `side`."""
    with Image.open(file, formats=FORMATS) as opened:
        if opened.width * opened.height > pixels:
            return {"error": f"has more than {pixels:,} pixels."}
        info = {key: text for key, text in opened.info.items() if isinstance(text, str) and len(text) <= INFO_CHARS}
        opened.draft("RGB", (side, side))
        opened.load()
        small = opened if opened.mode in ("RGB", "RGBA") else opened.convert("RGBA")
        exif = opened.getexif()
        small.thumbnail((side, side), Image.Resampling.LANCZOS)
        small.info["exif"] = exif.tobytes()
        made = ImageOps.exif_transpose(small).convert("RGBA")
    return {"width": made.width, "height": made.height, "info": info, "data": base64.b64encode(made.tobytes()).decode()}


if __name__ == "__main__":
    main()
