"""A table that takes too long to read: the answer says so, and never that nothing was found."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from agentsvc_nb.agents import choose
from agentsvc_nb.documents.engine import process
from agentsvc_nb.documents.engine.process import TableProcess
from agentsvc_nb.service.runner.workspace import ChatTables
from tests.service.agents_harness import MemoryRunContext, MemoryWorkspace

COSTS = "Kanal;Kosten\nMeta;1,50\nSuche;2,25\n"


def asked(question: str, files: Mapping[str, str | bytes], folder: Path) -> MemoryRunContext:
    """The turn, with the real process of tables."""
    workspace = MemoryWorkspace(folder / "chat", files)
    tables = TableProcess(folder / "kept")
    tables.start()
    workspace.tables = ChatTables(workspace.list, workspace._content, tables)
    turn = MemoryRunContext(question, workspace)
    try:
        asyncio.run(choose("offline").run(turn))
    finally:
        tables.close()
    return turn


@pytest.mark.parametrize("question", ["Summe Kosten by Kanal", "Summe Kosten by Kanal in kosten.csv"])
def test_it_is_said_that_the_table_took_too_long(
    question: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "PATIENCE_SECONDS", 0.0)
    turn = asked(question, {"kosten.csv": COSTS}, tmp_path)
    assert "took too long" in turn.said
    assert "fewer rows" in turn.said
    assert "nothing found" not in turn.said
    assert [said.headline for said in turn.of("basis")] == [None]


def test_texts_beside_it_still_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "PATIENCE_SECONDS", 0.0)
    files: dict[str, str | bytes] = {
        "kosten.csv": COSTS,
        "brief.md": "# Brief\n\nThe audience is students who commute by bike.\n",
    }
    turn = asked("Who is the audience?", files, tmp_path)
    assert "students who commute" in turn.said
    turn = asked("Summe Kosten by Kanal", files, tmp_path / "other")
    assert "took too long" in turn.said
    assert "nothing found" not in turn.said
