"""`create_images`: ads drawn from a brief, exactly as many as asked for (docs/api/tools-and-jobs.md). No model, no
network.

What draws is imported by the first call: Pillow takes memory that most services have no use for.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import ClassVar

from pydantic import BaseModel

from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.ads.models import CreateImagesInput, ImageSet
from agentsvc_nb.tools.fetching import Fetcher
from agentsvc_nb.tools.port import Outcome, ToolContext


class CreateImages:
    """Draws static ads with Pillow: PNG files, the same for the same brief."""

    name: ClassVar[str] = "create_images"
    description: ClassVar[str] = "Draws static ads from a brief: exactly `outputs.count` PNG files under images/."
    family: ClassVar[str] = "static_ad"
    asynchronous: ClassVar[bool] = True
    idempotent: ClassVar[bool] = True
    effect: ClassVar[bool] = False

    Input: ClassVar[type[BaseModel]] = CreateImagesInput
    Output: ClassVar[type[BaseModel] | None] = ImageSet

    def __init__(self, settings: Settings, fetcher: Fetcher) -> None:
        self._settings, self._fetcher = settings, fetcher

    def available(self) -> bool:
        return True

    async def run(self, given: CreateImagesInput, task: ToolContext) -> Outcome:
        await asyncio.to_thread(import_module, f"{__package__}.ads.creating")
        from agentsvc_nb.tools.ads.creating import create
        from agentsvc_nb.tools.ads.image_model import ImageModel

        return await create(given.request, ImageModel(self._settings, self._fetcher), task)
