"""Questions asked of the offline agent, over files in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from agentsvc_nb.agents import choose
from agentsvc_nb.wire.runs import AnswerBasis
from tests.unit.service.agents_harness import MemoryRunContext, MemoryWorkspace


def ask(question: str, files: Mapping[str, str | bytes], folder: Path) -> MemoryRunContext:
    """Return the turn after the answer. Tables are read in this process."""
    turn = MemoryRunContext(question, MemoryWorkspace(folder / "chat", files))
    asyncio.run(choose("offline").run(turn))
    return turn


def basis(turn: MemoryRunContext) -> AnswerBasis:
    (told,) = turn.of("basis")
    assert isinstance(told, AnswerBasis)
    return told
