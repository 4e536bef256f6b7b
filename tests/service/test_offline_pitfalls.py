"""Questions of tables in which a word is easily lost: most are answered, and none is answered wrong."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agentsvc_nb.agents import choose
from agentsvc_nb.agents.offline.writing import RESULTS
from tests.bench.quality.judge import right
from tests.bench.quality.questions import FILES, pitfalls
from tests.service.agents_harness import MemoryRunContext, MemoryWorkspace

ANSWERED_MIN = 26


def test_of_the_pitfalls_most_are_answered_and_none_is_answered_wrong(tmp_path: Path) -> None:
    workspace = MemoryWorkspace(tmp_path, {path.name: path.read_text("utf-8") for path in FILES.glob("*.csv")})
    wrong, good = [], 0
    for one in pitfalls():
        turn = MemoryRunContext(one.question, workspace)
        asyncio.run(choose("offline").run(turn))
        [said] = turn.of("basis")
        fine = right(one, turn.said)
        good += fine
        if said.basis in RESULTS and not fine:
            wrong.append(one.id)
    assert wrong == []
    assert good >= ANSWERED_MIN
