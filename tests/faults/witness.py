"""What a fault test wants to see from inside: who worked when, and whether a late worker is heard."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from agentsvc_nb.agents.port import Agent, RunContext
from agentsvc_nb.service.ports import Row, Tx
from agentsvc_nb.service.records import runs
from agentsvc_nb.service.records.runs import Ending
from agentsvc_nb.service.store.sqlite import SqliteDatabase
from agentsvc_nb.service.usecases import runs as run_usecases
from tests.faults.engines import WatchedTx

T = TypeVar("T")
LATE: Final = "a late worker's words"
TURNS: Final = "turns.log"
SLOW_TO_STOP_SECONDS: Final = 0.1


class Witness:
    """An agent that writes down when it begins and when it has really stopped, for which it takes its time."""

    def __init__(self, agent: Agent, data: Path) -> None:
        self._agent = agent
        self._log = data / TURNS

    async def run(self, turn: RunContext) -> str | None:
        self._note("begin", turn)
        try:
            return await self._agent.run(turn)
        except asyncio.CancelledError:
            await asyncio.sleep(SLOW_TO_STOP_SECONDS)
            raise
        finally:
            self._note("end", turn)

    def _note(self, moment: str, turn: RunContext) -> None:
        line = {"pid": os.getpid(), "moment": moment, "message": turn.message}
        with self._log.open("a") as log:
            log.write(json.dumps(line) + "\n")


class HauntedDatabase(SqliteDatabase):
    """Whenever a run was taken over, the attempt before it writes late; whenever one ended, it is ended once more."""

    async def write(self, use: Callable[[Tx], T], *, long: bool = False) -> T:
        late: list[tuple[str, int]] = []

        def passed(name: str, row: Row | None) -> None:
            if row is not None and name in ("runs.resume", "runs.finish"):
                late.append((row["run_id"], row["attempt"] - (name == "runs.resume")))

        result = await super().write(lambda tx: use(WatchedTx(tx, passed)), long=long)
        for run_id, attempt in late:
            await super().write(lambda tx, run_id=run_id, attempt=attempt: _haunt(tx, run_id, attempt))  # type: ignore[misc]
        return result


def _haunt(tx: Tx, run_id: str, attempt: int) -> None:
    runs.append(tx, run_id, attempt, "text.delta", {"text": LATE}, 0)
    run_usecases.end(tx, run_id, attempt, Ending("completed", output=LATE), "", 0)
