"""The service goes away in the middle of an answer and does not come back: what came so far stays where it was shown.

kill -9 of a real embedded service, in whose folder none can start again, and of one at an address.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import embedded
from agentsvc_nb.notebook import commands
from agentsvc_nb.notebook.ask.answer import CellAnswer
from agentsvc_nb.notebook.ask.request import AskRequest
from agentsvc_nb.notebook.display.screens import Screen, StaticScreen
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.errors import AskError
from tests.notebook import fronts
from tests.notebook.screens import Cell
from tests.support.losing import lose_for_good
from tests.support.waiting import until

SCRIPT = "say # Plan\nsay\nsay alpha\nwrite out/a.txt hi\nsay\nsay beta\nwait 60"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "data"
    monkeypatch.setenv("AGENTSVC_DATA", str(folder))
    monkeypatch.setenv("AGENTSVC_MODEL", "scripted")
    yield folder
    embedded.stop(folder)


class Losing:
    """A screen behind which the service goes away once these words are said."""

    def __init__(self, screen: Screen, words: str, lose: Callable[[], None]) -> None:
        self._screen, self._words, self._lose, self._lost = screen, words, lose, False

    def draw(self, view: RunView) -> None:
        self._screen.draw(view)
        if self._words in view.said and not self._lost:
            self._lost = True
            self._lose()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._screen, name)


def _session(kernel: Any) -> Any:
    return kernel.find_line_magic("runs").__self__.session


def _meanwhile(reached: Callable[[], bool], data: Path) -> None:
    """Lose the service as soon as this is so, while a cell runs."""

    def lose() -> None:
        until(reached)
        lose_for_good(data)

    threading.Thread(target=lose, daemon=True).start()


def _kept(output: str, run_id: str) -> None:
    """All that was said stands there, and what to do."""
    assert "alpha" in output
    assert "beta" in output
    assert "The service went away" in output
    assert f"%runs attach {run_id}" in output


def test_the_cell_keeps_what_was_said_and_says_what_to_do(kernel: Any, data: Path) -> None:
    cell = Cell()
    screen = Losing(StaticScreen(cell), "beta", lambda: lose_for_good(data))
    with pytest.raises(AskError, match="went away") as lost:
        commands.ask(_session(kernel), AskRequest(SCRIPT), screen)
    (output,) = cell.outputs
    assert isinstance(lost.value.answer, CellAnswer)
    run_id = lost.value.answer.run_id
    assert f"%runs attach {run_id}" in lost.value.hint
    assert "not a database" in str(lost.value), "why it did not come back"
    for part in output.values():
        _kept(part, run_id)
    assert (lost.value.answer.text, lost.value.answer.status) == ("# Plan\n\nalpha\n\nbeta\n", "running")
    assert [file.path for file in lost.value.answer.files] == ["out/a.txt"]


def test_a_card_in_the_background_ends_with_what_was_said(kernel: Any, data: Path) -> None:
    later = kernel.cell(f"%%ask --bg\n{SCRIPT}", cell_id="c1")
    shown = kernel.shown
    card = fronts.front_of(shown.outputs[1])
    until(lambda: "beta" in fronts.markup(card))
    lose_for_good(data)
    with pytest.raises(AskError, match="went away") as lost:
        later.wait()
    output, nothing = shown.outputs
    assert not any(nothing.values())
    _kept(output["text/plain"], later.run_id)
    _kept(fronts.markup(card), later.run_id)
    assert lost.value.answer is later.outcome()


def test_jobs_that_a_cell_watches_keep_how_far_they_were(kernel: Any, data: Path) -> None:
    kernel.cell("%%job echo_job --bg\nsteps: 100\nseconds: 60", cell_id="c1")
    _meanwhile(lambda: any(" %" in part["text/plain"] for part in kernel.shown.outputs), data)
    with pytest.raises(AskError, match="went away"):
        kernel.cell("%jobs watch", cell_id="c2")
    (output,) = kernel.shown.outputs
    assert re.search(r"\d+ % ", output["text/plain"])
    assert "The service went away" in output["text/plain"]
    assert "`%jobs show job_" in output["text/plain"]
