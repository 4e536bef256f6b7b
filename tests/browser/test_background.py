"""Runs and jobs in the background in JupyterLab: cards and bars, cancelled and approved by keyboard."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Locator, expect

from tests.browser.conftest import Place
from tests.browser.lab import Notebook
from tests.support.waiting import until

LOAD = "%load_ext agentsvc_nb"
FIRST, SECOND = (f'call echo_job {{"steps": {steps}, "seconds": 0}}' for steps in (0, 1))
CELLS = [
    LOAD,
    "%%ask --bg -o a\nsay alpha\nwait 60",
    "%%ask --bg --new-chat -o b\nsay **beta**\nwait 8\nsay gamma",
    "1 + 1",
    f"%%ask --bg --new-chat\nsay before\n{FIRST}\n{SECOND}\nsay after",
    "print(b.text)",
]
RUN, RELOADED, PLAIN, WAITING, TEXT = range(1, 6)


def _cell(notebook: Notebook, cell: int) -> Locator:
    return notebook.page.locator(".jp-NotebookPanel .jp-CodeCell").nth(cell)


def test_cards_are_cancelled_reloaded_and_answered(place: Place) -> None:
    notebook = place.lab.open("cards.ipynb", CELLS)
    page = notebook.page
    for cell in (0, RUN, RELOADED, PLAIN):
        notebook.run(cell)
        notebook.wait_idle()
    assert "2" in notebook.output(PLAIN), "cells run meanwhile"
    until(lambda: "running" in notebook.output(RUN) and "running" in notebook.output(RELOADED))
    notebook.save()
    notebook.reload()
    _cell(notebook, RUN).get_by_role("button", name="Cancel").click()
    until(lambda: "cancelled" in notebook.output(RUN))
    until(lambda: "completed" in notebook.output(RELOADED) and "gamma" in notebook.output(RELOADED))
    notebook.run(TEXT)
    until(lambda: "beta" in notebook.output(TEXT) and "gamma" in notebook.output(TEXT))
    notebook.run(WAITING)
    card = _cell(notebook, WAITING).locator(".asvc")
    approve = card.get_by_role("button", name="Approve")
    expect(approve).to_be_enabled()
    card.get_by_role("button", name="Edit").focus()
    page.keyboard.press("Enter")
    expect(card.get_by_label("Arguments as JSON")).to_be_focused()
    expect(card.get_by_label("Arguments as JSON")).to_have_css("font-family", re.compile("mono"))
    page.keyboard.press("Control+a")
    page.keyboard.insert_text('{"steps": 0, "files": {"net.txt": "net"}}')
    card.get_by_label("Approve").select_option("this call")
    approve.focus()
    page.keyboard.press("Enter")
    until(lambda: notebook.output(WAITING), lambda text: '"steps": 1' in text and "before" in text)
    expect(card.locator(":focus")).to_have_count(1)  # though the button that was pressed is gone
    card.get_by_label("Reason").fill("once is enough")
    card.get_by_role("button", name="Refuse").click()
    until(lambda: notebook.output(WAITING), lambda text: "✓ completed" in text and "after" in text)
    folded = _cell(notebook, WAITING).text_content() or ""
    assert "echo_job was approved as changed" in folded
    assert "was refused: once is enough" in folded
    expect(page.locator(".jp-NotebookPanel").get_by_role("button", name="Cancel")).to_have_count(0)
    notebook.wait_idle()
    saved = [
        output for output in notebook.save()["cells"][WAITING]["outputs"] if any(output.get("data", {"": ""}).values())
    ]
    assert len(saved) == 1
    assert "widget" not in json.dumps(saved)
    before = place.count()
    notebook.restart()
    for cell in (0, RELOADED):
        notebook.run(cell)
    until(lambda: "stored answer" in notebook.output(RELOADED))
    notebook.wait_idle()
    assert place.count() == before, "a restart starts no run"
    page.close()


def test_jobs_have_bars_that_move_and_are_cancelled(place: Place) -> None:
    cells = [
        LOAD,
        "%%ask --new-chat\nsay hello",
        "%%job echo_job --bg\nsteps: 100\nseconds: 600",
        "%%job echo_job --bg\nsteps: 20\nseconds: 4",
        "%jobs watch --bg",
    ]
    notebook = place.lab.open("jobs.ipynb", cells)
    for cell in range(len(cells)):
        notebook.run(cell)
    bars = _cell(notebook, 4)
    until(lambda: "✓ succeeded" in notebook.output(4))
    bars.get_by_role("button", name="Cancel").focus()
    notebook.page.keyboard.press("Space")
    until(lambda: "■ cancelled" in notebook.output(4))
    expect(bars.get_by_role("button", name="Cancel")).to_have_count(0)
    notebook.page.close()
