"""Define `run_python`, a tool that runs Python programs on the chat's files in a sandbox (docs/decisions/15)."""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from functools import partial
from typing import ClassVar, Final

from pydantic import BaseModel, Field

from agentsvc_nb.documents import media_types
from agentsvc_nb.tools.port import LABELS, LABELS_MAX, BaseTool, Outcome, ToolContext, ToolServices, WorkFailure
from agentsvc_nb.tools.programs import confinement, running
from agentsvc_nb.tools.programs.confinement import PACKAGES, Confinement
from agentsvc_nb.tools.programs.running import NEW_ATTEMPT, InputFile, Interpreter, Program, ProgramResult
from agentsvc_nb.tools.workspace_port import WorkspaceEntry

SHOWN_MAX: Final = 50
SHOWN_BYTES: Final = 500_000_000
SECONDS: Final = 60
SECONDS_MAX: Final = 300
AT_ONCE: Final = min(max((os.cpu_count() or 1) // 2, 1), 4)
"""The maximum number of programs that run at the same time. Further programs wait."""
MESSAGE_KEPT: Final = 8_000
_BOUNDS: Final = {
    "time": "It was stopped after {seconds} s. Compute less, or increase `seconds`.",
    "memory": f"It was stopped: its processes together used more than {running.MEMORY_BYTES / 1000000000.0:g} GB of "
    "memory.",
    "processes": f"It was stopped: it started more than {running.PROCESSES_MAX} processes.",
    "files": f"It was stopped: it created more than {running.FILES_MAX:,} files.",
    "printed": f"It was stopped: it printed more than {running.PRINTED_MAX / 1000000.0:g} MB. Write it to a file.",
    "lost": "Its sandbox ended unexpectedly.",
}


class RunPythonInput(BaseModel):
    code: str = Field(
        min_length=1,
        max_length=100_000,
        description="The program. You see what it prints, and the value of its last expression.",
    )
    seconds: int = Field(default=SECONDS, ge=1, le=SECONDS_MAX, description="The time limit in seconds.")
    labels: list[str] = Field(default_factory=list, max_length=LABELS_MAX, description=LABELS)


class RunPython(BaseTool):
    name: ClassVar[str] = "run_python"
    description: ClassVar[str] = (
        f"Runs Python with {', '.join(PACKAGES.values())}, without a network, for what SQL does not do: statistics, "
        "charts, workbooks, documents, cleaning data. The chat's files are in its working folder under their paths "
        "(`uploads/sales.csv`). Files that it writes there become files of the chat. Variables stay for this turn. If "
        "the last period of a chart or table is incomplete, say so in the title."
    )
    shows: ClassVar[bool] = True
    keeps_state: ClassVar[bool] = True
    Input: ClassVar[type[BaseModel]] = RunPythonInput

    def __init__(self, services: ToolServices) -> None:
        super().__init__(services)
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._idle: dict[Interpreter, asyncio.Task[None]] = {}

    def available(self) -> bool:
        return confinement.missing_requirement() is None

    async def run(self, given: RunPythonInput, task: ToolContext) -> Outcome:
        # In a thread, because the first check starts a sandbox.
        if lacking := await asyncio.to_thread(confinement.missing_requirement):
            raise WorkFailure("not_configured", lacking)
        async with self._turn:
            fonts = await asyncio.to_thread(confinement.font_list)

            def opened(called_before: bool) -> AbstractAsyncContextManager[Interpreter]:
                return aclosing(Interpreter(self._idle, Confinement(fonts), NEW_ATTEMPT if called_before else ""))

            interpreter = await task.keep_open(self.name, opened)
            every = await task.workspace.list()
            shown = _choose_files(every, given.code)
            files = [
                InputFile(one.path, one.size_bytes, one.sha256, partial(task.workspace.open, one.path)) for one in shown
            ]
            written = _WrittenFiles(task)
            program = Program(given.code, given.seconds, files)
            ending = await interpreter.run(program, written.keep)
        notes = [f"The variables of earlier programs are gone: {ending.gone}."] if ending.gone else []
        if missing := len(every) - len(shown):  # say so, because the program may have needed them
            notes.append(f"{missing:,} files of the chat were not loaded. Name the needed files in the code.")
        notes += written.notes(ending.left_out)
        printed = ending.printed.strip()
        if ending.how == "exit" and ending.code == 0:
            text = "\n\n".join(filter(None, [printed, *notes]))
            return Outcome.from_text(text or "It printed nothing.", *written.pictures)
        code = "program_failed" if ending.how in ("exit", "lost", "printed") else "too_much_work"
        # Of long output, keep the end, because it contains the exception.
        message = "\n\n".join(filter(None, [_failure(ending, given.seconds), *notes, printed[-MESSAGE_KEPT:]]))
        return Outcome.from_text(message, *written.pictures).model_copy(update={"error": (code, message)})


class _WrittenFiles:
    """Stores in the chat's workspace the files that a program wrote, and remembers which of them it refused."""

    def __init__(self, task: ToolContext) -> None:
        self._task = task
        self._written: list[str] = []
        self._refused: list[str] = []
        self.pictures: list[dict[str, str]] = []

    async def keep(self, path: str, data: bytes) -> None:
        if media_types.safe_path(path) is None:
            self._refused.append(f"{path!r} is not a valid file name, so the file was not saved.")
            return
        media_type = media_types.guess(path, data[: media_types.HEAD_BYTES])
        picture = media_type.startswith("image/")
        mark = f"chart_{hashlib.sha256(data).hexdigest()[:16]}"
        try:
            await self._task.write(path, data, output=(mark, "chart") if picture else None)
        except WorkFailure as failure:
            if failure.code != "file_protected":
                raise
            self._refused.append(failure.message)
            return
        self._written.append(path)
        if picture:
            self.pictures.append({"type": "image", "path": path, "media_type": media_type})

    def notes(self, left_out: int) -> list[str]:
        lines = [f"Files written: {', '.join(self._written)}."] if self._written else []
        if left_out:
            lines.append(f"{left_out} more files were not saved: they are too many or too large.")
        return [*lines, *self._refused]


def _choose_files(entries: Sequence[WorkspaceEntry], code: str) -> list[WorkspaceEntry]:
    """Return the files to load for a program, up to a maximum number and total size.

    Files whose names occur in the program's source come first.
    """
    found: list[WorkspaceEntry] = []
    room = SHOWN_BYTES
    for entry in sorted(entries, key=lambda entry: entry.path.rpartition("/")[2] not in code):
        if len(found) < SHOWN_MAX and entry.size_bytes <= room:
            found.append(entry)
            room -= entry.size_bytes
    return found


def _failure(ending: ProgramResult, seconds: int) -> str:
    if ending.how != "exit":
        return "The program did not end by itself. " + _BOUNDS[ending.how].format(seconds=seconds)
    version = f" It is Python {platform.python_version()}." if "SyntaxError: " in ending.printed[-MESSAGE_KEPT:] else ""
    return f"The program ended with exit code {ending.code}.{version}"
