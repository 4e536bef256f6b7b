"""The magics against a real service, in shells of this process."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.notebook.display import results
from agentsvc_nb.notebook.display.results import ResultTable
from agentsvc_nb.notebook.errors import AskError, RunFailed
from agentsvc_nb.testing import RunningService, running_service
from tests.notebook.allowlist import offences
from tests.unit.agents.chat_server import Reply, chat_server

pytestmark = pytest.mark.usefixtures("connected")


def test_an_answer_is_in_the_variable_and_in_underscore(terminal: Any, capsys: pytest.CaptureFixture[str]) -> None:
    answer = terminal.cell("%%ask -o reply\nsay hello\nwrite out/a.txt hi there\nusage 30 12")
    said = capsys.readouterr().out
    assert said.count("hello") == 1
    assert "✓ completed" in said
    assert answer is terminal.user_ns["reply"] is terminal.user_ns["_"]
    assert (answer.text, answer.status, list(answer.files.df["path"])) == ("hello", "completed", ["out/a.txt"])


def test_a_cell_with_an_id_is_live_and_leaves_one_output(kernel: Any) -> None:
    answer = kernel.cell("%%ask\nsay one\nsay\nsay two\nwait 0.5", cell_id="c1")
    assert kernel.shown.messages > 3
    (output,) = kernel.shown.outputs
    assert answer._repr_mimebundle_() == output
    assert {"run_id": answer.run_id, "chat": answer.chat, "status": "completed"} == kernel.shown.metadata["agentsvc_nb"]


def test_a_failed_run_raises_why_and_keeps_what_it_left(terminal: Any) -> None:
    with pytest.raises(RunFailed, match="agent_error: It broke") as caught:
        terminal.cell("%%ask -o reply\nsay so far\nfail agent_error It broke")
    assert terminal.user_ns["reply"].text.strip() == "so far"
    assert terminal.user_ns["reply"].run_id in str(caught.value)
    failed = terminal.cell("%%ask --no-raise-error\nfail agent_error no")
    assert failed.status == "failed"
    assert failed._repr_mimebundle_()["text/plain"].endswith(f"run {failed.run_id}")


def test_a_wrong_key_is_told_and_not_shown(terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "svc_sk_" + "x" * 43
    monkeypatch.setenv("SERVICE_API_KEY", key)
    with pytest.raises(AskError) as caught:
        terminal.cell("%%ask\nsay x")
    assert "SERVICE_API_KEY" in caught.value.hint
    assert key not in f"{caught.value} {caught.value.hint}"


def test_after_the_time_given_the_run_goes_on_and_can_be_followed(terminal: Any, client: AgentService) -> None:
    with pytest.raises(RunFailed) as caught:
        terminal.cell("%%ask -o late --timeout 0.5\nsay begun\nwait 60")
    answer: Any = caught.value.answer
    assert answer is terminal.user_ns["late"]
    assert client.runs.cancel(answer.run_id).status != "failed"
    with pytest.raises(RunFailed, match="was cancelled"):
        terminal.cell(f"%runs attach {answer.run_id}")


def test_a_run_that_reached_its_limit_says_how_to_go_on_and_goes_on(terminal: Any, client: AgentService) -> None:
    script = "usage 10000 0\nsay one\nstep 1\nusage 20000 0\nsay two"
    run_id = client.runs.start(script, max_cents=1).run_id
    with pytest.raises(RunFailed, match=f"%runs resume {run_id[:8]} --max-cents N"):
        terminal.cell(f"%runs attach {run_id}")
    answer = terminal.cell(f"%runs resume {run_id} --max-cents 3")
    assert answer.text == "one\ntwo"


def test_a_file_of_ones_own_is_not_replaced_unasked(terminal: Any, tmp_path: Path) -> None:
    made = tmp_path / "made.txt"
    terminal.cell("%%ask\nsay x\nwrite out/made.txt made")
    assert terminal.cell("%files get out/made.txt") == "made.txt"
    assert terminal.cell("%files get out/made.txt") == "made.txt", "it has the same content"
    made.write_text("my own, newer")
    with pytest.raises(AskError, match="nothing was replaced") as caught:
        terminal.cell("%files get out/made.txt")
    assert all(option in caught.value.hint for option in ("--force", "--to DIR"))
    assert made.read_text() == "my own, newer"
    terminal.cell("%files get --force out/made.txt")
    assert made.read_text() == "made"


def test_a_frame_says_which_run_model_and_inputs_it_is_from(terminal: Any, tmp_path: Path) -> None:
    (tmp_path / "plan.txt").write_text("the plan")
    answer = terminal.cell("%%ask --file plan.txt\nwrite out/a.txt x")
    digest = hashlib.sha256(b"the plan").hexdigest()
    facts = {"run_id": answer.run_id, "model": "scripted", "chat": answer.chat, "inputs": [digest]}
    assert answer.files.df.attrs == facts
    assert terminal.cell("%runs show last").files.df.attrs == facts


def test_the_budget_of_a_day_is_told(
    terminal: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_service(model="scripted", day_cents=5) as service:
        monkeypatch.setenv("SERVICE_API_KEY", service.api_key)
        monkeypatch.setenv("AGENTSVC_BASE_URL", service.base_url)
        terminal.cell("%%ask\nusage 20000 0\nsay x")
        terminal.cell("%agentsvc")
    assert "2.00 of 5.00 cents billed" in capsys.readouterr().out


def test_a_model_without_tools_is_named_with_the_service(
    terminal: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with chat_server(Reply(("Hello.",))) as server:
        settings = {"model_url": server.url, "model_tools": "no"}
        with running_service(model="openai-chat:small", **settings) as service:
            monkeypatch.setenv("SERVICE_API_KEY", service.api_key)
            monkeypatch.setenv("AGENTSVC_BASE_URL", service.base_url)
            terminal.cell("%%ask\nHow are you?")
            for command in ("%agentsvc", "%agentsvc model openai-chat:small"):
                capsys.readouterr()
                terminal.cell(command)
                assert "openai-chat:small has no tools, so it computes nothing" in capsys.readouterr().out


def test_the_key_is_nowhere(
    kernel: Any, service: RunningService, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel.cell("%%ask\nsay x")
    kernel.cell("%agentsvc")
    shown = repr(kernel.shown.outputs) + capsys.readouterr().out
    assert "cents billed" not in shown, "there is no budget of a day"
    (ask,) = [part for part in kernel.configurables if type(part).__name__ == "Ask"]
    shown += repr(vars(ask)) + repr(ask.session) + repr(ask.session.client()) + repr(kernel.user_ns["_"])
    files = [path for path in Path(os.environ["XDG_STATE_HOME"]).rglob("*") if path.is_file()]
    assert any(path.name == "journal.sqlite" for path in files)
    assert service.api_key not in shown
    assert not any(service.api_key.encode() in path.read_bytes() for path in files)


def test_the_table_tells_what_each_run_and_all_of_them_cost(terminal: Any) -> None:
    empty = terminal.cell("%runs")
    assert (len(empty), [str(kind) for kind in empty.df.dtypes]) == (0, list(results.RUNS.values()))
    terminal.cell("%%ask\nsay hello\nusage 3000 1200")
    terminal.cell("%%ask --no-raise-error\nusage 1000 0\nfail agent_error it broke")
    table = terminal.cell("%runs -o spent")
    assert list(table["cost_cents"]) == [0.42, 0.1]
    assert list(table["status"]) == ["completed", "failed"]
    assert "2 runs, 0.52 cents in all" in repr(table)
    assert offences(table._repr_mimebundle_()["text/html"]) == []
    frame = terminal.user_ns["spent"]
    assert [str(kind) for kind in frame.dtypes] == list(results.RUNS.values())


def test_a_run_is_shown_again_by_the_beginning_of_its_id(terminal: Any) -> None:
    asked = terminal.cell("%%ask\nsay hello\nwrite out/a.txt x")
    shown = terminal.cell(f"%runs show {asked.run_id[:8]} -o again")
    assert (shown.text, shown.run_id) == ("hello", asked.run_id)
    assert "out/a.txt" in shown._repr_mimebundle_()["text/plain"]
    assert terminal.user_ns["again"] is shown
    assert terminal.cell("%runs show last").run_id == asked.run_id


def test_an_active_run_is_shown_as_it_stands_and_goes_on(terminal: Any, client: AgentService) -> None:
    run = client.runs.start("say begun\nwait 60")
    with client.runs.attach(run.run_id) as stream:
        next(event for event in stream if event.type == "text.delta")
    shown = terminal.cell(f"%runs show {run.run_id}")
    assert (shown.text.strip(), shown.status) == ("begun", "running")
    terminal.cell(f"%runs cancel {run.run_id}")
    assert client.runs.wait(run.run_id).status == "cancelled"


def test_waiting_ends_with_the_runs_or_with_the_time(terminal: Any, client: AgentService) -> None:
    slow, quick = client.runs.start("wait 60"), client.runs.start("say x")
    with pytest.raises(RunFailed, match=slow.run_id) as late:
        terminal.cell(f"%runs wait {slow.run_id} --timeout 0.2")
    assert isinstance(late.value.answer, ResultTable)
    client.runs.cancel(slow.run_id)
    terminal.cell(f"%runs wait {slow.run_id} {quick.run_id}")
    assert [client.runs.get(run.run_id).status for run in (slow, quick)] == ["cancelled", "completed"]
