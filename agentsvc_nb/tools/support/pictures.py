"""Untrusted pictures and pages of PDFs, decoded in a limited process that hands back raw pixels."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Final, NamedTuple

from PIL import Image

from agentsvc_nb.documents.child_process import ChildPool, Limits, NoAnswer
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.wire.limits import PICTURE_PIXELS

_SECONDS: Final = 40.0
_ANSWER_BYTES: Final = 30_000_000
# Each child may take one and a half gigabytes, so two decode at a time, and each ends after its answer.
_pool: Final = ChildPool(
    "agentsvc_nb.tools.support.picture_child",
    Limits(memory_bytes=3 * 2**29, cpu_seconds=20, file_bytes=0),
    kept_bytes=0,
)


class Decoded(NamedTuple):
    """A picture as RGBA with its `info`, how many pages its file has, and whether this one has text."""

    image: Image.Image
    pages: int
    has_text: bool


async def decode(file: Path, name: str, side: int, page: int | None = None) -> Decoded:
    """Return the picture, or a page of the PDF, upright and at most `side` pixels long.

    Raises `WorkFailure` with a message that begins with `name`: `invalid_tool_input` for a file that cannot be read,
    `too_much_work` for one that takes too long or too much memory.
    """
    try:
        found = json.loads(await _pool.ask(_question(file, side, page), _SECONDS, _ANSWER_BYTES))
    except NoAnswer:
        raise WorkFailure("too_much_work", f"{name} takes too long or too much memory to be read.") from None
    if reason := found.get("error"):
        raise WorkFailure("invalid_tool_input", f"{name} {reason}")
    image = Image.frombytes("RGBA", (found["width"], found["height"]), base64.b64decode(found["data"]))
    image.info = found["info"]
    return Decoded(image, found["pages"], found["has_text"])


def _question(file: Path, side: int, page: int | None) -> bytes:
    return json.dumps({"file": str(file.absolute()), "side": side, "pixels": PICTURE_PIXELS, "page": page}).encode()
