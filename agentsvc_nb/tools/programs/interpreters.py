"""Python that keeps its variables from program to program of a run, and how long it may do so."""

from __future__ import annotations

import asyncio
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
    program gets a new one.

    Args:
        idle: the interpreters of this process that have variables and no program now, the oldest first, with the tasks
            that end them later.
        gone: why there are no variables now, if there were some.
    """

    def __init__(self, idle: dict[Interpreter, asyncio.Task[None]], confinement: Confinement, gone: str = "") -> None:
        self._idle = idle
        self._confinement = confinement
        self._gone = gone
        self._sandbox: Sandbox | None = None

    async def run(self, program: Program, keep: Keep) -> Ending:
        """Run the program; each file that it wrote or changed is given to `keep`."""
        self._stop_waiting()
        ending = None
        try:
            if self._sandbox is not None and (ending := await self._sandbox.run(program, keep)) is None:
                await self._end(_LOST)
            if ending is None:
                self._sandbox = await start(self._confinement, program.files)
                ending = await self._sandbox.run(program, keep) or Ending()
                ending.gone = self._gone
            return ending
        finally:
            if ending is None or not ending.alive:
                await self._end(_ENDED.get(ending.how, _STOPPED) if ending else _LOST)
            else:
                self._idle[self] = asyncio.create_task(self._end_later())
            if len(self._idle) > IDLE_MAX:
                await next(iter(self._idle))._end("other runs needed the memory")

    async def aclose(self) -> None:
        """End the sandbox, if there is one."""
        await self._end("the run has ended")

    async def _end(self, why: str) -> None:
        """End the sandbox. The next result says why the variables are gone."""
        self._stop_waiting()
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            self._gone = why
            await sandbox.close()

    def _stop_waiting(self) -> None:
        if task := self._idle.pop(self, None):
            task.cancel()

    async def _end_later(self) -> None:
        await asyncio.sleep(IDLE_SECONDS)
        del self._idle[self]  # `_end` must not cancel this task
        await self._end(f"no program used them for {IDLE_SECONDS / 60:g} minutes")
