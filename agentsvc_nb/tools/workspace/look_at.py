"""The tool by which a model that sees looks at a picture of the chat, or at a page of a PDF."""

from __future__ import annotations

import asyncio
import io
from pathlib import PurePosixPath
from typing import ClassVar, Final

from pydantic import BaseModel, Field

from agentsvc_nb.tools.port import BaseTool, Outcome, ToolContext, WorkFailure
from agentsvc_nb.tools.support.untrusted import decode_picture
from agentsvc_nb.tools.workspace.files import file_not_found

PDF: Final = "application/pdf"
SIDE: Final = 1_568
"""The longest side that hosted models look at; they shrink larger pictures."""


class LookAtInput(BaseModel):
    path: str = Field(description="A picture or a PDF of the workspace.")
    page: int = Field(default=1, ge=1, le=1_000, description="Which page of a PDF.")


class LookAt(BaseTool):
    name: ClassVar[str] = "look_at"
    description: ClassVar[str] = (
        "Shows you a picture of the chat, or a page of a PDF as a picture: for scanned pages, layout and colours. PNG "
        "files that run_python writes are shown with its result. read_file is better for a PDF with text."
    )
    shows: ClassVar[bool] = True
    needs_sight: ClassVar[bool] = True
    Input: ClassVar[type[BaseModel]] = LookAtInput

    async def run(self, given: LookAtInput, task: ToolContext) -> Outcome:
        kinds = {entry.path: entry.media_type for entry in await task.workspace.list()}
        kind = kinds.get(given.path)
        if kind is None:
            raise file_not_found(given.path)
        if kind != PDF and not kind.startswith("image/"):
            raise WorkFailure("invalid_tool_input", f"{given.path} is neither a picture nor a PDF, but {kind}.")
        async with task.workspace.open(given.path) as file:
            image, pages, has_text = await decode_picture(file, given.path, SIDE, given.page if kind == PDF else None)
        png = io.BytesIO()
        await asyncio.to_thread(image.save, png, "PNG")
        # A file of its own, so that what was seen can be seen by others, and again; scratch, which no search finds.
        shown = f"frames/{PurePosixPath(given.path).stem[:80]}-{given.page}.png"
        await task.write(shown, png.getvalue())
        said = given.path
        if kind == PDF:
            text = "" if has_text else " It has no text: it is scanned, or drawn."
            said = f"Page {given.page} of {pages} of {given.path}.{text}"
        block = {"type": "image", "path": shown, "media_type": "image/png"}
        return Outcome.of_text(said, block)
