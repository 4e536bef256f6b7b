"""Run in the child processes of `untrusted`, and call a reader (a function below) for each request. A request is
`[reader, arguments]` in JSON. The response is the reader's result, or `{"error": REASON}`, where the reason is empty if
the file is damaged."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.documents.child_process import answer_questions

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS: Final = ("PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP")
INFO_CHARS: Final = 100_000


def _answer(question: bytearray) -> bytes:
    reader, given = json.loads(question)
    answer = {"error": ""}
    with contextlib.suppress(Exception):  # parsers raise many types of errors for damaged files
        answer = _READERS[reader](**given)
    return json.dumps(answer).encode()


def page_text(html: str, url: str) -> dict[str, Any]:
    from agentsvc_nb.documents.markup import parse_html
    from agentsvc_nb.documents.page_markdown import to_markdown

    root = parse_html(html)
    return {"title": root.get("title", ""), "text": to_markdown(root, url)}


def page_facts(html: str) -> dict[str, Any]:
    from agentsvc_nb.tools.support.landing import extract_facts

    return extract_facts(html).model_dump(mode="json")


def picture(file: str, side: int, pixels: int) -> dict[str, Any]:
    """Return a picture upright, with no side longer than `side`."""
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = None  # replaced by the limit `pixels`
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
        return {**_pixels(ImageOps.exif_transpose(small)), "info": info, "pages": 1, "has_text": False}


def pdf(file: str, side: int, number: int) -> dict[str, Any]:
    """Return page `number` of a PDF as a picture, with no side longer than `side`."""
    import pypdfium2

    with pypdfium2.PdfDocument(file) as document:
        if number > len(document):
            return {"error": f"has {len(document)} pages."}
        page = document[number - 1]
        drawn = page.render(scale=side / max(*page.get_size(), 1.0), may_draw_forms=False).to_pil()
        has_text = bool(page.get_textpage().get_text_bounded().strip())
        return {**_pixels(drawn), "info": {}, "pages": len(document), "has_text": has_text}


def _pixels(image: Image) -> dict[str, Any]:
    made = image.convert("RGBA")
    return {"width": made.width, "height": made.height, "data": base64.b64encode(made.tobytes()).decode()}


Reader = Callable[..., dict[str, Any]]
_READERS: Final[dict[str, Reader]] = {
    "page_text": page_text,
    "page_facts": page_facts,
    "picture": picture,
    "pdf": pdf,
}

if __name__ == "__main__":
    answer_questions(_answer)
