"""Runs and jobs that go on while other cells run: their order, their cards, and what stays of them."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.notebook.errors import AskError, RunFailed
from agentsvc_nb.notebook.jobs.follower import JobResult
from agentsvc_nb.notebook.widgets.card import BarsScreen, CardScreen
from agentsvc_nb.wire.tools import Job, Progress
from tests.notebook.allowlist import FORBIDDEN, offences
from tests.notebook.fronts import VIEW, front_of, markup, words
from tests.notebook.screens import Cell, Clock, Script
from tests.notebook.shells import KernelShell, loaded
from tests.notebook.test_hostile import HOSTILE
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("connected")


def test_the_cell_ends_at_once_and_the_result_waits_and_can_be_awaited(terminal: Any) -> None:
    answer = terminal.cell("%%ask --bg -o reply\nsay hello\nwrite out/a.txt hi\nwait 0.5")
    assert terminal.user_ns["reply"] is answer is terminal.user_ns["_"]
    assert not answer.done()
    assert (answer.text, list(answer.files.df["path"]), answer.status) == ("hello", ["out/a.txt"], "completed")
    assert answer.done()
    later = terminal.cell("%%ask --bg\nsay hello\nwait 0.2")

    async def read() -> str:
        return str((await later).text)

    assert asyncio.run(read()) == "hello"


def test_three_of_one_chat_take_their_turns_in_the_order_of_their_cells(terminal: Any, client: AgentService) -> None:
    busy = client.runs.start("wait 60")
    terminal.cell(f"%agentsvc chat {busy.chat}")
    answers = [terminal.cell(f"%%ask --bg\nsay {number}") for number in range(3)]
    until(lambda: [answer.status for answer in answers] == ["waiting"] * 3)
    client.runs.cancel(busy.run_id)
    assert [answer.text for answer in answers] == ["0", "1", "2"]
    runs = [client.runs.get(answer.run_id) for answer in answers]
    assert {run.chat for run in runs} == {busy.chat}
    assert all(str(before.ended_at) <= str(after.started_at) for before, after in itertools.pairwise(runs))


def test_a_new_chat_runs_beside_and_does_not_move_the_notebook(terminal: Any) -> None:
    own = terminal.cell("%%ask\nsay 1").chat
    first = terminal.cell("%%ask --bg\nsay a\nwait 60")
    beside = terminal.cell("%%ask --bg --new-chat\nsay b")
    assert (beside.text, first.done()) == ("b", False)
    assert beside.chat != own
    first.cancel()
    until(first.done)
    assert own == terminal.cell("%%ask\nsay 2").chat


def test_what_waits_for_its_turn_and_is_cancelled_is_never_started(terminal: Any, client: AgentService) -> None:
    first = terminal.cell("%%ask --bg\nsay a\nwait 60")
    second = terminal.cell("%%ask --bg\nsay b")
    second.cancel()
    with pytest.raises(AskError, match="nothing was started"):
        _ = second.text
    until(lambda: first.run_id)
    first.cancel()
    with pytest.raises(RunFailed, match="was cancelled"):
        _ = first.text
    assert client.runs.get(first.run_id).status == "cancelled"
    assert list(terminal.cell("%runs")["run_id"]) == [first.run_id]


def test_in_a_notebook_a_line_with_a_button_moves_and_one_static_output_stays(kernel: Any) -> None:
    answer = kernel.cell("%%ask --bg\nsay **hello** <script>x</script>\nwait 0.5", cell_id="c1")
    shown = kernel.shown
    line, card = shown.outputs
    assert "`%runs" in line["text/plain"], "what a notebook holds that is saved now"
    assert VIEW in card
    until(answer.done)
    output, nothing = shown.outputs
    assert not any(nothing.values())
    assert set(output) == {"text/plain", "text/html"}
    assert offences(output["text/html"]) == []
    assert shown.metadata["agentsvc_nb"] == {"run_id": answer.run_id, "chat": answer.chat, "status": "completed"}
    kernel.cell("_", cell_id="c2")
    assert kernel.shown.outputs == [output]


def test_without_updates_it_is_done_when_the_cell_is(kernel: Any) -> None:
    assert kernel.cell("%%ask --bg\nsay hello\nwait 0.2").done()
    (output,) = kernel.shown.outputs
    assert output["text/plain"].startswith("hello")


@pytest.fixture
def notebook() -> Iterator[Any]:
    shell: Any = loaded(KernelShell, "/home/ada/background.ipynb")
    yield shell
    shell.cell("%unload_ext agentsvc_nb")
    KernelShell.clear_instance()


@pytest.mark.rule("Restart and Run All starts no runs.")
def test_restart_and_run_all_starts_no_run(notebook: Any) -> None:
    cells = ["%%ask --bg\nsay one", "%%ask --bg\nsay two", "%%ask --on-busy wait\nsay three"]
    seen = []
    for _ in range(2):
        answers = [notebook.cell(cell, cell_id=f"c{number}") for number, cell in enumerate(cells)]
        assert [one.text for one in answers] == ["one", "two", "three"]
        seen.append([one.run_id for one in answers])
        notebook.cell("%unload_ext agentsvc_nb")
        notebook.cell("%load_ext agentsvc_nb")
    assert seen[0] == seen[1]


QUICK = '%%job echo_job --bg\nsteps: 2\nseconds: 0\nfiles: {"out/x.txt": "made"}'
SLOW = "%%job echo_job --bg\nsteps: 100\nseconds: 100"


def test_a_job_is_a_future_and_one_static_output_stays(kernel: Any) -> None:
    later = kernel.cell(f"{QUICK}", cell_id="c1")
    area = kernel.shown
    line, bar = area.outputs
    assert f"`%jobs show {later.job_id}`" in line["text/plain"]
    assert VIEW in bar
    assert ([file.path for file in later.files], list(later.files.df["path"])) == (["out/x.txt"], ["out/x.txt"])
    assert (later.done(), later.status, later.job.status) == (True, "succeeded", "succeeded")
    output, _ = until(lambda: area.outputs, lambda outputs: not any(outputs[1].values()))
    assert "out/x.txt" in output["text/html"]
    assert offences(output["text/html"]) == []


def test_nothing_hostile_gets_into_a_card_or_a_bar() -> None:
    for evil in HOSTILE:
        _card_is_harmless(evil)
        _bar_is_harmless(evil)


def _card_is_harmless(evil: str) -> None:
    cell, run = Cell(), Script()
    screen = CardScreen(cell, lambda *_: None, lambda *_: None, Clock())
    run.view.run_id = run.view.status = evil
    run.say(evil)
    run.event("tool.call", call_id="1", tool=evil)
    run.event("approval.requested", call_id=evil, tool=evil, input={evil: evil})
    run.event("plan.changed", steps=[{"text": evil, "state": evil}, evil])
    run.event("limit.near", max_cents=evil, spent_cents=8, suggested_cents=evil)
    screen.draw(run.view)
    _is_harmless(cell)


def _bar_is_harmless(evil: str) -> None:
    cell = Cell()
    screen = BarsScreen(cell)
    job = Job(job_id=evil, tool=evil, status=evil, progress=Progress(done=1, total=2, message=evil))
    screen.begin([job], lambda job_id: None)
    screen.draw([job], {job.job_id: JobResult(job)}, 1.0)
    _is_harmless(cell)


def _is_harmless(cell: Cell) -> None:
    front = front_of(cell.outputs[1])
    assert offences(cell.outputs[0]["text/html"]) == offences(markup(front)) == []
    assert not [word for word in words(front) if FORBIDDEN.search(word)]
