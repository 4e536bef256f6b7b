"""What we show, judged by axe-core in each look of JupyterLab; cards and bars used as by keyboard."""

from __future__ import annotations

import shutil

from tests.browser import axe
from tests.browser.conftest import Place
from tests.browser.lab import Notebook
from tests.support.waiting import until

ANSWER = """%%ask
step 1
call web_search {}
call no_such_tool {}
say # Autumn
say
say Some `code`, a [link](https://example.org) and > a quotation
say
say | a | b |
say |---|---|
say | 1 | 2 |
say
say ```python
say print(1)  # a comment
say ```
usage 3000 1200
write out/plan.md # Autumn
write out/sales.csv a,b"""
PICTURES = '%%job create_images\nrequest.brief: Autumn sale\nrequest.outputs: {"mode": "count", "count": 1}'
CELLS = [
    "%load_ext agentsvc_nb",
    ANSWER,
    "%%ask --no-raise-error\nsay so far\nfail agent_error It broke",
    "%%ask --bg --new-chat -o card\nsay The *first* lines\nsay of an answer\nstep 1\nwait 600",
    "%%job echo_job --bg\nsteps: 100\nseconds: 600",
    "%%job echo_job --bg\nsteps: 50\nseconds: 600",
    "%jobs watch --bg",
    PICTURES,
    "%runs",
    "%files",
    "%files gallery",
    "%files preview out/plan.md",
    "%search autumn",
    "%tools",
    "%tools create_images",
    "%jobs",
    "%%tool ask_stefanbrain\nmessage: say **you**",
    "%runs show nothing",
]
CARD, BARS, GALLERY = 3, 6, 10


def test_nothing_that_we_show_violates_a_rule_in_any_look(place: Place) -> None:
    notebook = place.lab.open("looks.ipynb", CELLS)
    for cell in range(len(CELLS)):
        notebook.run(cell)
        notebook.wait_idle()
    until(lambda: notebook.output(BARS).count("step") == 2 and "of an answer" in notebook.output(CARD))
    assert "in the background" not in notebook.output(CARD) + notebook.output(BARS), "that is for a saved notebook"
    assert "brings this back" not in notebook.output(GALLERY), "that, too"
    assert "2 failed" in notebook.output(1)
    assert "'nothing' is not a run id" in notebook.output(len(CELLS) - 1)
    axe.check(notebook)
    notebook.save()
    _cancelled_by_keyboard(notebook)
    notebook.page.close()
    _opened_with_a_fresh_kernel(place)


def _cancelled_by_keyboard(notebook: Notebook) -> None:
    """Both bars of one output, one after the other; what stays is static."""
    bars = notebook.page.locator(".jp-NotebookPanel .jp-CodeCell").nth(BARS)
    bars.get_by_role("button", name="Cancel").first.focus()
    notebook.page.keyboard.press("Enter")
    until(lambda: "■ cancelled" in notebook.output(BARS))
    bars.get_by_role("button", name="Cancel").first.focus()
    notebook.page.keyboard.press("Space")
    until(lambda: notebook.output(BARS).count("■ cancelled") == 2)
    until(lambda: bars.get_by_role("button", name="Cancel").count() == 0)


def _opened_with_a_fresh_kernel(place: Place) -> None:
    """What was saved in the middle says how to see the rest."""
    shutil.copy(place.lab.root / "looks.ipynb", place.lab.root / "opened.ipynb")
    opened = place.lab.open("opened.ipynb")
    assert ", %runs show " in opened.output(CARD)
    assert ", %jobs lists them" in opened.output(BARS)
    opened.page.close()
