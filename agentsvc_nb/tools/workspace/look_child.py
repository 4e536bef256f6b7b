"""The limited child process that makes a picture for a model of a picture or of a page of a PDF. A question is
`{"file", "page", "pdf"}`, an answer `{"data", "pages", "has_text"}`, a PNG in base64, or `{"error"}`.
"""

from __future__ import annotations

import base64
import io
import json
import struct
from typing import Any, Final

import pypdfium2
from PIL import Image, ImageOps

from agentsvc_nb.documents.child_process import answer_questions

SIDE: Final = 1_568
"""The longest side that hosted models look at; larger pictures are made smaller by them."""
PIXELS_MAX: Final = 100_000_000
_BROKEN: Final = (OSError, ValueError, SyntaxError, EOFError, struct.error, pypdfium2.PdfiumError)


def _answer(question: bytearray) -> bytes:
    given = json.loads(question)
    try:
        answer = _page(given["file"], given["page"]) if given["pdf"] else _picture(given["file"])
    except Image.DecompressionBombError:
        answer = {"error": f"has more than {PIXELS_MAX:,} pixels."}
    except _BROKEN:
        answer = {"error": "is damaged, wants a password, or is of a kind that can't be shown."}
    return json.dumps(answer).encode()


def _picture(file: str) -> dict[str, Any]:
    with Image.open(file) as opened:
        if opened.width * opened.height > PIXELS_MAX:
            raise Image.DecompressionBombError
        made = ImageOps.exif_transpose(opened).convert("RGBA")
    made.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    return {"data": _png(made), "pages": 1, "has_text": False}


def _page(file: str, number: int) -> dict[str, Any]:
    with pypdfium2.PdfDocument(file) as document:
        count = len(document)
        if number > count:
            return {"error": f"has {count} pages."}
        page = document[number - 1]
        made = page.render(scale=SIDE / max(*page.get_size(), 1.0), may_draw_forms=False).to_pil()
        text = page.get_textpage().get_text_bounded()
        return {"data": _png(made), "pages": count, "has_text": bool(text.strip())}


def _png(picture: Image.Image) -> str:
    made = io.BytesIO()
    picture.save(made, "PNG")
    return base64.b64encode(made.getvalue()).decode()


if __name__ == "__main__":
    answer_questions(_answer)
