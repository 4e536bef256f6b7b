"""The notebooks run from top to bottom on a fresh machine, and show what is stored in them."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path

import nbformat
import pytest

from docs import notebooks

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
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


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_it_runs_from_top_to_bottom_and_shows_what_is_stored(path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    with notebooks.fresh_service() as env:
        ran = notebooks.run(path, env)
    for cell, before in zip(ran.cells, stored.cells, strict=True):
        outputs = cell.get("outputs", [])
        assert len(outputs) <= 1, f"more than one output: {cell.source}"
        assert "widget" not in str(outputs)
        assert shown(cell) == shown(before), cell.source
