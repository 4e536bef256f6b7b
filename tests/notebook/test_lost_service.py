"""The service goes away in the middle of an answer and does not come back: what came so far stays where it was shown.

kill -9 of a real embedded service, in whose folder none can start again, and of one at an address.
"""

from __future__ import annotations

import io
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
from agentsvc_nb.notebook.display.screens import Bar, LiveScreen, Screen, StaticScreen, TerminalScreen
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.jobs.follower import JobResult
from agentsvc_nb.testing import running_service
from tests.notebook import fronts
from tests.notebook.fronts import markup, text
from tests.notebook.screens import Cell
from tests.notebook.test_chat import Used
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

    def __init__(self, screen: Screen, words: str, lose: Callable[[], None], *, ended: bool = False) -> None:
        self._screen, self._words, self._lose, self._lost, self._ended = screen, words, lose, False, ended

    def draw(self, view: RunView) -> None:
        self._screen.draw(view)
        if self._words in view.said and not self._lost and view.ended >= self._ended:
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


@pytest.mark.parametrize("kind", [StaticScreen, LiveScreen], ids=["static", "live"])
def test_the_cell_keeps_what_was_said_and_says_what_to_do(kernel: Any, data: Path, kind: type[Screen]) -> None:
    cell = Cell()
    screen = Losing(kind(cell), "beta", lambda: lose_for_good(data))  # type: ignore[call-arg]
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


def test_an_answer_that_is_complete_comes_without_its_thumbnails(kernel: Any, data: Path) -> None:
    cell = Cell()
    screen = Losing(StaticScreen(cell), "alpha", lambda: lose_for_good(data), ended=True)
    answer = commands.ask(_session(kernel), AskRequest("say alpha\nwrite out/a.png no-picture"), screen)
    assert (answer.text, answer.status) == ("alpha", "completed")
    assert "out/a.png" in cell.outputs[0]["text/html"]


def test_a_terminal_keeps_what_it_printed(kernel: Any, data: Path) -> None:
    out = io.StringIO()
    screen = Losing(TerminalScreen(out), "beta", lambda: lose_for_good(data))
    with pytest.raises(AskError) as lost:
        commands.ask(_session(kernel), AskRequest(SCRIPT), screen)
    assert isinstance(lost.value.answer, CellAnswer)
    _kept(out.getvalue(), lost.value.answer.run_id)
    assert out.getvalue().count("alpha") == 1


def test_the_magic_leaves_it_in_its_cell_and_its_variable(kernel: Any, data: Path) -> None:
    _meanwhile(lambda: any("beta" in part["text/plain"] for part in kernel.shown.outputs), data)
    with pytest.raises(AskError):
        kernel.cell(f"%%ask -o answer\n{SCRIPT}", cell_id="c1")
    (output,) = kernel.shown.outputs
    _kept(output["text/plain"], kernel.user_ns["answer"].run_id)


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


def test_a_chat_keeps_the_turn(kernel: Any, data: Path) -> None:
    used = Used(kernel)
    used.ask(SCRIPT)
    until(lambda: "<p>beta" in markup(used.front))
    lose_for_good(data)
    until(lambda: text(used.front), lambda read: "%runs attach" in read)
    (turn,) = used.chat._conversation.turns
    _kept(text(used.front), turn.run_id)
    used.chat.close()
    _kept(used.chat._repr_mimebundle_()["text/plain"], turn.run_id)


def test_a_service_at_an_address_that_is_gone_leaves_the_same(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_service() as gone:
        monkeypatch.setenv("SERVICE_API_KEY", gone.api_key)
        monkeypatch.setenv("AGENTSVC_BASE_URL", gone.base_url)
        cell = Cell()
        screen = Losing(StaticScreen(cell), "beta", gone.kill)
        with pytest.raises(AskError, match="went away") as lost:
            commands.ask(_session(kernel), AskRequest(SCRIPT), screen)
    assert isinstance(lost.value.answer, CellAnswer)
    _kept(cell.outputs[0]["text/plain"], lost.value.answer.run_id)
    assert gone.base_url in f"{lost.value} {lost.value.hint}"


JOB = "%%job echo_job\nsteps: 100\nseconds: 60"


def _progress(output: str, again: str) -> None:
    assert re.search(r"● running · echo_job · \d+ % ", output)
    assert "The service went away" in output
    assert f"`{again}` follows it" in output


@pytest.mark.parametrize("cell_id", ["", "c1"], ids=["static", "live"])
def test_a_job_keeps_how_far_it_was(kernel: Any, data: Path, cell_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, draw = list[str](), Bar.draw

    def seen(bar: Bar, bundle: dict[str, str]) -> None:
        draw(bar, bundle)
        drawn.append(bundle["text/plain"])

    monkeypatch.setattr(Bar, "draw", seen)
    _meanwhile(lambda: any(" %" in line for line in drawn), data)
    with pytest.raises(AskError, match="went away") as lost:
        kernel.cell(JOB, cell_id=cell_id)
    (output,) = kernel.shown.outputs
    assert isinstance(lost.value.answer, JobResult)
    job_id = lost.value.answer.job.job_id
    _progress(output["text/plain"], f"%jobs show {job_id}")
    assert f"%jobs show {job_id}" in lost.value.hint


def test_jobs_in_the_background_keep_what_there_is_of_them(kernel: Any, data: Path) -> None:
    done = kernel.cell('%%job echo_job --bg\nsteps: 1\nseconds: 0\nfiles: {"out/x.txt": "made"}', cell_id="c1")
    slow = kernel.cell("%%job echo_job --bg\nsteps: 100\nseconds: 60", cell_id="c2")
    watching = kernel.cell("%jobs watch --bg", cell_id="c3")
    shown = kernel.shown
    bars = fronts.front_of(shown.outputs[1])
    until(lambda: "out/x.txt" in fronts.markup(bars) and bars.part(f"job/{slow.job_id}")["percent"] is not None)
    lose_for_good(data)
    with pytest.raises(AskError, match="went away"):
        watching.wait()
    output = shown.outputs[0]["text/plain"]
    assert "out/x.txt" in output, "what the one made that had ended"
    assert done.job_id in output
    assert slow.job_id in output
    _progress(output, "%jobs watch")


def test_jobs_that_a_cell_watches_keep_how_far_they_were(kernel: Any, data: Path) -> None:
    kernel.cell("%%job echo_job --bg\nsteps: 100\nseconds: 60", cell_id="c1")
    _meanwhile(lambda: any(" %" in part["text/plain"] for part in kernel.shown.outputs), data)
    with pytest.raises(AskError, match="went away"):
        kernel.cell("%jobs watch", cell_id="c2")
    (output,) = kernel.shown.outputs
    assert " %" in output["text/plain"]
