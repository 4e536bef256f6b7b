"""The limited child process that decodes a picture. A question is `{"file", "side", "pixels"}`, an answer
`{"width", "height", "info", "data"}`, with RGBA in base64, or `{"error"}`.
"""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any, Final

from PIL import Image, ImageOps

from agentsvc_nb.documents.child_process import answer_questions

FORMATS: Final = ("PNG", "JPEG", "WEBP", "GIF")
INFO_CHARS: Final = 100_000
_BROKEN: Final = (OSError, ValueError, SyntaxError, EOFError, struct.error)


def _answer(question: bytearray) -> bytes:
    given = json.loads(question)
    try:
        answer = _decoded(Path(given["file"]), given["side"], given["pixels"])
    except Image.DecompressionBombError:
        answer = {"error": f"has more than {given['pixels']:,} pixels."}
    except _BROKEN:
        answer = {"error": "is no picture: give PNG, JPEG, WebP or GIF."}
    return json.dumps(answer).encode()


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
    answer_questions(_answer)
