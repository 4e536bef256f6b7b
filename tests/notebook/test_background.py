"""Runs that go on while other cells run: their order, what they show, and what waits for them."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.client.errors import JobTimeoutError
from agentsvc_nb.notebook.errors import AskError, RunFailed
from tests.notebook.allowlist import offences
from tests.notebook.fronts import VIEW, front_of, markup
from tests.notebook.shells import KernelShell, loaded
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("connected")


def test_the_cell_ends_at_once_and_the_result_waits(terminal: Any) -> None:
    answer = terminal.cell("%%ask --bg -o reply\nsay hello\nwrite out/a.txt hi\nwait 0.5")
    assert terminal.user_ns["reply"] is answer is terminal.user_ns["_"]
    assert not answer.done()
    assert (answer.text, list(answer.files.df["path"]), answer.status) == ("hello", ["out/a.txt"], "completed")
    assert answer.done()
    terminal.cell("%config Ask.background = True")
    assert not terminal.cell("%%ask -o last\nwait 60").done(), "it can be the rule"
    terminal.user_ns["last"].cancel()


def test_it_can_be_awaited(terminal: Any) -> None:
    answer = terminal.cell("%%ask --bg\nsay hello\nwait 0.2")

    async def read() -> str:
        return str((await answer).text)

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
    with pytest.raises(RunFailed, match="was cancelled") as failed:
        _ = first.text
    assert failed.value.hint == "", "an attribute takes no options"
    assert client.runs.get(first.run_id).status == "cancelled"
    assert list(terminal.cell("%runs")["run_id"]) == [first.run_id]


def test_a_failed_run_is_raised_by_who_reads_it(terminal: Any) -> None:
    answer = terminal.cell("%%ask --bg\nsay so far\nfail agent_error It broke")
    with pytest.raises(RunFailed, match="It broke"):
        _ = answer.text
    kept = terminal.cell("%%ask --bg --no-raise-error\nsay so far\nfail agent_error It broke")
    assert (kept.text, kept.run.status) == ("so far", "failed")


def test_waiting_has_its_time_and_the_run_goes_on(terminal: Any) -> None:
    answer = terminal.cell("%%ask --bg\nsay begun\nwait 60")
    with pytest.raises(JobTimeoutError):
        answer.wait(timeout=0.1)
    assert not answer.done()
    answer.cancel()
    until(answer.done)


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
    kernel.cell("answer = _", cell_id="c2")
    kernel.cell("answer", cell_id="c3")
    assert kernel.shown.outputs == [output]


def test_in_voila_there_is_only_the_widget_which_ends_as_the_answer(
    kernel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOILA_BASE_URL", "/")
    answer = kernel.cell("%%ask --bg\nsay **hello**\nwait 0.2")
    (card,) = kernel.shown.outputs
    until(answer.done)
    assert "<strong>hello</strong>" in markup(front_of(card))
    assert [*kernel.shown.outputs] == [card]


def test_why_nothing_was_started_stands_in_the_card(kernel: Any) -> None:
    answer = kernel.cell("%%ask --bg\nfail-http api_wallet_exhausted", cell_id="c1")
    shown = kernel.shown
    until(answer.done)
    assert "api_wallet_exhausted" in shown.outputs[0]["text/plain"]
    with pytest.raises(AskError, match="api_wallet_exhausted"):
        _ = answer.text


def test_without_updates_it_is_done_when_the_cell_is(kernel: Any) -> None:
    assert kernel.cell("%%ask --bg\nsay hello\nwait 0.2").done()
    (output,) = kernel.shown.outputs
    assert output["text/plain"].startswith("hello")
    with pytest.raises(RunFailed) as failed:
        kernel.cell("%%ask --bg\nfail agent_error no")
    assert "--no-raise-error" in failed.value.hint, "here it is the cell that fails"


@pytest.fixture
def notebook() -> Iterator[Any]:
    shell: Any = loaded(KernelShell, "/home/ada/background.ipynb")
    yield shell
    shell.cell("%unload_ext agentsvc_nb")
    KernelShell.clear_instance()


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


def test_a_service_that_is_gone_leaves_the_reason_in_the_card(notebook: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTSVC_BASE_URL", "http://127.0.0.1:9")
    notebook.cell("later = None", cell_id="c3")
    notebook.cell("%%ask --bg --new-chat -o later\nsay three", cell_id="c4")
    shown = notebook.shown
    with pytest.raises(AskError) as started:
        notebook.user_ns["later"].wait()
    output, nothing = shown.outputs
    assert not any(nothing.values())
    assert output["text/plain"] == f"✗ {started.value}\n{started.value.hint}"
