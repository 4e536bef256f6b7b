"""The tool by which a model that sees looks at a picture of the chat, or at a page of a PDF."""

from __future__ import annotations

import base64
import json
from pathlib import PurePosixPath
from typing import Any, ClassVar, Final

from pydantic import BaseModel, Field

from agentsvc_nb.documents.child_process import ChildPool, Limits, NoAnswer
from agentsvc_nb.tools.port import BaseTool, Outcome, ToolContext, WorkFailure

PDF: Final = "application/pdf"
_PATIENCE_SECONDS: Final = 40.0
_ANSWER_BYTES: Final = 30_000_000
# Each child may take one and a half gigabytes, so it ends after its answer.
_pool: Final = ChildPool(
    "agentsvc_nb.tools.workspace.look_child",
    Limits(memory_bytes=3 * 2**29, cpu_seconds=20, file_bytes=0),
    kept_bytes=0,
)


class LookAtInput(BaseModel):
    path: str = Field(description="A picture or a PDF of the workspace.")
    page: int = Field(default=1, ge=1, le=1_000, description="Which page of a PDF.")


class LookAt(BaseTool):
    name: ClassVar[str] = "look_at"
    description: ClassVar[str] = (
        "Shows you a picture of the chat, or a page of a PDF as a picture: for charts that you drew, scanned pages, "
        "layout and colours. read_file is better for a PDF with text."
    )
    family: ClassVar[str] = "look_at"
    works_on: ClassVar[str] = "pictures"
    shows: ClassVar[bool] = True
    Input: ClassVar[type[BaseModel]] = LookAtInput

    async def run(self, given: LookAtInput, task: ToolContext) -> Outcome:
        kinds = {entry.path: entry.media_type for entry in await task.workspace.list()}
        kind = kinds.get(given.path)
        if kind is None:
            raise WorkFailure("file_not_found", f"There is no file {given.path!r}: list_files tells what there is.")
        if kind != PDF and not kind.startswith("image/"):
            raise WorkFailure("invalid_tool_input", f"{given.path} is neither a picture nor a PDF, but {kind}.")
        made = await _made(task, given, kind)
        # A file of its own, so that what was seen can be seen by others, and again; scratch, which no search finds.
        shown = f"frames/{PurePosixPath(given.path).stem[:80]}-{given.page}.png"
        await task.write(shown, base64.b64decode(made["data"]))
        said = given.path
        if kind == PDF:
            text = "" if made["has_text"] else " It has no text: it is scanned, or drawn."
            said = f"Page {given.page} of {made['pages']} of {given.path}.{text}"
        block = {"type": "image", "path": shown, "media_type": "image/png"}
        return Outcome(content=[{"type": "text", "text": said}, block])


async def _made(task: ToolContext, given: LookAtInput, kind: str) -> dict[str, Any]:
    """The picture that is shown, made in a limited process, as the file may be hostile."""
    async with task.workspace.open(given.path) as file:
        question = json.dumps({"file": str(file.absolute()), "page": given.page, "pdf": kind == PDF}).encode()
        try:
            answer = await _pool.ask(question, _PATIENCE_SECONDS, _ANSWER_BYTES)
        except NoAnswer:
            raise WorkFailure("too_much_work", f"{given.path} takes too long or too much memory to be shown.") from None
    found: dict[str, Any] = json.loads(answer)
    if reason := found.get("error"):
        raise WorkFailure("invalid_tool_input", f"{given.path} {reason}")
    return found
