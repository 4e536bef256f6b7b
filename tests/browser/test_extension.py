"""The extension of JupyterLab and Notebook: the colours of questions, and changes of cells."""

from __future__ import annotations

import json
from functools import partial

import pytest

from tests.browser.conftest import APPS, Place, placed
from tests.browser.lab import CURRENT, App
from tests.support.waiting import until

LOAD = "%load_ext agentsvc_nb"
COMMENTS = f"cell => {CURRENT}.content.widgets[cell].editor.editor.state.languageDataAt('commentTokens', 0)[0]"
"""What begins a comment in a cell: Python and Markdown differ."""


@pytest.mark.parametrize("app", APPS)
def test_a_question_is_text_and_other_cells_are_python(tmp_path_factory: pytest.TempPathFactory, app: App) -> None:
    for place in placed(tmp_path_factory, app):
        notebook = place.lab.open("text.ipynb", ["import this", "%%ask -o x\nimport **this** for me", "1"])
        comment = partial(notebook.page.evaluate, COMMENTS)
        until(partial(comment, 1), lambda found: "block" in found)
        assert comment(0) == {"line": "#"}
        change = f"text => {CURRENT}.content.widgets[2].model.sharedModel.setSource(text)"
        notebook.page.evaluate(change, "%%ask\nWhy?")
        until(partial(comment, 2), lambda found: "block" in found)
        notebook.page.evaluate(change, "why = 1")
        until(partial(comment, 2), lambda found: found == {"line": "#"})
        notebook.page.close()


@pytest.mark.parametrize("app", APPS)
def test_a_magic_that_is_not_there_yet_is_loaded_by_a_click(tmp_path_factory: pytest.TempPathFactory, app: App) -> None:
    for place in placed(tmp_path_factory, app):
        notebook = place.lab.open("new.ipynb", ["%%ask\nsay It is here", "%nonsense"])
        notebook.run(1)
        until(partial(notebook.output, 1), lambda said: "not found" in said)
        notebook.run(0)
        notebook.page.get_by_role("button", name="Load it and run this cell").click()
        until(partial(notebook.output, 1), lambda said: "It is here" in said)
        sources = f"() => {CURRENT}.content.widgets.map(cell => cell.model.sharedModel.getSource())"
        assert notebook.page.evaluate(sources) == [LOAD, "%%ask\nsay It is here", "%nonsense"]
        notebook.restart()
        notebook.run(1)
        notebook.page.get_by_role("button", name="Load it and run this cell").click()
        until(partial(notebook.output, 1), lambda said: "It is here" in said)
        assert len(notebook.page.evaluate(sources)) == 3, "the line is there already"
        assert "Load it" not in json.dumps(notebook.save())
        notebook.page.close()


ANSWERS = [
    f"{LOAD}\nimport pandas as pd\ndf = pd.DataFrame({{'shop': ['a', 'b'], 'cost': [1, 2]}})",
    "%%ask --df df -o answer\nTotal cost by shop",
    "%%ask\nCost by colour",
]


def test_an_answer_is_copied_continued_and_asked_further(tmp_path_factory: pytest.TempPathFactory) -> None:
    for place in placed(tmp_path_factory, "lab", AGENTSVC_MODEL="offline"):
        notebook = place.lab.open("answers.ipynb", ANSWERS)
        page = notebook.page
        for cell in range(len(ANSWERS)):
            notebook.run(cell)
            notebook.wait_idle()
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.locator(".asvc-answer").first.hover()
        page.get_by_role("button", name="Copy the answer").first.click()
        page.get_by_role("button", name="Copied").wait_for()
        assert "a\t1\nb\t2" in page.evaluate("() => navigator.clipboard.readText()")
        page.get_by_role("button", name="Number of rows").click()
        page.locator(".asvc-answer").first.hover()
        page.get_by_role("button", name="Continue in a new cell").click()
        sources = page.evaluate(f"() => {CURRENT}.content.widgets.map(cell => cell.model.sharedModel.getSource())")
        assert sources == [*ANSWERS[:2], "answer.df", ANSWERS[2], "%%ask\nNumber of rows"]
        notebook.run(2)
        until(partial(notebook.output, 2), lambda said: "Total cost" in said)
        assert "asvc-tools" not in json.dumps(notebook.save())
        page.close()


BAIT = "bait = '<img src=x onerror=\"window.executed = 1\">'"
SOURCE = f"() => {CURRENT}.content.widgets[1].model.sharedModel.getSource()"
CHANGE = f"text => {CURRENT}.content.widgets[1].model.sharedModel.setSource(text)"


def test_a_change_is_accepted_by_keyboard_and_undone_and_never_written_over_another(place: Place) -> None:
    given = {"cell": "[2]", "old": "x = 1", "new": "x = 2", "why": "To <b>test</b>"}
    ask = f"%%ask --kernel\ncall edit_cell {json.dumps(given)}\nsay That is all."
    notebook = place.lab.open("edit.ipynb", [LOAD, f"x = 1\n{BAIT}", ask, "x"])
    notebook.run_all()
    accept = notebook.page.get_by_role("button", name="Accept")
    accept.focus()
    notebook.page.keyboard.press("Enter")
    until(lambda: "That is all." in notebook.output(2) and "Changed, not run" in notebook.output(2))
    assert notebook.page.evaluate(SOURCE) == f"x = 2\n{BAIT}"
    until(lambda: notebook.output(3).split() == ["[4]:", "1"])
    notebook.page.locator(".jp-CodeCell .cm-content").nth(1).click()
    notebook.page.keyboard.press("Control+z")
    assert notebook.page.evaluate(SOURCE) == f"x = 1\n{BAIT}"
    notebook.run(2)
    accept.wait_for()
    notebook.page.evaluate(CHANGE, "x = 1  # mine")
    accept.click()
    until(lambda: "changed meanwhile" in notebook.output(2))
    assert notebook.page.evaluate(SOURCE) == "x = 1  # mine"
    assert notebook.page.evaluate("window.executed") is None
    notebook.page.close()


def test_a_fix_is_accepted_once_the_cell_has_ended(place: Place) -> None:
    fix = "%%ask --fix\nsay ```python\nsay print(7)\nsay ```"
    notebook = place.lab.open("fix.ipynb", [LOAD, "prnt(7)", fix])
    notebook.run_all()
    until(lambda: "NameError" in notebook.output(1))
    notebook.run(2)
    notebook.page.get_by_role("button", name="Accept").click()
    until(lambda: "Changed, not run" in notebook.output(2))
    assert notebook.page.evaluate(SOURCE) == "print(7)"
    assert "widget-view" not in json.dumps(notebook.save()["cells"][2])
    notebook.page.close()
