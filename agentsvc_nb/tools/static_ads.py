"""Define `create_images` and `edit_image`, tools that draw ads and edit pictures (docs/api/tools-and-jobs.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

from pydantic import BaseModel

from agentsvc_nb.tools.ads.models import CreateImagesInput, EditImageInput, ImageSet
from agentsvc_nb.tools.port import BaseTool, Outcome, ToolContext


class _StaticAdTool(BaseTool):
    family: ClassVar[str] = "static_ad"
    group: ClassVar[str] = "ads"
    asynchronous: ClassVar[bool] = True
    idempotent: ClassVar[bool] = True
    settings_used: ClassVar[tuple[str, ...]] = ("image_url", "image_key", "image_model")
    Output: ClassVar[type[BaseModel] | None] = ImageSet


async def _import_making() -> Any:
    """Import the module that draws, and return it. It loads Pillow, which most services never need."""
    return await asyncio.to_thread(import_module, f"{__package__}.ads.making")


class CreateImages(_StaticAdTool):
    """Draws static ads as PNG files. The same input gives the same files."""

    name: ClassVar[str] = "create_images"
    description: ClassVar[str] = (
        "Draws static ads: exactly `outputs.count` PNG files under images/. Prints only the texts that are passed and "
        "the labelled lines of the brief."
    )
    requirements: ClassVar[str] = (
        "Needs no model and no network, except for `background: model`. Texts have a contrast of at least 4.5 (WCAG 2)."
    )
    Input: ClassVar[type[BaseModel]] = CreateImagesInput

    def max_charges(self, given: CreateImagesInput) -> Mapping[str, int]:
        return {"picture": given.request.outputs.count}

    async def run(self, given: CreateImagesInput, context: ToolContext) -> Outcome:
        outcome: Outcome = await (await _import_making()).create(given.request, self.services.settings, context)
        return outcome


class EditImage(_StaticAdTool):
    """Draws an ad again from the design that its file contains, or puts texts over any other picture."""

    name: ClassVar[str] = "edit_image"
    description: ClassVar[str] = (
        "Edits a picture of the workspace: changes the texts, colours or sizes of an ad of this service, or adds "
        "texts to any other picture and changes its size. Writes new files."
    )
    requirements: ClassVar[str] = "Needs no model and no network, except for an `instruction`."
    Input: ClassVar[type[BaseModel]] = EditImageInput

    def max_charges(self, given: EditImageInput) -> Mapping[str, int]:
        return {"picture": max(1, len(set(given.request.sizes or ())))}

    async def run(self, given: EditImageInput, context: ToolContext) -> Outcome:
        outcome: Outcome = await (await _import_making()).edit(given.request, self.services.settings, context)
        return outcome
