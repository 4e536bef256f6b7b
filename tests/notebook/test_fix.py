"""`%%ask --fix` and `--edit`: the change of a cell that an answer proposes."""

from __future__ import annotations

from typing import Any

import pytest

from agentsvc_nb.notebook.errors import AskError
from tests.notebook.fronts import VIEW, front_of, say, text
from tests.notebook.shells import KernelShell
from tests.notebook.test_cells import PlayedPage

pytestmark = pytest.mark.usefixtures("connected")

FIXED = "%%ask --fix\nsay ```python\nsay print(1)\nsay ```"


def test_fix_puts_the_changed_cell_below_where_no_page_can_write_it(terminal: Any, capsys: Any) -> None:
    with pytest.raises(AskError, match="--fix: no cell has failed"):
        terminal.cell(FIXED)
    with pytest.raises(NameError):
        terminal.cell("prnt(1)")
    terminal.cell(FIXED)
    assert terminal.rl_next_input == "print(1)"
    shown = capsys.readouterr().out
    assert "    -prnt(1)\n    +print(1)" in shown


def test_edit_takes_the_cell_of_that_number(terminal: Any) -> None:
    terminal.cell("a = 1")
    number = terminal.execution_count - 1
    with pytest.raises(AskError, match="--edit 999"):
        terminal.cell("%%ask --edit 999\nsay x")
    terminal.rl_next_input = None
    terminal.cell(f"%%ask --edit {number}\nsay ```\nsay a = 2 # \u200b\nsay ```")
    assert terminal.rl_next_input is None
    terminal.cell(f"%%ask --edit {number}\nsay ```\nsay a = 2\nsay ```")
    assert terminal.rl_next_input == "a = 2"
    with pytest.raises(AskError, match="--fix and --edit exclude"):
        terminal.cell(f"%%ask --fix --edit {number}\nsay x")


def test_a_proposal_is_accepted_by_a_button(kernel: KernelShell, monkeypatch: pytest.MonkeyPatch) -> None:
    page = PlayedPage(kernel, "prnt(1)", monkeypatch)
    with pytest.raises(NameError):
        kernel.run_cell("prnt(1)", store_history=True, cell_id="c1").raise_error()
    kernel.cell(FIXED)
    (card,) = [front_of(bundle) for bundle in kernel.shown.outputs if VIEW in bundle]
    page.before_writing = lambda: page.cells.update(c1="prnt(1) # mine")
    say(card, "choose", key="edit")
    assert "changed meanwhile" in text(card)
    page.cells["c1"], page.before_writing = "prnt(1)", lambda: None
    say(card, "choose", key="edit")
    assert page.cells["c1"] == "print(1)"
    assert "Changed, not run" in text(card)
    assert "Accept" not in str(kernel.shown.outputs)
