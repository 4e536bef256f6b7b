"""Run a tool of the catalog as a job would, without a service around it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.catalog import tools
from agentsvc_nb.tools.port import Outcome, Tool, WorkFailure
from tests.unit.service.agents_harness import MemoryToolContext, MemoryWorkspace


def made(folder: Path, name: str, **settings: Any) -> Tool:
    """A tool as these settings (texts, as a user writes them) make it."""
    return tools(Settings.from_env({}, data=folder / "data", **settings))[name]


def task(folder: Path, files: dict[str, str | bytes] | None = None) -> MemoryToolContext:
    return MemoryToolContext(MemoryWorkspace(folder / "chat", files))


def call(tool: Tool, task: MemoryToolContext, **given: Any) -> Outcome:
    """Its outcome, also of a failure; `data` is as the catalog describes it."""
    try:
        outcome = asyncio.run(tool.run(tool.Input.model_validate(given), task))
    except WorkFailure as failure:
        return Outcome(error=(failure.code, failure.message))
    if outcome.data is not None and tool.Output is not None:
        tool.Output.model_validate(outcome.data)
    return outcome
