"""The limited child process that decodes a picture or a page of a PDF.

A question is `{"file", "side", "pixels", "page"}`; the page of a picture is null. An answer is `{"width", "height",
"info", "data", "pages", "has_text"}`, with RGBA in base64, or `{"error"}`.
"""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any, Final

import pypdfium2
from PIL import Image, ImageOps

from agentsvc_nb.documents.child_process import answer_questions

FORMATS: Final = ("PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP")
INFO_CHARS: Final = 100_000
_BROKEN: Final = (OSError, ValueError, SyntaxError, EOFError, struct.error, pypdfium2.PdfiumError)


def _answer(question: bytearray) -> bytes:
    given = json.loads(question)
    file, side, pixels, page = Path(given["file"]), given["side"], given["pixels"], given["page"]
    try:
        answer = _picture(file, side, pixels) if page is None else _page(file, side, page)
    except Image.DecompressionBombError:
        answer = {"error": f"has more than {pixels:,} pixels."}
    except _BROKEN:
        answer = {"error": "is damaged, needs a password, or is not a PNG, JPEG, WebP, GIF, TIFF, BMP or PDF file."}
    return json.dumps(answer).encode()


def _picture(file: Path, side: int, pixels: int) -> dict[str, Any]:
    """Return the picture upright, with no side longer than `side`."""
    with Image.open(file, formats=FORMATS) as opened:
        if opened.width * opened.height > pixels:
            raise Image.DecompressionBombError
        info = {key: text for key, text in opened.info.items() if isinstance(text, str) and len(text) <= INFO_CHARS}
        opened.draft("RGB", (side, side))
        opened.load()
        small = opened if opened.mode in ("RGB", "RGBA") else opened.convert("RGBA")
        exif = opened.getexif()
        small.thumbnail((side, side), Image.Resampling.LANCZOS)
        small.info["exif"] = exif.tobytes()
        return {**_raw(ImageOps.exif_transpose(small)), "info": info, "pages": 1, "has_text": False}


def _page(file: Path, side: int, number: int) -> dict[str, Any]:
    with pypdfium2.PdfDocument(file) as document:
        if number > len(document):
            return {"error": f"has {len(document)} pages."}
        page = document[number - 1]
        drawn = page.render(scale=side / max(*page.get_size(), 1.0), may_draw_forms=False).to_pil()
        has_text = bool(page.get_textpage().get_text_bounded().strip())
        return {**_raw(drawn), "info": {}, "pages": len(document), "has_text": has_text}


def _raw(picture: Image.Image) -> dict[str, Any]:
    made = picture.convert("RGBA")
    return {"width": made.width, "height": made.height, "data": base64.b64encode(made.tobytes()).decode()}


if __name__ == "__main__":
    answer_questions(_answer)
