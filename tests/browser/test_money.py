"""Money stays text and formulas are typeset, in JupyterLab and Notebook: judged on the page after MathJax was there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import APPS, Place, placed
from tests.browser.lab import Notebook
from tests.support.waiting import until

MONEY: Final = "The media budget is $240,000 net; production has $55,000"
SAID: Final = f"""say {MONEY}
say
say So \\(e^x\\), not $5 or `$y$`.
say
say $$
say a_1
say + b
say = c
say $$
say
say | $7 | $8 |
say |---|---|
say | $1 | $2 |
say
say ```
say $code$ and \\(code\\)
say ```
say
say ```math
say \\frac{{a}}{{b}}
say ```"""
FORMULAS: Final = 3
CELLS = [
    "%load_ext agentsvc_nb\nimport agentsvc_nb",
    f"%%ask -o answer\n{SAID}\nwrite out/budget_$5_and_$6.md # {MONEY}",
    "%files preview out/budget_$5_and_$6.md",
    "%search budget",
    "%files",
    f"%%ask --bg --new-chat\n{SAID}",
    "answer.run",
    "answer",
    f"%%tool ask_stefanbrain\nmessage: say {MONEY}",
    "%tools",
    "agentsvc_nb.Chat(new=True)",
    "from IPython.display import HTML\nHTML(r'<p>$z$</p>')",
]
MADE: Final = {1: FORMULAS, 5: FORMULAS, 7: FORMULAS, 10: 0}
"""By cell, how many formulas are meant there; none in others. A chat has none before anybody has asked."""
CHAT, LAST = 10, 11


@pytest.fixture(scope="module", params=APPS)
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, Any]]:
    for place in placed(tmp_path_factory, request.param):
        notebook = place.lab.open("money.ipynb", CELLS)
        for cell in range(len(CELLS)):
            notebook.run(cell)
            notebook.wait_idle()
        expect(_outputs(notebook, LAST).locator("mjx-container")).to_have_count(1)
        yield place, notebook
        notebook.page.close()


def _outputs(notebook: Notebook, cell: int) -> Locator:
    return notebook.page.locator(".jp-NotebookPanel .jp-CodeCell").nth(cell).locator(".jp-Cell-outputArea")


def _in_order(notebook: Notebook, cell: int, formulas: int) -> None:
    shown = _outputs(notebook, cell)
    expect(shown.locator("mjx-container")).to_have_count(formulas)
    for formula in shown.locator("mjx-container").all():
        assert "$" not in (formula.text_content() or "")
        assert formula.locator("mjx-merror").count() == 0


def _as_said(shown: Locator) -> None:
    """The sentence, the table and the code, to the letter, with the formulas beside them."""
    expect(shown.get_by_text(MONEY, exact=True).first).to_be_visible()
    expect(shown.locator("th").filter(has_text="$").first).to_have_text("$7")
    expect(shown.locator("td").filter(has_text="$2").first).to_have_text("$2")
    expect(shown.get_by_text("$code$ and \\(code\\)", exact=True).first).to_be_visible()
    sentence = shown.locator("p").filter(has_text="not $5").first
    assert sentence.locator("mjx-container").count() == 1
    assert sentence.inner_text().endswith(", not $5 or $y$.")


def test_only_what_is_meant_is_typeset(opened: tuple[Place, Notebook]) -> None:
    _, notebook = opened
    until(lambda: "completed" in notebook.output(5))
    for cell in range(1, LAST):
        _in_order(notebook, cell, MADE.get(cell, 0))
    for cell in (1, 5, 7):
        _as_said(_outputs(notebook, cell))
    for cell, said in {
        2: MONEY,
        3: "out/budget_$5_and_$6.md",
        4: "out/budget_$5_and_$6.md",
        6: MONEY,
        8: MONEY,
    }.items():
        assert said in " ".join(notebook.output(cell).split())


def test_a_chat_is_typeset_as_it_is_written(opened: tuple[Place, Notebook]) -> None:
    _, notebook = opened
    chat = _outputs(notebook, CHAT)
    chat.get_by_label("Message").fill(f"{SAID}\nwait 2\nsay\nsay the end of $9 and $10")
    chat.get_by_role("button", name="Send").click()
    until(lambda: "b" in notebook.output(CHAT) and "running" in notebook.output(CHAT))
    _in_order(notebook, CHAT, FORMULAS)
    until(lambda: "the end of $9 and $10" in notebook.output(CHAT) and "completed" in notebook.output(CHAT))
    _in_order(notebook, CHAT, FORMULAS)
    _as_said(chat)
    chat.get_by_role("button", name="Close").click()
    until(lambda: "closed" in notebook.output(CHAT))
    _in_order(notebook, CHAT, FORMULAS)


def test_a_notebook_that_is_not_trusted_shows_the_same(opened: tuple[Place, Notebook]) -> None:
    place, notebook = opened
    saved = notebook.save()
    saved["metadata"]["changed"] = saved["cells"][0]["source"] = "other than what was signed"
    (place.lab.root / "stranger.ipynb").write_text(json.dumps(saved))
    stranger = place.lab.open("stranger.ipynb")
    expect(_outputs(stranger, LAST).locator("mjx-container")).to_have_count(1)
    expect(stranger.page.locator(".jp-CodeCell .jp-mod-trusted")).to_have_count(0)
    for cell in (1, 2, 3, 4, 5, 6, 7, 8):
        _in_order(stranger, cell, MADE.get(cell, 0))
    _as_said(_outputs(stranger, 1))
    stranger.page.close()
