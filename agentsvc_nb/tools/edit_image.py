"""`edit_image`: redraws an ad of `create_images` with other words, colours or sizes; crops any other picture to sizes
and sets words on it.

The drawing modules are imported by the first call, as for `create_images`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib import import_module
from typing import ClassVar

from pydantic import BaseModel

from agentsvc_nb.tools.ads.models import EditImageInput, ImageSet
from agentsvc_nb.tools.port import BaseTool, Outcome, ToolContext


class EditImage(BaseTool):
    """Redraws an ad from the design in its file; lays text over any other picture."""

    name: ClassVar[str] = "edit_image"
    description: ClassVar[str] = (
        "Changes a picture of the workspace: other words, colours or sizes of an ad that was drawn here; words on, and "
        "sizes of, any other picture. Writes new files."
    )
    family: ClassVar[str] = "static_ad"
    group: ClassVar[str] = "ads"
    asynchronous: ClassVar[bool] = True
    idempotent: ClassVar[bool] = True

    settings_used: ClassVar[tuple[str, ...]] = ("image_url", "image_key", "image_model")
    requirements: ClassVar[str] = "Needs no model and no network, but for an `instruction`."

    Input: ClassVar[type[BaseModel]] = EditImageInput
    Output: ClassVar[type[BaseModel] | None] = ImageSet

    def max_charges(self, given: EditImageInput) -> Mapping[str, int]:
        return {"picture": max(1, len(set(given.request.sizes or ())))}

    async def run(self, given: EditImageInput, context: ToolContext) -> Outcome:
        await asyncio.to_thread(import_module, f"{__package__}.ads.editing")
        from agentsvc_nb.tools.ads.editing import change
        from agentsvc_nb.tools.ads.pictures import ImageModel

        return await change(given.request, ImageModel(self.services.settings), context)
