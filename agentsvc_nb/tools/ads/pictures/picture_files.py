"""Picture files: writing PNG with the ad's design in it, and reading untrusted pictures within limits."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import tempfile
import zlib
from pathlib import Path
from typing import Any, Final

from PIL import Image, ImageChops

from agentsvc_nb.formats.children import fairness
from agentsvc_nb.formats.children.fairness import FairTurns
from agentsvc_nb.formats.sandbox import LimitedChild, Limits
from agentsvc_nb.tools.ads.models import DESIGN, EDITED_FROM
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.wire.limits import PICTURE_PIXELS

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


_CHILD: Final = "agentsvc_nb.tools.ads.pictures.picture_child"
_LIMITS: Final = Limits(memory_bytes=3 * 2**29, cpu_seconds=20, file_bytes=0)
_PATIENCE_SECONDS: Final = 40.0
_SIDE: Final = 2_160
"""The longest side of what is read: no ad is larger."""
_ANSWER_BYTES: Final = 30_000_000
_turns = FairTurns(2)


async def read_picture(file: Path, name: str) -> Image.Image:
    """The picture, upright, as RGBA with its `info`; a larger one is reduced. It is decoded in a limited process, for
    it may be hostile. Raises `WorkFailure("invalid_tool_input")` for a file that is no picture, or too large."""
    question = json.dumps({"file": str(file), "side": _SIDE, "pixels": PICTURE_PIXELS})
    async with _turns.turn(fairness.account.get()):
        # When the job is cancelled, leaving the block kills the child, which ends the thread's wait for it.
        with LimitedChild(_CHILD, limits=_LIMITS) as child:
            answer = await asyncio.to_thread(child.ask, question.encode(), _PATIENCE_SECONDS, _ANSWER_BYTES)
    if not answer.endswith(b"\n"):
        raise WorkFailure("invalid_tool_input", f"{name} takes too long or too much memory to be read.")
    found: dict[str, Any] = json.loads(answer)
    if reason := found.get("error"):
        raise WorkFailure("invalid_tool_input", f"{name} {reason}")
    picture = Image.frombytes("RGBA", (found["width"], found["height"]), base64.b64decode(found["data"]))
    picture.info = found["info"]
    return picture


async def read_bytes(data: bytes, name: str) -> Image.Image:
    """`read_picture` of what is no file yet."""
    with tempfile.NamedTemporaryFile(prefix="agentsvc-picture-") as held:
        await asyncio.to_thread(held.write, data)
        held.flush()
        return await read_picture(Path(held.name), name)


def on_white(picture: Image.Image) -> Image.Image:
    """The picture without transparency, with its `info`."""
    ground = Image.new("RGB", picture.size, (255, 255, 255))
    ground.paste(picture, (0, 0), picture)
    ground.info = picture.info
    return ground
