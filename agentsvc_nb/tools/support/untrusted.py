"""Read untrusted pages, pictures and PDFs, each in a child process with limits that ends after its answer.

Such files may be crafted to take forever to read or to exploit a fault of a parser.
"""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agentsvc_nb.documents.child_process import ChildPool, Limits, NoAnswer
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.tools.support.fetching import Fetched
from agentsvc_nb.tools.support.landing import PageFacts
from agentsvc_nb.wire.limits import PICTURE_PIXELS

if TYPE_CHECKING:
    from PIL.Image import Image

_CHILD: Final = "agentsvc_nb.tools.support.untrusted_child"
_ANSWER_BYTES: Final = 40_000_000
_BROKEN: Final = "is damaged, needs a password, or is not a PNG, JPEG, WebP, GIF, TIFF, BMP or PDF file."
_pages: Final = ChildPool(_CHILD, Limits(memory_bytes=3 * 2**28, cpu_seconds=15, file_bytes=0), count=4, kept_bytes=0)
_pictures: Final = ChildPool(_CHILD, Limits(memory_bytes=3 * 2**29, cpu_seconds=20, file_bytes=0), kept_bytes=0)


class DecodedPicture(NamedTuple):
    """Holds a picture, or a page of a PDF, as RGBA with its `info`.

    Attributes:
        pages: The number of pages of the file, 1 for a picture.
        has_text: True if it is a PDF page and the page has text.
    """

    image: Image
    pages: int
    has_text: bool


async def read_text(page: Fetched) -> tuple[str, str]:
    """Return the title of a page, and its text as Markdown with absolute links.

    Raises:
        WorkFailure: `no_text` if the page can't be read within the limits.
    """
    found = await _read_page(page, "page_text", url=page.url)
    return found["title"], found["text"]


async def read_facts(page: Fetched) -> PageFacts:
    """Return the facts about a landing page. Raises the same errors as `read_text`."""
    return PageFacts.model_validate(await _read_page(page, "page_facts"))


async def _read_page(page: Fetched, reader: str, **given: str) -> Any:
    question = [reader, {"html": await asyncio.to_thread(page.decode), **given}]
    try:
        found = json.loads(await _pages.ask(json.dumps(question).encode(), 20.0, _ANSWER_BYTES))
    except NoAnswer:
        raise WorkFailure("no_text", "The page cannot be read: it takes too long or needs too much memory.") from None
    if "error" in found:
        raise WorkFailure("no_text", "The page can't be read: its elements are nested too deeply.")
    return found


async def decode_picture(file: Path, name: str, side: int, page: int | None = None) -> DecodedPicture:
    """Return a picture, or a page of a PDF, upright and with no side longer than `side` pixels.

    Raises `WorkFailure` with a message that begins with `name`: `invalid_tool_input` if the file cannot be read,
    `too_much_work` if reading takes too long or too much memory.
    """
    from PIL import Image  # imported here, because most services never need Pillow

    given = {"file": str(file), "side": side}
    question = ["picture", {**given, "pixels": PICTURE_PIXELS}] if page is None else ["pdf", {**given, "number": page}]
    try:
        found = json.loads(await _pictures.ask(json.dumps(question).encode(), 40.0, _ANSWER_BYTES))
    except NoAnswer:
        raise WorkFailure("too_much_work", f"{name} takes too long or needs too much memory to read.") from None
    if "error" in found:
        raise WorkFailure("invalid_tool_input", f"{name} {found['error'] or _BROKEN}")
    image = Image.frombytes("RGBA", (found["width"], found["height"]), base64.b64decode(found["data"]))
    image.info = found["info"]
    return DecodedPicture(image, found["pages"], found["has_text"])
