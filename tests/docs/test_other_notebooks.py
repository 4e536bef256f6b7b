"""Each notebook that `tests/notebook` leaves out runs from top to bottom, and shows what is stored in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.notebook.test_notebooks import EACH_TIME, NOTEBOOKS, runs_and_shows_what_is_stored


@pytest.mark.parametrize("path", [path for path in NOTEBOOKS if path.stem not in EACH_TIME], ids=lambda path: path.name)
def test_it_shows_what_is_stored(path: Path, tmp_path: Path) -> None:
    runs_and_shows_what_is_stored(path, tmp_path / "notebooks")
