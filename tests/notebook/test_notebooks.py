"""The notebooks run from top to bottom on a fresh machine, and show what is stored in them; what the stories among them
make is right."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path

import nbformat
import pytest

from docs import notebooks
from tests.notebook.stories import CHECKS, Story

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
EACH_TIME = ("quickstart", "ad-export", "structured-output", "errors-and-limits")
"""The others run in CI (`tests/docs`)."""
STORY_CELLS = 15
COMPARED = ("text", "ename", "evalue")


def differing() -> list[tuple[str, str]]:
    """What differs from run to run, and what stands for it: the file is in nbval's format, which users can take."""
    sections = ConfigParser(interpolation=None)
    sections.read(Path(__file__).with_name("notebooks-sanitize.cfg"))
    return [(sections[name]["regex"], sections[name]["replace"]) for name in sections.sections()]


def shown(cell: nbformat.NotebookNode) -> list[dict[str, str]]:
    """What a cell shows, by type, without what differs from run to run."""
    found = []
    for output in cell.get("outputs", []):
        parts = {name: output[name] for name in COMPARED if name in output} | dict(output.get("data", {}))
        for pattern, stand_in in differing():
            parts = {kind: re.sub(pattern, stand_in, str(part)) for kind, part in parts.items()}
        found.append(parts)
    return found


def runs_and_shows_what_is_stored(path: Path, folder: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    with notebooks.fresh_service() as env:
        ran = notebooks.run(path, env, folder)
    for cell, before in zip(ran.cells, stored.cells, strict=True):
        outputs = cell.get("outputs", [])
        assert len(outputs) <= 1, f"more than one output: {cell.source}"
        assert "widget" not in str(outputs)
        assert shown(cell) == shown(before), cell.source
    if check := CHECKS.get(path.stem):
        check(Story(ran, folder))


@pytest.mark.parametrize("path", [path for path in NOTEBOOKS if path.stem in EACH_TIME], ids=lambda path: path.name)
def test_it_runs_from_top_to_bottom_and_shows_what_is_stored(path: Path, tmp_path: Path) -> None:
    runs_and_shows_what_is_stored(path, tmp_path / "notebooks")


@pytest.mark.parametrize("name", CHECKS)
def test_a_story_is_short_and_its_questions_are_plain(name: str) -> None:
    """No script in a cell: what the recording has to do stands in its file, which the story names."""
    cells = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4).cells
    assert len(cells) <= STORY_CELLS
    assert f"data/{name}.txt" in cells[0].source
    asked = [cell.source.partition("\n")[2] for cell in cells if cell.source.startswith("%%ask")]
    assert asked
    assert not [text for text in asked if re.search(r"^(say|write|call|answer|step) ", text, re.M)]
