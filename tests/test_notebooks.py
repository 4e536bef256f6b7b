"""The notebooks run from top to bottom on a fresh machine, and show what is stored in them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from docs import notebooks

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_it_runs_from_top_to_bottom(path: Path) -> None:
    with notebooks.fresh_service() as env:
        ran = notebooks.run(path, env)
    for cell in ran.cells:
        outputs = cell.get("outputs", [])
        assert len(outputs) <= 1, f"more than one output: {cell.source}"
        assert "widget" not in str(outputs)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_it_shows_what_is_stored(path: Path) -> None:
    nbval = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", "-p", "no:cacheprovider", "--nbval"]
    nbval += ["--nbval-current-env", "--nbval-sanitize-with", str(ROOT / "tests" / "notebooks-sanitize.cfg")]
    with notebooks.fresh_service() as env:
        ran = subprocess.run([*nbval, str(path)], env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-5000:] + ran.stderr[-2000:]
