"""`edit_image`: an ad of ours with other words, colours or sizes; any other picture cut to sizes, with words on it.

What draws is imported by the first call, as for `create_images`.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import ClassVar

from pydantic import BaseModel

from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.ads.models import EditImageInput, ImageSet
from agentsvc_nb.tools.fetching import Fetcher
from agentsvc_nb.tools.port import Outcome, ToolContext


class EditImage:
    """Draws again what it drew; lays words over what it did not."""

    name: ClassVar[str] = "edit_image"
    description: ClassVar[str] = (
        "Changes a picture of the workspace: other words, colours or sizes of an ad that was drawn here; words on, and "
        "sizes of, any other picture. Writes new files."
    )
    family: ClassVar[str] = "static_ad"
    asynchronous: ClassVar[bool] = True
    idempotent: ClassVar[bool] = True
    effect: ClassVar[bool] = False

    Input: ClassVar[type[BaseModel]] = EditImageInput
    Output: ClassVar[type[BaseModel] | None] = ImageSet

    def __init__(self, settings: Settings, fetcher: Fetcher) -> None:
        self._settings, self._fetcher = settings, fetcher

    def available(self) -> bool:
        return True

    async def run(self, given: EditImageInput, task: ToolContext) -> Outcome:
        await asyncio.to_thread(import_module, f"{__package__}.ads.editing")
        from agentsvc_nb.tools.ads.editing import change
        from agentsvc_nb.tools.ads.image_model import ImageModel

        return await change(given.request, ImageModel(self._settings, self._fetcher), task)
