"""`echo_job`: a job that does what its input says, for tests; it exists only with the `scripted` model
(docs/api/tools-and-jobs.md)."""

from __future__ import annotations

import asyncio
import hashlib
from typing import ClassVar, Final

from pydantic import BaseModel, Field

from agentsvc_nb.tools.port import BaseTool, Outcome, ToolContext, ToolServices

EFFECTS: Final = "effects.log"


class EchoJobInput(BaseModel):
    steps: int = Field(default=1, ge=0, le=100_000, description="How many steps are reported.")
    seconds: float = Field(default=0, ge=0, allow_inf_nan=False, description="Seconds that the whole job takes.")
    files: dict[str, str] = Field(default_factory=dict, description="Text by path.")
    output: tuple[str, str] | None = Field(default=None, description="Id and type of the typed output of the files.")
    fail: bool | str | None = Field(default=None, description="Fail in the end: true, or the message.")


class EchoLine(BaseModel):
    """One line of `effects.log`."""

    tool: str
    input_sha256: str
    files: list[str]
    key: str
    """The key of the work (`ToolContext.key`): a repeated call does not write its line again."""


class EchoJob(BaseTool):
    """Takes its time, reports progress per step, writes the files, and logs that it ran."""

    name: ClassVar[str] = "echo_job"
    description: ClassVar[str] = "For tests: reports progress in steps, writes the given files, and logs that it ran."
    family: ClassVar[str] = "echo"
    asynchronous: ClassVar[bool] = True
    effect: ClassVar[bool] = True
    repeatable: ClassVar[bool] = True
    scripted_only: ClassVar[bool] = True

    Input: ClassVar[type[BaseModel]] = EchoJobInput

    def __init__(self, services: ToolServices) -> None:
        super().__init__(services)
        self._data = services.settings.data

    async def run(self, given: EchoJobInput, context: ToolContext) -> Outcome:
        for step in range(1, given.steps + 1):
            await asyncio.sleep(given.seconds / given.steps)
            await context.progress(step, given.steps, f"step {step} of {given.steps}")
        if not given.steps:
            await asyncio.sleep(given.seconds)
        for path, text in given.files.items():
            await context.write(path, text.encode("utf-8", "replace"), output=given.output)
        digest = hashlib.sha256(given.model_dump_json().encode()).hexdigest()
        line = EchoLine(tool=self.name, input_sha256=digest, files=sorted(given.files), key=context.key)
        await asyncio.to_thread(self._log, line.model_dump_json() + "\n")
        return self._outcome(given)

    def _log(self, line: str) -> None:
        self._data.mkdir(parents=True, exist_ok=True)
        with (self._data / EFFECTS).open("a+", encoding="utf-8") as log:
            log.seek(0)
            if line not in log:
                log.write(line)

    def _outcome(self, given: EchoJobInput) -> Outcome:
        if given.fail:
            message = given.fail if isinstance(given.fail, str) else "The job was told to fail."
            return Outcome(error=("echo_failed", message))
        data = {"steps": given.steps, "files": sorted(given.files)}
        said = f"{given.steps} steps, {len(given.files)} files"
        return Outcome(content=[{"type": "text", "text": said}], data=data, inline=not given.files)
