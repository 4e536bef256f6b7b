"""The page is loaded again while a cell asks: what was saved says how to go on, and the cell goes on with its run."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Place
from tests.waiting import until

pytestmark = pytest.mark.browser

CELLS = ["%load_ext agentsvc_nb", "%%ask\nsay so far\nsay\nwait 25\nsay the end"]


def test_a_cell_that_was_running_says_how_to_go_on_and_does(place: Place) -> None:
    notebook = place.lab.open("reload.ipynb", CELLS)
    notebook.run_all()
    until(lambda: "so far" in notebook.output(1) and "Run this cell again" in notebook.output(1))
    notebook.save()
    notebook.reload()
    assert "Run this cell again" in notebook.output(1)
    notebook.run(1)
    until(lambda: "the end" in notebook.output(1) and "completed" in notebook.output(1))
    assert "Shown again, not asked again" in notebook.output(1)
    assert place.count() == 1, "it went on with its run, and began no other"
    notebook.page.close()
