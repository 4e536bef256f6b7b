"""The service goes away in mid-run and nothing brings it back: what the reader saw stays, with what to do."""

from __future__ import annotations

import json

from tests.browser.conftest import Place
from tests.support.losing import lose_for_good
from tests.support.waiting import until

LINES = "\n".join(f"say Line {number} of *many*.\nsay\nwait 0.05" for number in range(40))
CELLS = [
    "%load_ext agentsvc_nb",
    f"%%ask --bg --new-chat\n{LINES}\nwait 600",
    f"%%ask\n{LINES}\nwait 600",
]


def test_what_was_said_stays_in_its_cells(place: Place) -> None:
    notebook = place.lab.open("lost.ipynb", CELLS)
    notebook.run_all()
    until(lambda: "Line 39" in notebook.output(1) and "Line 39" in notebook.output(2))
    lose_for_good(place.data)
    notebook.wait_idle()
    until(lambda: "went away" in notebook.output(1))
    for cell in (1, 2):
        shown = notebook.output(cell)
        assert [shown.count(f"Line {number} of many.") for number in range(40)] == [1] * 40
        assert "The service went away before run " in shown
        assert "%runs attach " in shown
    assert "Traceback" not in notebook.output(2)
    saved = json.dumps(notebook.save())
    assert saved.count("<p>Line 39 of <em>many</em>.</p>") == 2, "it is in the saved notebook, once a cell"
    notebook.page.close()
