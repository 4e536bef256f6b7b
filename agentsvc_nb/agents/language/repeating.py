"""Calls of a tool that a model makes again and again with the same input (docs/models.md)."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.tools.port import Outcome, WorkFailure

TOLD_AT: Final = 3
ENDED_AT: Final = 6
_TOLD: Final = (
    f"You made this call {{count}} times with the same input, while no file changed. What it answers is below: use "
    f"it, or do something else. At the {ENDED_AT}th time the run ends.\n\n"
)


@dataclass
class _Made:
    """How often a call was made, and what it answered if it did not fail."""

    count: int = 0
    outcome: Outcome | None = None
    under_way: asyncio.Lock = field(default_factory=asyncio.Lock)


class Repetition:
    """The calls of one run, while its files are the same: a change of any, or a call with an effect or of a tool that
    keeps state, makes each other call a new one."""

    def __init__(self, turn: RunContext) -> None:
        self._turn = turn
        self._made: dict[str, _Made] = {}
        self._files = ""
        self._under_way = 0
        self._looking = asyncio.Lock()
        """Calls that are made together go on in their order."""

    async def outcome(
        self, name: str, given: dict[str, Any], call: Callable[[], Awaitable[Outcome]], *, anew: bool = False
    ) -> tuple[Outcome, str]:
        """The outcome of a call, and what the model is to be told before it. It is that of the same call before, if it
        did not fail, else that of `call`; with `anew` always that of `call`. Raises `WorkFailure("call_repeated")`."""
        async with self._looking:
            await self._look()
        made = self._made.setdefault(json.dumps([name, given], sort_keys=True), _Made())
        made.count += 1
        if made.count >= ENDED_AT:
            raise WorkFailure(
                "call_repeated",
                f"The model called {name} {made.count} times with the same input, while nothing changed.",
            )
        tool = next((each for each in self._turn.tools() if each.name == name), None)
        # A call that was made just before it may change what it reads.
        before = made.outcome if self._under_way and tool is not None and tool.reads(given) else None
        anew = anew or (tool is not None and tool.keeps_state)
        async with made.under_way:
            if made.outcome is None or made.outcome is before or anew:
                outcome = await self._counted(call)
                made.outcome = None if outcome.error else outcome
                if tool is not None and (tool.effect or tool.keeps_state):
                    self._forget_all_but(made)  # what it changed may be what another call answers from
                async with self._looking:
                    await self._look(keep=made)
            else:
                outcome = made.outcome
        if made.count < TOLD_AT:
            return outcome, ""
        await self._turn.warn("call_repeated", f"The model called {name} {made.count} times with the same input.")
        return outcome, _TOLD.format(count=made.count)

    async def _counted(self, call: Callable[[], Awaitable[Outcome]]) -> Outcome:
        self._under_way += 1
        try:
            return await call()
        finally:
            self._under_way -= 1

    async def _look(self, keep: _Made | None = None) -> None:
        """Forget all calls when a file was changed since the last look, but `keep`, the call that may have done it."""
        found = hashlib.sha256()
        for entry in await self._turn.workspace.list():
            found.update(f"{entry.path}\0{entry.sha256}\0".encode("utf-8", "replace"))
        files = found.hexdigest()
        if files != self._files:
            self._files = files
            self._forget_all_but(keep)

    def _forget_all_but(self, keep: _Made | None) -> None:
        self._made = {key: made for key, made in self._made.items() if made is keep}
