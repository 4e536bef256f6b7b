"""Define the tools with which an agent looks at pictures and PDFs, and reads web pages and the project's skills."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import ClassVar, Final

from pydantic import BaseModel, Field

from agentsvc_nb.documents.skills import MAIN, strip_front_matter
from agentsvc_nb.tools.port import BaseTool, Outcome, ReadingTool, ToolContext, WebAddress, WorkFailure
from agentsvc_nb.tools.support.fetching import Fetched, Fetcher
from agentsvc_nb.tools.support.untrusted import decode_picture, read_text
from agentsvc_nb.tools.workspace.files import READ_CHARS_MAX, excerpt, file_not_found
from agentsvc_nb.wire.text import label

PDF: Final = "application/pdf"
SIDE: Final = 1_568
"""The maximum side of a picture in pixels, because hosted models reduce larger pictures."""
PAGE_CHARS: Final = 20_000
SKILL_FILES_SHOWN: Final = 50
_PAGES: Final = ("text/html", "application/xhtml+xml", "")
_TEXTS: Final = ("application/json", "application/xml", "application/rss+xml", "application/atom+xml")


class LookAtInput(BaseModel):
    path: str = Field(description="The path of a picture or PDF.")
    page: int = Field(default=1, ge=1, le=1_000, description="The page of the PDF.")


class LookAt(BaseTool):
    name: ClassVar[str] = "look_at"
    description: ClassVar[str] = (
        "Shows you a picture, or a page of a PDF: for scans, layout and colours. You see PNG files of run_python "
        "without it. Use read_file for text."
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
            raise WorkFailure("invalid_tool_input", f"{given.path} is neither a picture nor a PDF. Its type is {kind}.")
        async with task.workspace.open(given.path) as file:
            image, pages, has_text = await decode_picture(file, given.path, SIDE, given.page if kind == PDF else None)
        png = io.BytesIO()
        await asyncio.to_thread(image.save, png, "PNG")
        # Store the picture as a file, so that later steps can show it. In this folder, searches do not find it.
        shown = f"frames/{PurePosixPath(given.path).stem[:80]}-{given.page}.png"
        await task.write(shown, png.getvalue())
        said = given.path
        if kind == PDF:
            text = "" if has_text else " It has no text: it is scanned, or drawn."
            said = f"Page {given.page} of {pages} of {given.path}.{text}"
        block = {"type": "image", "path": shown, "media_type": "image/png"}
        return Outcome.from_text(said, block)


class ReadPageInput(BaseModel):
    url: WebAddress = Field(description="The address, http or https.")
    start: int = Field(default=0, ge=0, description="The first character, from 0.")
    length: int = Field(default=PAGE_CHARS, ge=1, le=READ_CHARS_MAX, description="The number of characters.")


class ReadPage(ReadingTool):
    name: ClassVar[str] = "read_page"
    description: ClassVar[str] = "Reads a web page as Markdown, if you know its address. Does not run its scripts."
    Input: ClassVar[type[BaseModel]] = ReadPageInput

    def fetches(self, given: ReadPageInput) -> Sequence[str]:
        return (given.url,)

    async def run(self, given: ReadPageInput, task: ToolContext) -> Outcome:
        fetcher = Fetcher(self.services.settings.fetch_allow).within(given.url, task.fetch_only)
        found = await fetcher.get(given.url, accept="text/html, text/*;q=0.9, */*;q=0.5")
        if found.status != 200:
            raise WorkFailure("fetch_failed", f"{found.url} returned status {found.status}.")
        title, text = await _read_page(found)
        head = f"{title or 'A page'}, {found.url}\n\n" if given.start == 0 else ""
        return Outcome.from_text(head + excerpt("the page", text, given.start, given.length))


async def _read_page(found: Fetched) -> tuple[str, str]:
    """Return the title and text of a fetched page. Raises `WorkFailure("no_text")`."""
    kind = found.media_type
    if kind in _PAGES:
        title, text = await read_text(found)
    elif kind.startswith("text/") or kind in _TEXTS:
        title, text = "", found.decode()
    else:
        raise WorkFailure("no_text", f"{found.url} cannot be read: it is not a page or a text, but {kind}.")
    if not text.strip():
        raise WorkFailure("no_text", f"{found.url} has no text. The page may need scripts, and no scripts are run.")
    return title, text


class ReadSkillInput(BaseModel):
    name: str = Field(description="The name of the skill.")
    path: str = Field(default=MAIN, description="Another file of the skill, by the path in its text.")
    start: int = Field(default=0, ge=0, description="The first character, from 0.")
    length: int = Field(default=READ_CHARS_MAX, ge=1, le=READ_CHARS_MAX)


class ReadSkill(ReadingTool):
    """Reads the files of skills. It is offered only if the project has skills."""

    name: ClassVar[str] = "read_skill"
    description: ClassVar[str] = "Reads a skill of the project, or another file of the skill."
    group: ClassVar[str] = "skills"

    Input: ClassVar[type[BaseModel]] = ReadSkillInput

    async def run(self, given: ReadSkillInput, context: ToolContext) -> Outcome:
        try:
            files = await context.workspace.skill(given.name)
        except FileNotFoundError:
            raise WorkFailure("skill_not_found", f"The project has no skill {label(given.name, 80)!r}.") from None
        text = files.get(given.path)
        if text is None:
            said = f"The skill {given.name!r} has no file {label(given.path, 80)!r}. {_list_other_files(files)}"
            raise WorkFailure("file_not_found", said.strip())
        if given.path == MAIN:
            text = strip_front_matter(text)
        said = excerpt(f"{given.path} of the skill {given.name}", text, given.start, given.length)
        if given.path == MAIN and (others := _list_other_files(files)):
            said += f"\n\n[{others}]"
        return Outcome.from_text(said)


def _list_other_files(files: Mapping[str, str]) -> str:
    """Return a sentence that lists the files of a skill except `SKILL.md`, or "" if there are none."""
    named = [f"{path} ({len(text):,} characters)" for path, text in files.items() if path != MAIN]
    more = f", and {len(named) - SKILL_FILES_SHOWN} more" if len(named) > SKILL_FILES_SHOWN else ""
    return f"Other files, to read by `path`: {', '.join(named[:SKILL_FILES_SHOWN])}{more}." if named else ""
