"""The other magics in JupyterLab: tables, pictures, several bars at once, short errors; nothing is fetched."""

from __future__ import annotations

import json

import pytest

from tests.browser.conftest import Place
from tests.waiting import until

pytestmark = pytest.mark.browser

CELLS = [
    "%load_ext agentsvc_nb",
    "%%ask\nsay The autumn plan\nusage 3000 1200\nwrite out/plan.md # Autumn",
    "%runs",
    '%%job create_images\nrequest.brief: Autumn sale\nrequest.outputs: {"mode": "count", "count": 2}',
    "%files gallery",
    "%files preview out/plan.md",
    "%search autumn",
    "%tools",
    "%%tool ask_stefanbrain\nmessage: say <img src=x onerror=alert(1)> **you**",
    "%%job echo_job --bg\nsteps: 10\nseconds: 4",
    "%%job echo_job --bg\nsteps: 10\nseconds: 6",
    "%jobs watch",
    '%feedback send "The search is slow"',
    "%feedback",
    "%runs show nothing",
]
WATCH, ERROR = CELLS.index("%jobs watch"), len(CELLS) - 1


def test_every_magic_leaves_one_static_output_and_fetches_nothing(place: Place) -> None:
    notebook = place.lab.open("magics.ipynb", CELLS)
    for cell in range(len(CELLS)):
        notebook.run(cell)
        if cell == WATCH:
            until(lambda: notebook.output(WATCH).count("running") == 2)
        notebook.wait_idle()
    assert "1 run, 0.42 cents in all" in notebook.output(2)
    assert notebook.page.locator(".jp-CodeCell").nth(4).locator("details figure img").count() == 2
    assert notebook.output(WATCH).count("✓ succeeded") == 2
    assert "onerror=alert(1)" in notebook.output(8), "shown as text"
    assert "'nothing' is no run id" in notebook.output(ERROR)
    outputs = [cell["outputs"] for cell in notebook.save()["cells"]]
    gallery = outputs.pop(4)  # a static line, then a widget: test_files
    assert [len(found) for found in (*outputs, gallery)] == [0, *[1] * (len(CELLS) - 2), 2]
    assert "widget" not in json.dumps(outputs)
    assert notebook.errors == []
    here = f"127.0.0.1:{place.lab.port}"
    assert [url for url in notebook.requests if here not in url and not url.startswith(("data:", "blob:"))] == []
    notebook.page.close()
