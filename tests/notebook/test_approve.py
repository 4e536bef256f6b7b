"""Tools that wait for somebody's yes: seen in the cell that waits, answered by `%approve` and from elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pytest
from IPython.core.completer import provisionalcompleter

from agentsvc_nb import AgentService, MapProgress
from agentsvc_nb.client.approvals import waiting_calls
from agentsvc_nb.notebook.ask.each import RowsBar
from agentsvc_nb.notebook.display.render import answer_bundle
from agentsvc_nb.notebook.display.waiting_calls import INPUT_CHARS, calls_bundle
from agentsvc_nb.notebook.errors import AskError, RunFailed, RunStopped
from agentsvc_nb.testing import RunningService, running_service
from tests.notebook.allowlist import offences
from tests.notebook.fronts import decide, front_of
from tests.notebook.screens import Script
from tests.support.waiting import until

CALL = 'say Shall I?\ncall echo_job {"steps": 0, "seconds": 0}\nsay done'


@pytest.fixture(scope="module")
def asking() -> Iterator[RunningService]:
    with running_service(model="scripted", approve_effects="yes") as service:
        yield service


@pytest.fixture(autouse=True)
def connected(asking: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", asking.api_key)
    monkeypatch.setenv("AGENTSVC_BASE_URL", asking.base_url)


@pytest.fixture
def client(asking: RunningService) -> Iterator[AgentService]:
    with AgentService(asking.api_key, asking.base_url) as client:
        yield client


def waiting(client: AgentService, run_id: str) -> str:
    return until(lambda: [*waiting_calls(client, run_id)])[0]


class Somebody:
    """Who answers from elsewhere while the cell blocks: waits until the cell shows the call."""

    def __init__(self, seen: Callable[[], str], act: Callable[[], object]) -> None:
        self.text = ""

        def go() -> None:
            self.text = until(seen, lambda text: "waits for your approval" in text)
            act()

        self._thread = threading.Thread(target=go)
        self._thread.start()

    def went(self) -> str:
        self._thread.join(60)
        return self.text


def shown(kernel: Any, kind: str = "text/plain") -> Callable[[], str]:
    """What the running cell shows now."""
    return lambda: "\n".join(output[kind] for output in kernel.shown.outputs) if hasattr(kernel, "shown") else ""


def newest(terminal: Any) -> str:
    (row,) = [row for row in _session(terminal).journal.runs(None) if row["status"] in ("queued", "running")]
    return str(row["run_id"])


def _session(shell: Any) -> Any:
    (ask,) = [part for part in shell.configurables if type(part).__name__ == "Ask"]
    return ask.session


def tab(shell: Any, text: str) -> list[str]:
    with provisionalcompleter():
        return [text[: each.start] + each.text for each in shell.Completer.completions(text, len(text))]


def test_a_run_in_the_background_is_approved_from_the_next_cell(kernel: Any, client: AgentService) -> None:
    answer = kernel.cell("%%ask --bg\n" + CALL, cell_id="c1")
    call = waiting(client, until(lambda: answer.run_id))
    table = kernel.cell("%approve")
    assert (list(table["call_id"]), list(table["tool"])) == ([call], ["echo_job"])
    assert table.df["input"][0] == {"steps": 0, "seconds": 0}
    assert '"steps": 0' in repr(table)
    assert f"%approve --refuse {call}" in repr(table)
    assert until(lambda: tab(kernel, "%approve call_")) == [f"%approve {call}"]
    kernel.cell(f"%approve {call[:12]}")
    assert answer.text.split() == ["Shall", "I?", "done"]
    assert "echo_job was approved" in answer._repr_mimebundle_()["text/html"], "the timeline tells it"
    assert tab(kernel, "%approve call_") == []
    assert repr(kernel.cell("%approve")) == "Nothing waits for approval."
    with pytest.raises(AskError, match=f"No call {call} waits"):
        kernel.cell(f"%approve {call}")


def test_a_run_in_the_background_is_approved_in_its_card(kernel: Any, client: AgentService) -> None:
    answer = kernel.cell("%%ask --bg\n" + CALL, cell_id="c1")
    front = front_of(kernel.shown.outputs[1])
    until(lambda: front.parts("asked/"))
    decide(front, True)
    assert answer.text.split() == ["Shall", "I?", "done"]
    assert "echo_job was approved" in answer._repr_mimebundle_()["text/html"]


def test_a_refusal_goes_by_the_run_and_tells_why(
    terminal: Any, client: AgentService, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = terminal.cell("%%ask --bg\n" + CALL)
    waiting(client, until(lambda: answer.run_id))
    terminal.cell(f'%approve --refuse {answer.run_id[:8]} --reason "Not before Monday"')
    assert f"Refused: echo_job of run {answer.run_id}." in capsys.readouterr().out
    answer.wait()
    assert "echo_job was refused: Not before Monday" in answer.wait()._repr_mimebundle_()["text/html"]
    with pytest.raises(AskError, match="No call of run"):
        terminal.cell(f"%approve {answer.run_id}")


def test_a_live_cell_shows_what_it_waits_for_until_somebody_answers(kernel: Any, client: AgentService) -> None:
    def approve() -> None:
        run_id = newest(kernel)
        client.runs.approve(run_id, waiting(client, run_id))

    somebody = Somebody(shown(kernel), approve)
    kernel.cell("x = 1")
    answer = kernel.cell("%%ask\n" + CALL, cell_id="c1")
    seen = somebody.went()
    assert '"steps": 0' in seen
    assert f"agentsvc runs approve {answer.run_id}" in seen
    assert "/app/chats/" in seen
    assert "Stop cancels the run" in seen
    (output,) = kernel.shown.outputs
    assert "waits for your approval" not in output["text/plain"]
    assert offences(output["text/html"]) == []


def test_a_static_cell_says_that_it_waits_and_leaves_one_output(kernel: Any, client: AgentService) -> None:
    kernel.cell("x = 1")
    somebody = Somebody(shown(kernel), lambda: client.runs.cancel(newest(kernel)))
    with pytest.raises(RunFailed, match="was cancelled"):
        kernel.cell("%%ask\n" + CALL)
    assert "%approve call_" in somebody.went()
    assert len(kernel.shown.outputs) == 1


def test_the_time_given_is_heeded_and_the_failure_says_what_waits(kernel: Any, client: AgentService) -> None:
    run_id = client.runs.start(CALL).run_id
    call = waiting(client, run_id)
    with pytest.raises(RunFailed, match=f"echo_job waits for approval: `%approve {call}`"):
        kernel.cell(f"%runs attach {run_id} --timeout 2")
    assert "waits for your approval" in kernel.shown.outputs[0]["text/plain"]
    kernel.cell(f"%approve {run_id}")
    assert client.runs.wait(run_id, poll=0.05).status == "completed"


def test_who_waits_for_a_background_run_is_told_and_stop_ends_the_waiting(
    terminal: Any, client: AgentService, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = terminal.cell("%%ask --bg -o answer\n" + CALL)
    call = waiting(client, until(lambda: answer.run_id))
    until(lambda: "waits for your approval" in repr(answer._repr_mimebundle_()))

    def stop(timeout: float) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(answer._future, "result", stop)
        with pytest.raises(RunStopped):
            terminal.cell("answer.text")
    said = capsys.readouterr().out
    assert f"%approve {call}" in said
    assert "Stop ends this waiting" in said
    terminal.cell(f"%approve {call}")
    assert answer.wait().status == "completed"


def test_who_waits_for_runs_is_told_what_they_wait_for(
    terminal: Any, client: AgentService, capsys: pytest.CaptureFixture[str]
) -> None:
    slow, asking = client.runs.start("wait 600").run_id, client.runs.start(CALL).run_id
    call = waiting(client, asking)
    with pytest.raises(RunFailed, match=f"has not ended within 2 s; it goes on.*{slow}"):
        terminal.cell(f"%runs wait {slow} {asking} --timeout 2")
    said = capsys.readouterr().out
    assert said.count(f"%approve {call}") == 1, "once, though it looked again and again"
    assert "Stop ends this waiting, not the run." in said
    with pytest.raises(RunFailed, match=f"echo_job waits for approval: `%approve {call}`"):
        terminal.cell(f"%runs wait {asking} --timeout 0.2")
    client.runs.cancel(slow)
    client.runs.approve(asking, call)
    terminal.cell(f"%runs wait {slow} {asking}")
    assert client.runs.get(asking).status == "completed"


def test_rows_that_wait_are_listed_once_the_cell_was_stopped(terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(progress: MapProgress) -> None:
        if len(progress.going) == 2:
            raise KeyboardInterrupt

    with running_service(model="scripted", approve_effects="yes", sync_hold_seconds=0.2) as service:
        monkeypatch.setenv("SERVICE_API_KEY", service.api_key)
        monkeypatch.setenv("AGENTSVC_BASE_URL", service.base_url)
        terminal.user_ns["rows"] = pd.DataFrame({"number": [1, 2]})
        cell = '%%ask --each rows\ncall echo_job {"steps": 0, "seconds": 0}\nsay {{number}}'
        with monkeypatch.context() as patch:
            patch.setattr(RowsBar, "__call__", lambda self, progress: stop(progress))
            with pytest.raises(RunStopped):
                terminal.cell(cell)
        table = until(lambda: terminal.cell("%approve"), lambda table: len(table) == 2)
        for call in table["call_id"]:
            terminal.cell(f"%approve {call}")
        assert list(terminal.cell(cell).frame["answer"]) == ["1", "2"]
        assert len(terminal.cell("%approve")) == 0
        assert _session(terminal).known.rows == {}


def test_a_row_that_is_not_there_is_asked_for_once(terminal: Any) -> None:
    known = _session(terminal).known
    known.rows["00000000-0000-4000-8000-000000000000"] = None
    assert len(terminal.cell("%approve")) == 0
    assert known.rows == {}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%approve last", "Name the call or its run"),
        ("%approve --refuse", "The call is missing"),
        ("%approve call_0123456789 --reason x", "--reason goes with --refuse"),
        ("%approve call_0123456789", "No call call_0123456789 waits"),
        ("%approve nothing", "'nothing' is not a run id"),
    ],
)
def test_what_can_not_be_answered_is_told(terminal: Any, line: str, said: str) -> None:
    with pytest.raises(AskError, match=said) as caught:
        terminal.cell(line)
    assert caught.value.hint


def test_the_table_is_typed_when_it_is_empty_and_help_has_an_example(
    terminal: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    found = terminal.cell("%approve -o calls")
    assert [str(kind) for kind in terminal.user_ns["calls"].dtypes[:4]] == [
        "string", "string", "object", "datetime64[ns, UTC]",
    ]  # fmt: skip
    assert len(found) == 0
    terminal.cell("%approve?")
    assert "--reason" in capsys.readouterr().out


def test_what_is_asked_is_shown_exactly_safely_and_bounded() -> None:
    script = Script()
    evil = "</pre><script>alert(1)</script>\u202egpj.exe\x1b[2J\u3164"
    script.event("approval.requested", call_id="call_<b>", tool="<img src=x>", input={evil: ["\n", "x" * 10_000]})
    bundle = calls_bundle([*script.view.asked.values()])
    assert offences(bundle["text/html"]) == []
    assert "<script" not in bundle["text/html"]
    assert r"\u202egpj.exe\u001b[2J\u3164" in bundle["text/plain"], "what can't be seen is shown as its escape"
    assert len(bundle["text/plain"]) < INPUT_CHARS + 1_000
    assert "10,0" in bundle["text/plain"], "says how long it is"


def test_the_transcript_forgets_what_no_longer_waits_and_tells_it_in_the_timeline() -> None:
    script = Script()
    for number in (1, 2):
        script.event("approval.requested", call_id=f"call_{number}", tool="send_email", input={"n": number})
    script.event("approval.decided", call_id="call_1", approved=False, reason="<b>no</b>")
    assert [*script.view.asked] == ["call_2"]
    script.event("run.resumed", discard_after=1)
    assert script.view.asked == {}
    script.event("approval.requested", call_id="call_2", tool="send_email", input={})
    script.end("cancelled")
    assert script.view.asked == {}
    html = answer_bundle(script.view)["text/html"]
    assert "send_email was refused: &lt;b&gt;no&lt;/b&gt;" in html
    assert offences(html) == []
