"""Runs that go on while other cells run: their order, what they show, and what waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.client.errors import JobTimeoutError
from agentsvc_nb.notebook.errors import AskError, RunFailed
from agentsvc_nb.testing import RunningService, running_service
from tests.notebook.allowlist import offences
from tests.notebook.fronts import front_of, markup
from tests.notebook.shells import KernelShell, loaded
from tests.support.waiting import until


@pytest.fixture(autouse=True)
def connected(service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", service.api_key)
    monkeypatch.setenv("AGENTSVC_BASE_URL", service.base_url)


def test_the_cell_ends_at_once_and_the_result_waits(terminal: Any) -> None:
    answer = terminal.cell("%%ask --bg -o reply\nsay hello\nwrite out/a.txt hi\nwait 1")
    assert terminal.user_ns["reply"] is answer is terminal.user_ns["_"]
    assert not answer.done()
    assert (answer.text, list(answer.files.df["path"]), answer.files[0].path) == ("hello", ["out/a.txt"], "out/a.txt")
    assert answer.done()
    assert answer.status == "completed"


def test_it_can_be_awaited(terminal: Any) -> None:
    answer = terminal.cell("%%ask --bg\nsay hello\nwait 0.5")

    async def read() -> str:
        return str((await answer).text)

    assert asyncio.run(read()) == "hello"


def test_three_of_one_chat_take_their_turns_in_the_order_of_their_cells(terminal: Any, client: AgentService) -> None:
    answers = [terminal.cell(f"%%ask --bg\nsay {number}\nwait 0.5") for number in range(3)]
    until(lambda: answers[0].run_id)
    assert answers[1].status == "waiting"
    texts = [answer.text for answer in answers]
    assert texts == ["0", "1", "2"]
    runs = [client.runs.get(answer.run_id) for answer in answers]
    assert len({run.chat for run in runs}) == 1
    assert [str(run.ended_at) for run in runs[:2]] <= [str(run.started_at) for run in runs[1:]]


def test_one_behind_a_run_of_another_kernel_waits_for_it(kernel: Any, client: AgentService) -> None:
    busy = client.runs.start("wait 2")
    answer = kernel.cell(f"%%ask --bg --chat {busy.chat}\nsay after", cell_id="c1")
    until(lambda: answer.status == "waiting")
    assert answer.text == "after"
    assert client.runs.get(busy.run_id).status == "completed"


def test_a_new_chat_runs_beside_and_does_not_move_the_notebook(terminal: Any) -> None:
    own = terminal.cell("%%ask\nsay 1").chat
    first = terminal.cell("%%ask --bg\nsay a\nwait 5")
    beside = terminal.cell("%%ask --bg --new-chat\nsay b")
    assert (beside.text, first.done()) == ("b", False)
    assert beside.chat != own
    first.cancel()
    until(first.done)
    assert own == terminal.cell("%%ask\nsay 2").chat


def test_what_waits_for_its_turn_and_is_cancelled_is_never_started(terminal: Any) -> None:
    first = terminal.cell("%%ask --bg\nsay a\nwait 2")
    second = terminal.cell("%%ask --bg\nsay b")
    second.cancel()
    with pytest.raises(AskError, match="given up before its run began; nothing was started"):
        _ = second.text
    assert first.text == "a"
    assert list(terminal.cell("%runs")["run_id"]) == [first.run_id]


def test_cancel_stops_the_run_on_the_service(terminal: Any, client: AgentService) -> None:
    answer = terminal.cell("%%ask --bg\nsay begun\nwait 60")
    until(lambda: answer.run_id)
    answer.cancel()
    with pytest.raises(RunFailed, match="was cancelled") as failed:
        _ = answer.text
    assert failed.value.hint == "", "an attribute takes no options"
    assert client.runs.get(answer.run_id).status == "cancelled"


def test_a_failed_run_is_raised_by_who_reads_it(terminal: Any) -> None:
    answer = terminal.cell("%%ask --bg\nsay so far\nfail agent_error It broke")
    with pytest.raises(RunFailed, match="It broke"):
        _ = answer.text
    kept = terminal.cell("%%ask --bg --no-raise-error\nsay so far\nfail agent_error It broke")
    assert (kept.text, kept.run.status) == ("so far", "failed")


def test_waiting_has_its_time_and_the_run_goes_on(terminal: Any) -> None:
    answer = terminal.cell("%%ask --bg\nsay begun\nwait 60")
    with pytest.raises(JobTimeoutError):
        answer.wait(timeout=0.3)
    assert not answer.done()
    answer.cancel()
    until(answer.done)


def test_in_a_notebook_a_line_with_a_button_moves_and_one_static_output_stays(kernel: Any) -> None:
    answer = kernel.cell("%%ask --bg\nsay **hello** <script>x</script>\nwait 1.5", cell_id="c1")
    shown = kernel.shown
    line, card = shown.outputs
    assert "`%runs" in line["text/plain"], "what a notebook holds that is saved now"
    assert "application/vnd.jupyter.widget-view+json" in card
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
    answer = kernel.cell("%%ask --bg\nsay **hello**\nwait 1")
    (card,) = kernel.shown.outputs
    assert not answer.done()
    front = front_of(card)
    assert front.part("run")
    until(answer.done)
    assert "<strong>hello</strong>" in markup(front)
    assert [*kernel.shown.outputs] == [card]


def test_why_nothing_was_started_stands_in_the_card(kernel: Any) -> None:
    answer = kernel.cell("%%ask --bg\nfail-http api_wallet_exhausted", cell_id="c1")
    shown = kernel.shown
    until(answer.done)
    assert "api_wallet_exhausted" in shown.outputs[0]["text/plain"]
    with pytest.raises(AskError, match="api_wallet_exhausted"):
        _ = answer.text


def test_without_updates_it_is_done_when_the_cell_is(kernel: Any) -> None:
    answer = kernel.cell("%%ask --bg\nsay hello\nwait 0.3")
    assert answer.done()
    (output,) = kernel.shown.outputs
    assert output["text/plain"].startswith("hello")
    with pytest.raises(RunFailed) as failed:
        kernel.cell("%%ask --bg\nfail agent_error no")
    assert "--no-raise-error" in failed.value.hint, "here it is the cell that fails"
    with pytest.raises(AskError, match="api_wallet_exhausted"):
        kernel.cell("%%ask --bg\nfail-http api_wallet_exhausted")
    assert "api_wallet_exhausted" not in str(kernel.shown.outputs), "the cell says it itself"


def test_background_can_be_the_rule(terminal: Any) -> None:
    terminal.cell("%config Ask.background = True")
    answer = terminal.cell("%%ask\nsay hello\nwait 0.5")
    assert not answer.done()
    assert answer.text == "hello"


@pytest.fixture
def notebook() -> Iterator[Any]:
    shell: Any = loaded(KernelShell, "/home/ada/background.ipynb")
    yield shell
    shell.cell("%unload_ext agentsvc_nb")
    KernelShell.clear_instance()


def test_restart_and_run_all_starts_no_run(notebook: Any) -> None:
    cells = ["%%ask --bg\nsay one\nwait 0.5", "%%ask --bg\nsay two", "%%ask --on-busy wait\nsay three"]
    seen = []
    for _ in range(2):
        answers = [notebook.cell(cell, cell_id=f"c{number}") for number, cell in enumerate(cells)]
        seen.append([until(lambda one=one: one.run_id) for one in answers])  # type: ignore[misc]
        assert [one.text for one in answers] == ["one", "two", "three"]
        notebook.cell("%unload_ext agentsvc_nb")
        notebook.cell("%load_ext agentsvc_nb")
    assert seen[0] == seen[1]


def test_a_service_that_is_gone_leaves_no_card(notebook: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_service() as gone:
        monkeypatch.setenv("SERVICE_API_KEY", gone.api_key)
        monkeypatch.setenv("AGENTSVC_BASE_URL", gone.base_url)
        notebook.cell("%%ask\nsay one", cell_id="c1")
    with pytest.raises(AskError):
        notebook.cell("%%ask --bg\nsay two", cell_id="c2")
    assert notebook.shown.outputs == [], "the cell fails, and says why itself"
    notebook.cell("later = None", cell_id="c3")
    notebook.cell("%%ask --bg --new-chat -o later\nsay three", cell_id="c4")
    shown = notebook.shown
    with pytest.raises(AskError) as started:
        notebook.user_ns["later"].wait()
    assert _end(shown.outputs) == f"✗ {started.value}\n{started.value.hint}"


def _end(outputs: list[Any]) -> str:
    """The one static output of a cell with a card that has ended."""
    output, nothing = outputs
    assert not any(nothing.values())
    assert set(output) == {"text/plain", "text/html"}
    return str(output["text/plain"])
