"""A tool that reads the skills of the chat's project."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from pydantic import BaseModel, Field

from agentsvc_nb.documents.skills import MAIN, body
from agentsvc_nb.tools.port import Outcome, ReadingTool, ToolContext, WorkFailure
from agentsvc_nb.tools.workspace.files import READ_CHARS_MAX, excerpt
from agentsvc_nb.wire.text import label

FILES_NAMED: Final = 50


class ReadSkillInput(BaseModel):
    name: str = Field(description="The skill.")
    path: str = Field(default=MAIN, description="A file of it that its text names.")
    start: int = Field(default=0, ge=0, description="Character to begin at.")
    length: int = Field(default=READ_CHARS_MAX, ge=1, le=READ_CHARS_MAX)


class ReadSkill(ReadingTool):
    """Offered where the project has skills."""

    name: ClassVar[str] = "read_skill"
    description: ClassVar[str] = "Reads a skill of the project, or a further file of it."
    group: ClassVar[str] = "skills"

    Input: ClassVar[type[BaseModel]] = ReadSkillInput

    async def run(self, given: ReadSkillInput, context: ToolContext) -> Outcome:
        try:
            files = await context.workspace.skill(given.name)
        except FileNotFoundError:
            raise WorkFailure("skill_not_found", f"The project has no skill {label(given.name, 80)!r}.") from None
        text = files.get(given.path)
        if text is None:
            said = f"The skill {given.name!r} has no file {label(given.path, 80)!r}. {_others(files)}"
            raise WorkFailure("file_not_found", said.strip())
        if given.path == MAIN:
            text = body(text)
        said = excerpt(f"{given.path} of the skill {given.name}", text, given.start, given.length)
        if given.path == MAIN and (others := _others(files)):
            said += f"\n\n[{others}]"
        return Outcome.of_text(said)


def _others(files: Mapping[str, str]) -> str:
    """The files beside `SKILL.md`, in a sentence; nothing without any."""
    named = [f"{path} ({len(text):,} characters)" for path, text in files.items() if path != MAIN]
    more = f", and {len(named) - FILES_NAMED} more" if len(named) > FILES_NAMED else ""
    return f"Further files, read by their `path`: {', '.join(named[:FILES_NAMED])}{more}." if named else ""
