"""Serves as `agentsvc serve` does, but dies at a named point, has tools with effects, and logs the turns of its agent.

    python -m tests.faults.launcher --data DIR --port 0 [--point "in runs.claim 1"] [--set database=postgresql://...]

The product has no switch for this: the engines are arguments of `create_app`, like the agent.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import uuid
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from pydantic import BaseModel

from agentsvc_nb import __version__, clock
from agentsvc_nb.agents import choose
from agentsvc_nb.agents.port import Agent, RunContext
from agentsvc_nb.service import app
from agentsvc_nb.service.app import Engines, create_app
from agentsvc_nb.service.disk import write_private
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.keyring import ensure_own_key
from agentsvc_nb.service.runner.storage import ServiceClock
from agentsvc_nb.service.server import bind, origin, run
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools import catalog
from agentsvc_nb.tools.port import Complete, Outcome, Tool, ToolContext
from tests.faults.engines import FaultyBlobs, FaultyDatabase, MovableClock, Point, die

STAMPS: Final = "stamps.log"
TURNS: Final = "turns.log"
SLOW_TO_STOP_SECONDS: Final = 0.3


class StampInput(BaseModel):
    line: str
    dies: Literal["before", "after"] | None = None


class Stamp(Tool):
    """Adds a line to a file; on the first call with `dies` it kills the service `before` or `after` that."""

    name: ClassVar[str] = "stamp"
    description: ClassVar[str] = "Adds a line to a file, as a mail would be sent."
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
        self._die_once("before", given)
        with (self.data / STAMPS).open("a") as log:
            log.write(f"{given.line} {context.key}\n")
        self._die_once("after", given)
        return Outcome(content=[{"type": "text", "text": f"stamped {given.line}"}])

    def _die_once(self, moment: str, given: StampInput) -> None:
        died = self.data / "died"
        if given.dies == moment and not died.exists():
            died.touch()
            die()


class Post(Stamp):
    """`Stamp` as an asynchronous tool, which runs as a job."""

    name: ClassVar[str] = "post"
    asynchronous: ClassVar[bool] = True


class Look(Stamp):
    """`Stamp` as a tool that declares no effect."""

    name: ClassVar[str] = "look"
    effect: ClassVar[bool] = False


class TurnLog:
    """Wraps an agent and logs when each turn begins and when it has really stopped; a cancelled turn stops late."""

    def __init__(self, agent: Agent, data: Path) -> None:
        self._agent, self._log = agent, data / TURNS

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
        with self._log.open("a") as log:
            log.write(f"{moment} {turn.message.splitlines()[0]}\n")


def tools(settings: Settings, complete: Complete | None = None) -> dict[str, Tool]:
    more: list[Tool] = [kind(settings.data) for kind in (Stamp, Post, Look)]
    return {**catalog.tools(settings, complete), **{tool.name: tool for tool in more}}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--point", default="never never 0")
    parser.add_argument("--set", action="append", default=[])
    given = parser.parse_args()
    settings = Settings.from_env({}, data=given.data, model="scripted", **dict(one.split("=", 1) for one in given.set))
    folder = DataFolder(settings.data, settings.database, settings.shared_secret)
    folder.make()
    database: Any = FaultyDatabase(folder, Point.parse(given.point))
    blobs = FaultyBlobs(folder.path / "blobs", Point.parse(given.point))
    app.tools = tools  # type: ignore[attr-defined]
    with folder.hold(), bind("127.0.0.1", given.port) as listening:
        ensure_own_key(folder)
        base_url = origin("127.0.0.1", listening.getsockname()[1])
        service = create_app(
            settings,
            instance=str(uuid.uuid4()),
            origin=base_url,
            agent=TurnLog(choose("scripted"), settings.data),
            engines=Engines(database, blobs, ServiceClock()),
        )
        ready = {"pid": os.getpid(), "base_url": base_url, "version": __version__}
        with clock.use_clock(MovableClock(folder.path)):
            run(service, listening, lambda: write_private(folder.ready, json.dumps(ready)))


if __name__ == "__main__":
    main()
