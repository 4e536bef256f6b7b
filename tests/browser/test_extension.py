"""The extension of JupyterLab: questions as text, changes of cells, and what can be done with an answer."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from agentsvc_nb import embedded
from tests.browser.conftest import Place
from tests.browser.lab import CURRENT
from tests.support.waiting import until

LOAD = "%load_ext agentsvc_nb"
LANGUAGES = "() => [...document.querySelectorAll('.jp-CodeCell .cm-content')].map(text => text.dataset.language)"
SOURCES = f"() => {CURRENT}.content.widgets.map(cell => cell.model.sharedModel.getSource())"
CHANGE = f"([cell, text]) => {CURRENT}.content.widgets[cell].model.sharedModel.setSource(text)"
BAIT = "bait = '<img src=x onerror=\"window.executed = 1\">'"


def test_questions_are_text_and_a_magic_is_loaded_by_a_click(place: Place) -> None:
    cells = ["%%ask\nsay It is here", "import this", "%nonsense", "%ask What's here?", "%%tool echo\ntext: It's here"]
    notebook = place.lab.open("new.ipynb", cells)
    page, languages = notebook.page, partial(notebook.page.evaluate, LANGUAGES)
    until(languages, lambda found: found == ["markdown", "python", "python", "markdown", "properties"])
    page.evaluate(CHANGE, [1, "%%ask\nWhy?"])
    page.evaluate(CHANGE, [3, "%ask What's here?\nwhy = 1"])
    until(languages, lambda found: found == ["markdown", "markdown", "python", "python", "properties"])
    page.evaluate(CHANGE, [1, "why = 1"])
    page.evaluate(CHANGE, [4, ""])
    until(languages, lambda found: found == ["markdown", "python", "python", "python", "python"])
    notebook.restart()  # the kernel tells its language again
    until(languages, lambda found: found == ["markdown", "python", "python", "python", "python"])
    notebook.run(2)
    until(lambda: "not found" in notebook.output(2))
    notebook.run(0)
    page.get_by_role("button", name="Load it and run this cell").click()
    until(lambda: "It is here" in notebook.output(1))
    notebook.wait_idle()
    page.locator(".jp-CodeCell .cm-content").last.click()
    page.keyboard.type("%%ask --max-c")
    page.keyboard.press("Tab")
    page.locator(".jp-Completer-item").get_by_text("--max-cents").wait_for()
    page.keyboard.press("Enter")
    until(lambda: page.evaluate(SOURCES)[-1] == "%%ask --max-cents")
    until(lambda: languages()[-1] == "markdown")
    page.keyboard.type(" 5\nIs it 'for' us, or isn't it")
    asked = "%%ask --max-cents 5\nIs it 'for' us, or isn't it"
    until(lambda: page.evaluate(SOURCES), lambda sources: sources[-1] == asked)

    def after(keys: str) -> str:
        page.keyboard.press(keys)
        return str(page.evaluate(SOURCES)[-1])

    until(lambda: after("Control+z"), lambda source: source == "")
    until(lambda: languages()[-1] == "python")
    until(lambda: after("Control+Shift+z"), lambda source: source == asked)
    until(lambda: languages()[-1] == "markdown")
    wanted = [LOAD, "%%ask\nsay It is here", "why = 1", "%nonsense", "%ask What's here?\nwhy = 1", asked]
    assert page.evaluate(SOURCES) == wanted
    assert "Load it" not in json.dumps(notebook.save())
    page.close()


def test_an_answer_is_copied_continued_and_asked_further(place: Place, tmp_path: Path) -> None:
    data = tmp_path / "offline"
    offline = f"import os\nos.environ |= {{'AGENTSVC_DATA': '{data}', 'AGENTSVC_MODEL': 'offline'}}"
    frame = "import pandas as pd\ndf = pd.DataFrame({'shop': ['a', 'b'], 'cost': [1, 2]})"
    cells = [f"{offline}\n{LOAD}\n{frame}", "%%ask --df df -o answer\nTotal cost by shop", "%%ask\nCost by colour"]
    notebook = place.lab.open("answers.ipynb", cells)
    page = notebook.page
    try:
        for cell in range(len(cells)):
            notebook.run(cell)
            notebook.wait_idle()
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.locator(".asvc-answer").first.hover()
        page.get_by_role("button", name="Copy the answer").first.click()
        until(lambda: "a\t1\nb\t2" in page.evaluate("() => navigator.clipboard.readText()"))
        page.get_by_role("button", name="Number of rows").click()
        until(lambda: "%%ask\nNumber of rows" in page.evaluate(SOURCES))
        page.locator(".asvc-answer").first.hover()
        page.get_by_role("button", name="Continue in a new cell").first.click()
        wanted = [*cells[:2], "answer.df", cells[2], "%%ask\nNumber of rows"]
        until(lambda: page.evaluate(SOURCES), lambda sources: sources == wanted)
        notebook.run(2)
        until(lambda: "Total cost" in notebook.output(2))
        assert "asvc-tools" not in json.dumps(notebook.save())
    finally:
        page.close()
        embedded.stop(data)


def test_a_change_is_accepted_undone_and_never_written_over_another(place: Place) -> None:
    given = {"cell": "[2]", "old": "x = 1", "new": "x = 2", "why": "To <b>test</b>"}
    ask = f"%%ask --kernel\ncall edit_cell {json.dumps(given)}\nsay That is all."
    fix = "%%ask --fix\nsay ```python\nsay print(7)\nsay ```"
    notebook = place.lab.open("edit.ipynb", [LOAD, f"x = 1\n{BAIT}", ask, "x", "prnt(7)", fix])
    page = notebook.page

    def source(cell: int) -> str:
        return str(page.evaluate(SOURCES)[cell])

    for cell in range(3):
        notebook.run(cell)
    accept = page.get_by_role("button", name="Accept")
    accept.focus()
    page.keyboard.press("Enter")
    until(lambda: "That is all." in notebook.output(2) and "Changed, not run" in notebook.output(2))
    assert source(1) == f"x = 2\n{BAIT}"
    notebook.run(3)
    until(lambda: notebook.output(3).split() == ["[4]:", "1"])
    page.locator(".jp-CodeCell .cm-content").nth(1).click()
    page.keyboard.press("Control+z")
    until(lambda: source(1) == f"x = 1\n{BAIT}")
    notebook.run(2)
    accept.wait_for()
    page.evaluate(CHANGE, [1, "x = 1  # mine"])
    accept.click()
    until(lambda: "changed in the meantime" in notebook.output(2))
    notebook.wait_idle()
    assert source(1) == "x = 1  # mine"
    notebook.run(4)
    until(lambda: "NameError" in notebook.output(4))
    notebook.wait_idle()
    notebook.run(5)
    accept.wait_for()
    notebook.wait_idle()
    accept.click()
    until(lambda: "Changed, not run" in notebook.output(5) and source(4) == "print(7)")
    assert page.evaluate("window.executed") is None
    assert "widget-view" not in json.dumps(notebook.save()["cells"][5])
    page.close()
