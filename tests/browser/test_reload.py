"""The page is loaded again while a cell asks: the cell goes on with its run, by itself with the extension."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Place, placed
from tests.support.waiting import until

CELLS = ["%load_ext agentsvc_nb", "%%ask\nsay so far\nsay\nwait 25\nsay the end"]


def test_without_the_extension_a_cell_says_how_to_go_on_and_does(tmp_path_factory: pytest.TempPathFactory) -> None:
    for place in placed(tmp_path_factory, "lab", extension=False):
        _says_how_to_go_on(place)


def _says_how_to_go_on(place: Place) -> None:
    notebook = place.lab.open("reload.ipynb", CELLS)
    notebook.run_all()
    until(lambda: "so far" in notebook.output(1) and "Run this cell again" in notebook.output(1))
    notebook.save()
    notebook.reload()
    assert "Run this cell again" in notebook.output(1)
    notebook.run(1)
    until(lambda: "the end" in notebook.output(1) and "Shown again, not asked again" in notebook.output(1))
    assert place.count() == 1, "it went on with its run, and began no other"
    notebook.page.close()


def test_with_the_extension_it_goes_on_by_itself_and_so_do_the_cells_after_it(place: Place) -> None:
    cells = [*CELLS[:1], "%%ask\nsay so far\nsay\nwait 25\nsay the end", "%%ask\nsay next\nwait 3\nsay after"]
    notebook = place.lab.open("goes_on.ipynb", [*cells, "1 + 1"])
    notebook.run_all()
    until(lambda: "so far" in notebook.output(1))
    notebook.reload()
    until(lambda: "so far" in notebook.output(1) and "running" in notebook.output(1))
    until(lambda: "after" in notebook.output(2))
    assert notebook.output(1).count("so far") == notebook.output(1).count("the end") == 1
    assert "completed" in notebook.output(1)
    until(lambda: [prompt.strip() for prompt in notebook.prompts()[1:3]] == ["[2]:", "[3]:"])
    assert place.count() == 2
    saved = notebook.save()["cells"][1]
    assert len(saved["outputs"]) == 1
    assert "transient" not in saved["outputs"][0]
    notebook.page.close()
