"""The agent in the user's kernel, as it is seen in JupyterLab."""

from __future__ import annotations

import json

from tests.browser.conftest import Place
from tests.support.waiting import until

LOAD = """%load_ext agentsvc_nb
import ipywidgets, pandas as pd
df = pd.DataFrame({'city': ['Oslo', 'Rome'], 'visits': [3, 5]})
ipywidgets.Label("")  # with the first widget JupyterLab makes the subshell in which buttons are heard"""
WAIT = "import time; time.sleep(5)"


def ask(code: str, why: str = "", line: str = "--kernel") -> str:
    return f"%%ask {line}\ncall run_in_kernel {json.dumps({'code': code, 'why': why})}\nsay That is all."


def test_code_is_approved_by_a_button_while_its_cell_runs(place: Place) -> None:
    code = "# Visits by city\ntop = df.sort_values('visits', ascending=False)\ntop"
    cells = [LOAD, WAIT, ask(code, "To see where most visits are"), "print(len(top))"]
    notebook = place.lab.open("kernel.ipynb", cells)
    notebook.run_all()
    button = notebook.page.get_by_role("button", name="Approve")
    button.wait_for()
    assert "To see where most visits are" in notebook.output(2)
    button.focus()
    notebook.page.keyboard.press("Enter")
    notebook.wait_idle()
    assert "Ran in your kernel" in notebook.output(2)
    assert "Rome" in notebook.output(2)
    assert notebook.output(3).strip() == "2"
    assert "widget-view" not in json.dumps(notebook.save()["cells"][2])
    notebook.page.close()


def test_code_of_a_run_in_the_background_is_edited_on_its_card(place: Place) -> None:
    notebook = place.lab.open("card.ipynb", [LOAD, ask("print('theirs')", line="--kernel --bg -o later"), "later.text"])
    notebook.run_all()
    notebook.page.get_by_role("button", name="Edit").click()
    notebook.page.get_by_label("Code to run").fill("print('mine')")
    notebook.page.get_by_role("button", name="Run as changed").click()
    until(lambda: "as you changed it" in notebook.output(1) and "mine" in notebook.output(1))
    notebook.page.close()
