"""`create_images`: ads drawn from a brief, exactly as many as asked for (docs/api/tools-and-jobs.md). No model, no
network.

The drawing modules are imported by the first call: Pillow takes memory, and most services never draw.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib import import_module
from typing import ClassVar

from pydantic import BaseModel

from agentsvc_nb.tools.ads.models import CreateImagesInput, ImageSet
from agentsvc_nb.tools.port import BaseTool, Outcome, ToolContext


class CreateImages(BaseTool):
    """Draws static ads with Pillow: PNG files, the same for the same brief."""

    name: ClassVar[str] = "create_images"
    description: ClassVar[str] = (
        "Draws static ads: exactly `outputs.count` PNG files under images/. Prints only the texts that are passed and "
        "the labelled lines of the brief."
    )
    family: ClassVar[str] = "static_ad"
    group: ClassVar[str] = "ads"
    asynchronous: ClassVar[bool] = True
    idempotent: ClassVar[bool] = True

    settings_used: ClassVar[tuple[str, ...]] = ("image_url", "image_key", "image_model")
    requirements: ClassVar[str] = (
        "Needs no model and no network, but for `background: model`. Texts have a contrast of 4.5 by WCAG 2."
    )

    Input: ClassVar[type[BaseModel]] = CreateImagesInput
    Output: ClassVar[type[BaseModel] | None] = ImageSet

    def max_charges(self, given: CreateImagesInput) -> Mapping[str, int]:
        return {"picture": given.request.outputs.count}

    async def run(self, given: CreateImagesInput, context: ToolContext) -> Outcome:
        await asyncio.to_thread(import_module, f"{__package__}.ads.creating")
        from agentsvc_nb.tools.ads.creating import create
        from agentsvc_nb.tools.ads.pictures import ImageModel

        return await create(given.request, ImageModel(self.services.settings), context)
