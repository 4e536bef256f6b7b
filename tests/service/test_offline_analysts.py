"""Questions as analysts and marketers type them, each of one table: most are answered, and none is answered wrong."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.agents import choose
from agentsvc_nb.agents.offline.writing import RESULTS
from tests.bench.quality.questions import FOLDER
from tests.service.agents_harness import MemoryRunContext, MemoryWorkspace

_NEAR: Final = 0.005
ANSWERED_MIN: Final = 74
ASKED: Final[list[dict[str, Any]]] = json.loads((FOLDER / "analysts.json").read_text("utf-8"))


def _is_right(one: dict[str, Any], shown: str, headline: str) -> bool:
    """Whether the golds are shown: numbers to half a percent, whole ones exactly; a quotient without a currency."""
    numbers = [float(found.replace(",", "")) for found in re.findall(r"-?\d[\d,]*(?:\.\d+)?", shown)]

    def is_there(gold: str | float) -> bool:
        if isinstance(gold, str):
            return gold in shown
        near = 0 if isinstance(gold, int) else _NEAR * abs(gold)
        return any(abs(number - gold) <= near for number in numbers)

    found = [is_there(gold) for gold in one["gold"]]
    has_unit = "unit" in one and re.search(r"EUR|€|\$", headline.rpartition(":")[2]) is not None
    return bool(found) and (any(found) if one["kind"] == "any" else all(found)) and not has_unit


def test_of_the_questions_of_analysts_none_is_answered_wrong(tmp_path: Path) -> None:
    wrong, good = [], 0
    for place, one in enumerate(ASKED):
        text = (FOLDER / "analysts" / one["file"]).read_text("utf-8")
        workspace = MemoryWorkspace(tmp_path / str(place), {one["file"]: text})
        turn = MemoryRunContext(one["question"], workspace)
        asyncio.run(choose("offline").run(turn))
        [said] = turn.of("basis")
        if said.basis not in RESULTS:
            good += one["kind"] == "nothing"
        elif _is_right(one, f"{said.headline} {' '.join(said.values)} {turn.said}", said.headline or ""):
            good += 1
        else:
            wrong.append(f"{one['question']} -> {said.headline}")
    assert wrong == []
    assert good >= ANSWERED_MIN
