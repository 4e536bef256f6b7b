"""Pictures that ads are made with: those of the workspace, read within limits, for they are untrusted; those that an
image model paints or changes; a product and a logo placed on an ad; and PNG files, with the ad's design in them."""

from __future__ import annotations

import asyncio
import base64
import binascii
import io
import json
import math
import struct
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from PIL import Image, ImageChops, ImageFilter, ImageOps

from agentsvc_nb.documents.child_process import ChildPool, Limits, NoAnswer
from agentsvc_nb.settings import Settings, variable
from agentsvc_nb.tools.ads.colors import INK, WHITE, Color, contrast
from agentsvc_nb.tools.ads.models import DESIGN, EDITED_FROM
from agentsvc_nb.tools.ads.shapes import Box, Frame, panel, pill, shadow
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.tools.support.fetching import Fetcher
from agentsvc_nb.tools.support.upstream import Upstream
from agentsvc_nb.wire.limits import PICTURE_PIXELS
from agentsvc_nb.wire.reading import read_json

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
        found = read_json(image.info.get(DESIGN, ""))
    except (TypeError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


_PATIENCE_SECONDS: Final = 40.0
_SIDE: Final = 2_160
"""The longest side of what is read: no ad is larger."""
_ANSWER_BYTES: Final = 30_000_000
# Each child may take one and a half gigabytes, so two decode at a time, and each ends after its answer.
_pool: Final = ChildPool(
    "agentsvc_nb.tools.ads.picture_child", Limits(memory_bytes=3 * 2**29, cpu_seconds=20, file_bytes=0), kept_bytes=0
)


async def read_picture(file: Path, name: str) -> Image.Image:
    """The picture, upright, as RGBA with its `info`; a larger one is reduced. It is decoded in a limited process, for
    it may be hostile. Raises `WorkFailure("invalid_tool_input")` for a file that is no picture, or too large."""
    question = json.dumps({"file": str(file), "side": _SIDE, "pixels": PICTURE_PIXELS})
    try:
        answer = await _pool.ask(question.encode(), _PATIENCE_SECONDS, _ANSWER_BYTES)
    except NoAnswer:
        raise WorkFailure("invalid_tool_input", f"{name} takes too long or too much memory to be read.") from None
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


SECONDS = 180.0


class ImageModel:
    """Paints and changes pictures, behind the OpenAI-compatible routes `/images/generations` and `/images/edits`. Its
    methods raise `WorkFailure`: `not_configured` when no image model is set."""

    def __init__(self, settings: Settings) -> None:
        self._model = settings.image_model
        self._fetcher = Fetcher(settings.fetch_allow)
        headers = {"Authorization": f"Bearer {settings.image_key}"} if settings.image_key else {}
        url = settings.image_url
        self._upstream = Upstream("The image model", url, headers, SECONDS) if url else None

    async def paint(self, prompt: str, frame: Frame) -> Image.Image:
        """A picture for a prompt, about as wide and high as the frame."""
        given = {**self._named(), "prompt": prompt, "n": 1, "size": _size(frame)}
        return await self._picture(await self._asked().post("/images/generations", json=given))

    async def change(self, picture: Image.Image, instruction: str) -> Image.Image:
        """The picture, changed as the instruction says."""
        file = ("picture.png", await asyncio.to_thread(_png, picture), "image/png")
        given = {**self._named(), "prompt": instruction, "n": "1"}
        return await self._picture(await self._asked().post("/images/edits", data=given, files={"image": file}))

    def _asked(self) -> Upstream:
        if self._upstream is None:
            said = f"No image model is configured: set {variable('image_url')} to an OpenAI-compatible address."
            raise WorkFailure("not_configured", said)
        return self._upstream

    def _named(self) -> dict[str, str]:
        return {"model": self._model} if self._model else {}

    async def _picture(self, answer: Any) -> Image.Image:
        try:
            first = answer["data"][0]
            data = base64.b64decode(first["b64_json"]) if first.get("b64_json") else None
            url = "" if data is not None else str(first["url"])
        except (LookupError, TypeError, AttributeError, binascii.Error):
            raise WorkFailure("upstream_failed", "The image model answered without a picture.") from None
        if data is None:
            data = (await self._fetcher.get(url)).body
        return on_white(await read_bytes(data, "The image model's answer"))


def _size(frame: Frame) -> str:
    """The nearest of the sizes that such models support."""
    return {"tall": "1024x1536", "square": "1024x1024", "wide": "1536x1024"}[frame.shape]


def _png(picture: Image.Image) -> bytes:
    held = io.BytesIO()
    picture.save(held, "PNG")
    return held.getvalue()


Fit = Literal["contain", "cover"]
FITS: Final[dict[str, Fit | None]] = {"auto": None, "contain": "contain", "cover": "cover"}
LOGO_CLEAR: Final = 0.5
"""Parts of a logo's height that stay empty above and below it."""
_LOGO_AREA: Final = 16_000
_LOGO_SHARE: Final = 0.6
_LOGO_HIGH: Final = 130
_LOGO_PART: Final = 0.14
_PLATE: Final = 0.16
"""Parts of a plate's height that stay empty around the logo on it."""
_LOST: Final = 1.5
_LOST_SHARE: Final = 0.15
_SEEN: Final = 8
"""Alpha from which a pixel is seen."""
_SAMPLE: Final = 64
_RIM: Final = 2
_PLAIN: Final = 14
_GROWN: Final = 2.0
"""How many times its own size a picture is shown at most."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A picture of the workspace that is placed on ads."""

    path: str
    sha256: str
    picture: Image.Image
    """RGBA, without empty edges."""
    is_free: bool = False
    """Whether the file has transparent parts."""
    fit: Fit | None = None
    """None: a free-standing product, or one on a plain ground, is shown whole; any other photo fills its place."""

    def named(self) -> dict[str, str | None]:
        """As it is kept in a design."""
        return {"path": self.path, "sha256": self.sha256, "fit": self.fit}


def has_transparency(picture: Image.Image) -> bool:
    return any(picture.getchannel("A").histogram()[:128])


def trimmed(picture: Image.Image) -> Image.Image | None:
    """The picture without transparent edges; None when nothing of it is seen."""
    seen = picture.getchannel("A").point([255 if alpha > _SEEN else 0 for alpha in range(256)]).getbbox()
    return picture.crop(seen) if seen else None


def place_product(image: Image.Image, product: Placed, stand: Box, frame: Frame) -> Box:
    """Draw the product in its place, with a shadow; returns the box that it takes."""
    ground = None if product.is_free else _plain_ground(product.picture)
    fit = product.fit or ("contain" if product.is_free or ground else "cover")
    radius, width, height = round(36 * frame.unit), stand[2] - stand[0], stand[3] - stand[1]
    drop = round(16 * frame.unit)
    if fit == "cover" or ground:
        shadow(image, (stand[0], stand[1] + drop // 2, stand[2], stand[3] + drop // 2), radius, 80, drop)
        panel(image, stand, radius, ground or WHITE)
    if fit == "cover":
        shown = ImageOps.fit(product.picture, (width, height), Image.Resampling.LANCZOS)
        mask = ImageChops.multiply(shown.getchannel("A"), pill(width, height, radius))
        image.paste(shown, (stand[0], stand[1]), mask)
        return stand
    inner = 3 * radius if ground else 0
    picture = _without(ground, product.picture) if ground else product.picture
    shown = _contained(picture, width - inner, height - inner)
    left, top = stand[0] + (width - shown.width) // 2, stand[1] + (height - shown.height) // 2
    box = (left, top, left + shown.width, top + shown.height)
    if not ground:
        foot = (box[0] + shown.width // 8, box[3] - drop, box[2] - shown.width // 8, box[3])
        shadow(image, foot, drop / 2, 120, drop)
    image.paste(shown, (left, top), shown)
    return stand if ground else box


def _contained(picture: Image.Image, width: int, height: int) -> Image.Image:
    scale = min(width / picture.width, height / picture.height, _GROWN)
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    return picture.resize(size, Image.Resampling.LANCZOS)


def _plain_ground(picture: Image.Image) -> Color | None:
    """The one colour all around the edges of a photo, as of a product on white; None when there are several."""
    small = picture.convert("RGB").resize((_SAMPLE, _SAMPLE), Image.Resampling.BOX)
    last = _SAMPLE - 1
    around = [small.getpixel(at) for n in range(_SAMPLE) for at in ((n, 0), (n, last), (0, n), (last, n))]
    edges = [pixel for pixel in around if isinstance(pixel, tuple)]
    low, high = (tuple(pick(parts) for parts in zip(*edges, strict=True)) for pick in (min, max))
    if any(b - a > _PLAIN for a, b in zip(low, high, strict=True)):
        return None
    red, green, blue = (round(sum(parts) / len(edges)) for parts in zip(*edges, strict=True))
    return red, green, blue


def _without(ground: Color, picture: Image.Image) -> Image.Image:
    """The picture without its plain edges."""
    apart = ImageChops.difference(picture.convert("RGB"), Image.new("RGB", picture.size, ground)).convert("L")
    box = apart.point([255 if difference > _PLAIN else 0 for difference in range(256)]).getbbox()
    return picture.crop(box) if box else picture


def logo_size(logo: Image.Image, zone: Box, unit: float) -> tuple[int, int]:
    """How large a logo is shown in a zone: wide and high ones take about the same area."""
    ratio = logo.width / logo.height
    high = min(math.sqrt(_LOGO_AREA / ratio), _LOGO_HIGH) * unit
    high = min(high, _LOGO_SHARE * (zone[2] - zone[0]) / ratio, _LOGO_PART * (zone[3] - zone[1]), _GROWN * logo.height)
    return max(1, round(high * ratio)), max(1, round(high))


def place_logo(image: Image.Image, logo: Image.Image, box: Box, under: list[Color]) -> None:
    """Draw the logo in the box, on a plate where too much of its outline would be lost on the colours under it."""
    left, top, right, bottom = box
    outline = _outline(logo)
    if max(_lost(outline, color) for color in under) > _LOST_SHARE:
        plate = min((WHITE, INK), key=lambda one: _lost(outline, one))
        edge = round(_PLATE * (bottom - top))
        panel(image, box, edge, plate)
        left, top, right, bottom = left + edge, top + edge, right - edge, bottom - edge
    shown = _contained(logo, right - left, bottom - top)
    image.paste(shown, (left + (right - left - shown.width) // 2, top + (bottom - top - shown.height) // 2), shown)


def _outline(logo: Image.Image) -> list[tuple[int, Color]]:
    """The colours beside a logo's transparent parts, each with how many pixels it has; none of an opaque logo, which
    brings its own ground. What is white within a red badge can be read on white."""
    small = logo.resize((2 * _SAMPLE, 2 * _SAMPLE), Image.Resampling.NEAREST)
    solid = small.getchannel("A").point([255 if alpha >= 128 else 0 for alpha in range(256)])
    if solid.getextrema() == (255, 255):
        return []
    within = ImageOps.expand(solid, _RIM, 0).filter(ImageFilter.MinFilter(2 * _RIM + 1))
    rim = ImageChops.subtract(solid, within.crop((_RIM, _RIM, _RIM + small.width, _RIM + small.height)))
    small.putalpha(rim)
    found = small.getcolors(small.width * small.height) or []
    seen = [(count, pixel) for count, pixel in found if isinstance(pixel, tuple) and pixel[3]]
    return [(count, (red, green, blue)) for count, (red, green, blue, _) in seen]


def _lost(outline: list[tuple[int, Color]], on: Color) -> float:
    """The part of an outline that can hardly be told from a colour."""
    lost = sum(count for count, color in outline if contrast(color, on) < _LOST)
    return lost / max(1, sum(count for count, _ in outline))
