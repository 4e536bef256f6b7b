"""Pictures for ads: of the workspace, of an image model, and PNG files that hold the design of the ad."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any, Final

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from agentsvc_nb.settings import Settings, variable
from agentsvc_nb.tools.ads.drawing import Shape
from agentsvc_nb.tools.ads.models import DESIGN, EDITED_FROM
from agentsvc_nb.tools.port import ToolContext, WorkFailure
from agentsvc_nb.tools.support.fetching import Fetcher
from agentsvc_nb.tools.support.pictures import decode
from agentsvc_nb.tools.support.upstream import Upstream

_SIDE: Final = 2_160
"""The longest side of a picture that is read: no ad is larger."""
_MODEL_SECONDS: Final = 180.0


def encode(image: Image.Image, design: str | None = None, edited_from: dict[str, str] | None = None) -> bytes:
    """Return a PNG file with the design (JSON) and the source of an edit in text chunks."""
    info, file = PngInfo(), io.BytesIO()
    for name, text in ((DESIGN, design), (EDITED_FROM, json.dumps(edited_from) if edited_from else None)):
        if text is not None:
            info.add_itxt(name, text)
    image.save(file, "PNG", pnginfo=info, compress_level=3)
    return file.getvalue()


async def open_picture(context: ToolContext, field: str, path: str) -> tuple[Image.Image, str]:
    """Return a picture of the workspace as RGBA, and the SHA-256 of its file. Raises
    `WorkFailure("invalid_tool_input")`, which names the `field`."""
    try:
        async with context.workspace.open(path) as file:
            picture = (await decode(file, f"{field}: {path[:200]!r}", _SIDE)).image
            return picture, await asyncio.to_thread(_sha256, file)
    except FileNotFoundError:
        raise WorkFailure("invalid_tool_input", f"{field}: the chat has no file {path[:200]!r}.") from None


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def on_white(picture: Image.Image) -> Image.Image:
    """Return the picture without transparency, with its `info`."""
    ground = Image.new("RGB", picture.size, "white")
    ground.paste(picture, (0, 0), picture)
    ground.info = picture.info
    return ground


class ImageModel:
    """Paints and changes pictures through the OpenAI-compatible routes `/images/generations` and `/images/edits`. Its
    methods raise `WorkFailure`: `not_configured` when no image model is set."""

    def __init__(self, settings: Settings) -> None:
        self._named = {"model": settings.image_model} if settings.image_model else {}
        self._fetcher = Fetcher(settings.fetch_allow)
        headers = {"Authorization": f"Bearer {settings.image_key}"} if settings.image_key else {}
        url = settings.image_url
        self._upstream = Upstream("The image model", url, headers, _MODEL_SECONDS) if url else None

    async def paint(self, prompt: str, shape: Shape) -> Image.Image:
        """Return a picture of this shape for a prompt."""
        size = {"tall": "1024x1536", "square": "1024x1024", "wide": "1536x1024"}[shape]
        given = {**self._named, "prompt": prompt, "n": 1, "size": size}
        return await self._picture(await self._configured().post("/images/generations", json=given))

    async def change(self, picture: Image.Image, instruction: str) -> Image.Image:
        """Return the picture, changed as the instruction says."""
        file = ("picture.png", await asyncio.to_thread(encode, picture), "image/png")
        given = {**self._named, "prompt": instruction, "n": "1"}
        return await self._picture(await self._configured().post("/images/edits", data=given, files={"image": file}))

    def _configured(self) -> Upstream:
        if self._upstream is None:
            said = f"No image model is configured: set {variable('image_url')} to an OpenAI-compatible address."
            raise WorkFailure("not_configured", said)
        return self._upstream

    async def _picture(self, answer: Any) -> Image.Image:
        try:
            first = answer["data"][0]
            data = base64.b64decode(first["b64_json"]) if first.get("b64_json") else None
            url = "" if data is not None else str(first["url"])
        except (LookupError, TypeError, AttributeError, binascii.Error):
            raise WorkFailure("upstream_failed", "The image model answered without a picture.") from None
        if data is None:
            data = (await self._fetcher.get(url)).body
        with tempfile.NamedTemporaryFile(prefix="agentsvc-picture-") as held:
            await asyncio.to_thread(held.write, data)
            held.flush()
            return on_white((await decode(Path(held.name), "The image model's answer", _SIDE)).image)
