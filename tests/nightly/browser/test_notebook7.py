"""Notebook 7: every magic leaves one static output; cards, a chat and the extension are used."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.conftest import Place, placed
from tests.browser.test_files import enlarge_and_close, open_the_first
from tests.support.waiting import until

CELLS = [
    "%load_ext agentsvc_nb",
    "%%ask\nsay The autumn plan\nusage 3000 1200\nwrite out/plan.md # Autumn",
    "%runs",
    '%%job create_images\nrequest.brief: "Headline: Autumn sale"\nrequest.outputs: {"mode": "count", "count": 2}',
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


@pytest.fixture(scope="module")
def place(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    yield from placed(tmp_path_factory, chromium, "notebook", AGENTSVC_APPROVE_EFFECTS="yes")


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
    assert "'nothing'" in notebook.output(ERROR)
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


def test_a_run_in_the_background_is_answered_in_its_card(place: Place) -> None:
    first, second = (f'call echo_job {{"steps": {steps}, "seconds": 0}}' for steps in (0, 1))
    notebook = place.lab.open(
        "card.ipynb", ["%load_ext agentsvc_nb", f"%%ask --bg\nsay before\n{first}\n{second}\nsay after"]
    )
    notebook.run_all()
    card = notebook.page.locator(".asvc")
    approve, refuse = (card.get_by_role("button", name=name) for name in ("Approve", "Refuse"))
    expect(approve).to_be_enabled()
    approve.focus()
    notebook.page.keyboard.press("Enter")
    until(lambda: notebook.output(1), lambda text: '"steps": 1' in text and "before" in text)
    card.get_by_label("Reason").fill("once is enough")
    refuse.click()
    until(lambda: notebook.output(1), lambda text: "✓ completed" in text and "after" in text)
    folded = notebook.page.locator(".jp-CodeCell").nth(1).text_content() or ""
    assert "echo_job was approved" in folded
    assert "echo_job was refused: once is enough" in folded
    assert card.get_by_role("button").count() == 0
    notebook.page.close()
