"""An image model behind the OpenAI-compatible routes `/images/generations` and `/images/edits`."""

from __future__ import annotations

import asyncio
import base64
import binascii
import io
from typing import Any

from PIL import Image

from agentsvc_nb.settings import Settings, variable
from agentsvc_nb.tools.ads.pictures.picture_files import on_white, read_bytes
from agentsvc_nb.tools.ads.shapes import Frame
from agentsvc_nb.tools.fetching import Fetcher
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.tools.upstream import Upstream

SECONDS = 180.0


class ImageModel:
    """Paints and changes pictures. Its methods raise `WorkFailure`: `not_configured` when no image model is set."""

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
