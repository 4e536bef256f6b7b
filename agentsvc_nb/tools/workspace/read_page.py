"""The tool that reads a web page, through the guard against private addresses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from pydantic import BaseModel, Field

from agentsvc_nb.tools.port import Outcome, ReadingTool, ToolContext, ToolServices, WebAddress, WorkFailure
from agentsvc_nb.tools.support.fetching import Fetched, Fetcher
from agentsvc_nb.tools.support.untrusted import read_text
from agentsvc_nb.tools.workspace.files import READ_CHARS_MAX, excerpt

READ_CHARS: Final = 20_000
_PAGES: Final = ("text/html", "application/xhtml+xml", "")
_TEXTS: Final = ("application/json", "application/xml", "application/rss+xml", "application/atom+xml")


class ReadPageInput(BaseModel):
    url: WebAddress = Field(description="The page, http or https.")
    start: int = Field(default=0, ge=0, description="Character of its text to begin at.")
    length: int = Field(default=READ_CHARS, ge=1, le=READ_CHARS_MAX, description="Characters to read.")


class ReadPage(ReadingTool):
    name: ClassVar[str] = "read_page"
    description: ClassVar[str] = (
        "Reads a web page as Markdown, with its links. Scripts are not run: what they would show is not there."
    )
    Input: ClassVar[type[BaseModel]] = ReadPageInput

    def __init__(self, services: ToolServices) -> None:
        super().__init__(services)
        self._fetcher = Fetcher(services.settings.fetch_allow)

    def fetches(self, given: ReadPageInput) -> Sequence[str]:
        return (given.url,)

    async def run(self, given: ReadPageInput, task: ToolContext) -> Outcome:
        found = await self._fetcher.within(given.url, task.fetch_only).get(
            given.url, accept="text/html, text/*;q=0.9, */*;q=0.5"
        )
        if found.status != 200:
            raise WorkFailure("fetch_failed", f"{found.url} answered with status {found.status}.")
        title, text = await _read(found)
        head = f"{title or 'A page'}, {found.url}\n\n" if given.start == 0 else ""
        return Outcome.of_text(head + excerpt("the page", text, given.start, given.length))


async def _read(found: Fetched) -> tuple[str, str]:
    """The title and the text of what was fetched. Raises `WorkFailure("no_text")`."""
    kind = found.media_type
    if kind in _PAGES:
        title, text = await read_text(found)
    elif kind.startswith("text/") or kind in _TEXTS:
        title, text = "", found.decode()
    else:
        raise WorkFailure("no_text", f"{found.url} is no page that can be read, but {kind}.")
    if not text.strip():
        raise WorkFailure(
            "no_text", f"{found.url} has no text: its contents may be made by scripts, which are not run."
        )
    return title, text
