"""Instruments inside the service under test: an agent that logs its turns, a database that simulates late workers."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from agentsvc_nb.agents.port import Agent, RunContext
from agentsvc_nb.service.ports import Row, Tx
from agentsvc_nb.service.runs import event_records
from agentsvc_nb.service.runs import runs as run_usecases
from agentsvc_nb.service.runs.run_records import Ending
from tests.faults.engines import WatchedTx, WrappedDatabase

T = TypeVar("T")
LATE: Final = "a late worker's words"
TURNS: Final = "turns.log"
SLOW_TO_STOP_SECONDS: Final = 0.1


class HistoryChecker:
    """Wraps an agent and logs when each turn begins and when it has really stopped; a cancelled turn stops late."""

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


class LateWritersDatabase(WrappedDatabase):
    """Simulates late workers, whose writes the service must refuse.

    After each takeover of a run the previous attempt writes an event and ends the run; after each end of a run the
    ended attempt does the same.
    """

    async def write(self, use: Callable[[Any], T], *, long: bool = False) -> T:
        late: list[tuple[str, int]] = []

        def passed(name: str, row: Row | None) -> None:
            if row is not None and name in ("runs.resume", "runs.finish"):
                late.append((row["run_id"], row["attempt"] - (name == "runs.resume")))

        result = await super().write(lambda tx: use(WatchedTx(tx, passed)), long=long)
        for run_id, attempt in late:
            await super().write(lambda tx, run_id=run_id, attempt=attempt: _write_late(tx, run_id, attempt))  # type: ignore[misc]
        return result


def _write_late(tx: Tx, run_id: str, attempt: int) -> None:
    event_records.append(tx, run_id, attempt, "text.delta", {"text": LATE}, 0)
    run_usecases.end(tx, run_id, attempt, Ending("completed", output=LATE), "", 0)
