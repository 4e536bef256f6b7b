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


def test_code_is_approved_by_keyboard_while_its_cell_runs_and_edited_on_a_card(place: Place) -> None:
    code = "# Visits by city\ntop = df.sort_values('visits', ascending=False)\ntop"
    edited = ask("print('theirs')", line="--kernel --bg -o later")
    cells = [LOAD, WAIT, ask(code, "To see where most visits are"), "print(len(top))", edited, "later.text"]
    notebook = place.lab.open("kernel.ipynb", cells)
    page = notebook.page
    notebook.run_all()
    approve = page.get_by_role("button", name="Approve").first
    approve.wait_for()
    assert "To see where most visits are" in notebook.output(2)
    approve.focus()
    page.keyboard.press("Enter")
    until(lambda: "Ran in your kernel" in notebook.output(2) and "Rome" in notebook.output(2))
    until(lambda: notebook.output(3).strip() == "2")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Code to run").fill("print('mine')")
    page.get_by_role("button", name="Run as changed").click()
    until(lambda: "as you changed it" in notebook.output(4) and "mine" in notebook.output(4))
    notebook.wait_idle()
    assert "widget-view" not in json.dumps(notebook.save()["cells"][2])
    page.close()
