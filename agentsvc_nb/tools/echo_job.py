"""Define `echo_job`, a tool for tests that does what its input says. It exists only with the `scripted` model."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import ClassVar, Final

from pydantic import BaseModel, Field

from agentsvc_nb.tools.port import BaseTool, Outcome, ToolContext

EFFECTS: Final = "effects.log"


class EchoJobInput(BaseModel):
    steps: int = Field(default=1, ge=0, le=100_000, description="The number of steps to report.")
    seconds: float = Field(default=0, ge=0, allow_inf_nan=False, description="The job's duration in seconds.")
    files: dict[str, str] = Field(default_factory=dict, description="The texts of the files, by path.")
    output: tuple[str, str] | None = Field(default=None, description="The ID and type of the files' typed output.")
    fail: bool | str | None = Field(default=None, description="True or a message: fail at the end.")


class EchoJob(BaseTool):
    """Waits, reports progress after each step, writes the given files, and logs that it ran."""

    name: ClassVar[str] = "echo_job"
    description: ClassVar[str] = "For tests: reports progress in steps, writes the given files, and logs that it ran."
    family: ClassVar[str] = "echo"
    asynchronous: ClassVar[bool] = True
    effect: ClassVar[bool] = True
    repeatable: ClassVar[bool] = True
    scripted_only: ClassVar[bool] = True

    Input: ClassVar[type[BaseModel]] = EchoJobInput

    async def run(self, given: EchoJobInput, context: ToolContext) -> Outcome:
        for step in range(1, given.steps + 1):
            await asyncio.sleep(given.seconds / given.steps)
            await context.progress(step, given.steps, f"step {step} of {given.steps}")
        if not given.steps:
            await asyncio.sleep(given.seconds)
        for path, text in given.files.items():
            await context.write(path, text.encode("utf-8", "replace"), output=given.output)
        files = sorted(given.files)
        digest = hashlib.sha256(given.model_dump_json().encode()).hexdigest()
        line = {"tool": self.name, "input_sha256": digest, "files": files, "key": context.key}
        await asyncio.to_thread(self._log, json.dumps(line) + "\n")
        if given.fail:
            message = given.fail if isinstance(given.fail, str) else "The job failed, as its input requests."
            return Outcome(error=("echo_failed", message))
        content = [{"type": "text", "text": f"{given.steps} steps, {len(files)} files"}]
        return Outcome(content=content, data={"steps": given.steps, "files": files}, inline=not files)

    def _log(self, line: str) -> None:
        """Append the line to the log, unless an earlier execution of the same call has written it."""
        folder = self.services.settings.data
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / EFFECTS).open("a+", encoding="utf-8") as log:
            log.seek(0)
            if line not in log:
                log.write(line)
