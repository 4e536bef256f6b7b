"""Tools with an effect that can't be undone, which can kill the service just before or after it.

`offer` adds them to the catalog of the launcher's service.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Final, Literal

from pydantic import BaseModel

from agentsvc_nb.service import app
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools import catalog
from agentsvc_nb.tools.port import Complete, Outcome, Tool, ToolContext, ToolDeclaration
from tests.faults.engines import die

STAMPS: Final = "stamps.log"


class StampInput(BaseModel):
    line: str
    dies: Literal["before", "after"] | None = None


class Stamp(ToolDeclaration):
    """Adds a line to a file; on the first call with `dies` it kills the service `before` or `after` that."""

    name: ClassVar[str] = "stamp"
    description: ClassVar[str] = "Adds a line to a file, as a mail would be sent."
    family: ClassVar[str] = "stamp"
    asynchronous: ClassVar[bool] = False
    idempotent: ClassVar[bool] = False
    effect: ClassVar[bool] = True

    Input: ClassVar[type[BaseModel]] = StampInput
    Output: ClassVar[type[BaseModel] | None] = None

    def __init__(self, data: Path) -> None:
        self.data = data

    def available(self) -> bool:
        return True

    async def run(self, given: StampInput, context: ToolContext) -> Outcome:
        died = self.data / "died"
        if given.dies == "before" and not died.exists():
            died.touch()
            die()
        with (self.data / STAMPS).open("a") as log:
            log.write(f"{given.line} {context.key}\n")
        if given.dies == "after" and not died.exists():
            died.touch()
            die()
        return Outcome(content=[{"type": "text", "text": f"stamped {given.line}"}])


class Post(Stamp):
    """`Stamp` as an asynchronous tool, which runs as a job."""

    name: ClassVar[str] = "post"
    family: ClassVar[str] = "post"
    asynchronous: ClassVar[bool] = True


class Look(Stamp):
    """`Stamp` as a tool that declares no effect."""

    name: ClassVar[str] = "look"
    family: ClassVar[str] = "look"
    effect: ClassVar[bool] = False


def offer() -> None:
    """Add the three tools to the catalog of the service in this process."""

    def tools(settings: Settings, complete: Complete | None = None) -> dict[str, Tool]:
        more: list[Tool] = [kind(settings.data) for kind in (Stamp, Post, Look)]
        return {**catalog.tools(settings, complete), **{tool.name: tool for tool in more}}

    app.tools = tools  # type: ignore[attr-defined]
