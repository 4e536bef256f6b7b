"""`%runs`: what it cost, one run again, two beside each other, all in a file; against a real service."""

from __future__ import annotations

from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.notebook.display import results
from agentsvc_nb.notebook.display.results import ResultTable
from agentsvc_nb.notebook.errors import RunFailed
from tests.notebook.allowlist import offences

pytestmark = pytest.mark.usefixtures("connected")


def test_the_table_tells_what_each_run_and_all_of_them_cost(terminal: Any) -> None:
    terminal.cell("%%ask\nsay hello\nusage 3000 1200")
    terminal.cell("%%ask --no-raise-error\nusage 1000 0\nfail agent_error it broke")
    table = terminal.cell("%runs -o spent")
    assert list(table["cost_cents"]) == [0.42, 0.1]
    assert list(table["status"]) == ["completed", "failed"]
    assert "2 runs, 0.52 cents in all" in repr(table)
    assert offences(table._repr_mimebundle_()["text/html"]) == []
    frame = terminal.user_ns["spent"]
    assert [str(kind) for kind in frame.dtypes] == list(results.RUNS.values())
    assert bool((frame["seconds"] >= 0).all())


def test_no_runs_are_a_typed_table(terminal: Any) -> None:
    table = terminal.cell("%runs")
    assert "0 runs" in repr(table)
    assert [str(kind) for kind in table.df.dtypes] == list(results.RUNS.values())


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
    with pytest.raises(RunFailed, match=rf"has not ended within 0.2 s; it goes on\. \(run {slow.run_id}\)") as late:
        terminal.cell(f"%runs wait {slow.run_id} --timeout 0.2")
    assert isinstance(late.value.answer, ResultTable)
    client.runs.cancel(slow.run_id)
    terminal.cell(f"%runs wait {slow.run_id} {quick.run_id}")
    assert [client.runs.get(run.run_id).status for run in (slow, quick)] == ["cancelled", "completed"]
