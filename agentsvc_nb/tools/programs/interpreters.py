"""Python that keeps its variables from program to program of a run, and how long it may do so."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final

from agentsvc_nb.tools.programs.confinement import Confinement
from agentsvc_nb.tools.programs.running import Ending, Keep, Program, Sandbox, start

IDLE_SECONDS: Final = 600.0
"""How long variables are kept while no program runs: a run may wait for days for its user."""
IDLE_MAX: Final = 4
"""Interpreters that wait for their next program; further ones end the one that has waited longest."""
NEW_ATTEMPT: Final = "the run was interrupted, and goes on in a new process"
_LOST: Final = "their sandbox ended, or had no room for the chat's new files"
_ENDED: Final = {"exit": "the last program ended its process, or left others behind", "lost": _LOST}
_STOPPED: Final = "the last program was stopped at a limit"


class Interpreter:
    """Runs programs one after the other in a sandbox that keeps their variables. After the sandbox has ended, the next
    program gets a new one. `gone`: why there are no variables now, if there were some."""

    def __init__(self, confinement: Confinement, gone: str) -> None:
        self._confinement = confinement
        self._gone = gone
        self._sandbox: Sandbox | None = None

    @property
    def alive(self) -> bool:
        return self._sandbox is not None

    async def run(self, program: Program, keep: Keep) -> Ending:
        """Run the program; each file that it wrote or changed is given to `keep`."""
        ending = None
        try:
            if self._sandbox is not None and (ending := await self._sandbox.run(program, keep)) is None:
                await self.end(_LOST)
            if self._sandbox is None:
                gone = self._gone
                self._sandbox = await start(self._confinement, program.files)
                ending = await self._sandbox.run(program, keep) or Ending()
                ending.gone = gone
            assert ending is not None
            return ending
        finally:
            if ending is None or not ending.alive:
                await self.end(_ENDED.get(ending.how, _STOPPED) if ending else _LOST)

    async def end(self, why: str) -> None:
        """End the sandbox, if there is one. The next result says why the variables are gone."""
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            self._gone = why
            await sandbox.close()


class Interpreters:
    """The interpreters of all runs of this process."""

    def __init__(self) -> None:
        self._idle: dict[Interpreter, asyncio.Task[None]] = {}
        """Those that have variables and no program now, the oldest first, with what ends them later."""

    @contextlib.asynccontextmanager
    async def opened(self, confinement: Confinement, gone: str) -> AsyncIterator[Interpreter]:
        """An interpreter that ends with this context."""
        interpreter = Interpreter(confinement, gone)
        try:
            yield interpreter
        finally:
            self._wake(interpreter)
            await interpreter.end("the run has ended")

    async def run(self, interpreter: Interpreter, program: Program, keep: Keep) -> Ending:
        self._wake(interpreter)
        try:
            return await interpreter.run(program, keep)
        finally:
            if interpreter.alive:
                self._idle[interpreter] = asyncio.create_task(self._end_later(interpreter))
            if len(self._idle) > IDLE_MAX:
                oldest = next(iter(self._idle))
                self._wake(oldest)
                await oldest.end("other runs needed the memory")

    def _wake(self, interpreter: Interpreter) -> None:
        if task := self._idle.pop(interpreter, None):
            task.cancel()

    async def _end_later(self, interpreter: Interpreter) -> None:
        await asyncio.sleep(IDLE_SECONDS)
        del self._idle[interpreter]
        await interpreter.end(f"no program used them for {IDLE_SECONDS / 60:g} minutes")
