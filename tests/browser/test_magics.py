"""The other magics in JupyterLab and Notebook 7: tables, pictures, bars, short errors; nothing is fetched."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import APPS, Place, placed
from tests.browser.gallery import enlarge_and_close, open_the_first
from tests.support.waiting import until

CELLS = [
    "%load_ext agentsvc_nb",
    "%%ask\nsay The autumn plan\nusage 3000 1200\nwrite out/plan.md # Autumn",
    "%runs",
    '%%job create_images\nrequest.brief: Autumn sale\nrequest.outputs: {"mode": "count", "count": 2}',
    "%files gallery",
    "%files browse",
    "%files preview out/plan.md",
    "%search autumn",
    "%tools",
    "%tools form ask_stefanbrain",
    "%%tool ask_stefanbrain\nmessage: say <img src=x onerror=alert(1)> **you**",
    "%%job echo_job --bg\nsteps: 10\nseconds: 4",
    "%%job echo_job --bg\nsteps: 10\nseconds: 6",
    "%jobs watch",
    '%feedback send "The search is slow"',
    "%feedback",
    '%%ask --bg\ncall echo_job {"steps": 0, "seconds": 0}\nsay done',
    "import time; ask = get_ipython().run_line_magic\n"
    "while not len(calls := ask('approve', '')): time.sleep(0.1)\n"
    "call = calls['call_id'][0]",
    "%approve {{call}}",
    "%agentsvc",
    "%runs show nothing",
]
SILENT, CLICKABLE = ("%load_ext", "import"), ("%files gallery", "%files browse", "%tools form")
WATCH, ERROR = CELLS.index("%jobs watch"), len(CELLS) - 1
GALLERY, BROWSE = CELLS.index("%files gallery"), CELLS.index("%files browse")
FORM = CELLS.index("%tools form ask_stefanbrain")
TOOL = next(number for number, cell in enumerate(CELLS) if cell.startswith("%%tool"))


def _outputs(cell: str) -> int:
    """A widget has a static line before it; a form, also the place of its answer below."""
    return 0 if cell.startswith(SILENT) else 1 + cell.startswith(CLICKABLE) + cell.startswith("%tools form")


@pytest.fixture(scope="module", params=APPS)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    yield from placed(tmp_path_factory, request.param, AGENTSVC_APPROVE_EFFECTS="yes")


def test_every_magic_leaves_one_static_output_and_fetches_nothing(place: Place) -> None:
    notebook = place.lab.open("magics.ipynb", CELLS)
    at_load = [*notebook.errors]
    for cell in range(len(CELLS)):
        notebook.run(cell)
        if cell == WATCH:
            until(lambda: notebook.output(WATCH).count("running") == 2)
        notebook.wait_idle()
    cells = notebook.page.locator(".jp-CodeCell")
    assert "1 run, 0.42 cents in all" in notebook.output(2)
    _a_picture_is_opened_and_left(cells.nth(GALLERY))
    cells.nth(BROWSE).get_by_role("row").nth(1).click()
    cells.nth(BROWSE).get_by_role("group", name="Preview of").wait_for()
    form = cells.nth(FORM)
    form.get_by_label("message").first.fill("say filled in")
    form.get_by_role("button", name="Run", exact=True).click()
    until(lambda: "The answer stands below" in notebook.output(FORM))
    assert "filled in" in notebook.output(FORM)
    assert notebook.output(WATCH).count("✓ succeeded") == 2
    assert "onerror=alert(1)" in notebook.output(TOOL), "shown as text"
    assert "'nothing' is not a run id" in notebook.output(ERROR)
    until(lambda: all("✓ succeeded" in notebook.output(cell) for cell in (WATCH - 2, WATCH - 1)))
    found = [cell["outputs"] for cell in notebook.save()["cells"]]
    outputs = [[output for output in cell if any(output.get("data", {"": "an error"}).values())] for cell in found]
    assert [len(found) for found in outputs] == [_outputs(cell) for cell in CELLS]
    outputs = [found for cell, found in zip(CELLS, outputs, strict=True) if not cell.startswith(CLICKABLE)]
    assert "widget" not in json.dumps(outputs)
    assert notebook.errors == at_load
    here = f"127.0.0.1:{place.lab.port}"
    assert [url for url in notebook.requests if here not in url and not url.startswith(("data:", "blob:"))] == []
    notebook.page.close()


def _a_picture_is_opened_and_left(gallery: Locator) -> None:
    expect(gallery.locator("details figure img")).to_have_count(2)
    open_the_first(gallery)
    enlarge_and_close(gallery)
    expect(gallery.locator("button.asvc-thumb").first).to_be_focused()
