"""Tools that wait for somebody's yes: seen in the cell that waits, answered by `%approve` and from elsewhere."""

from __future__ import annotations

import html
import threading
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.client.approvals import waiting_calls
from agentsvc_nb.notebook.display.waiting_calls import INPUT_CHARS, calls_bundle
from agentsvc_nb.notebook.errors import AskError
from tests.notebook.allowlist import offences
from tests.notebook.screens import Script
from tests.notebook.shells import bundle_of
from tests.support.waiting import until

CALL = 'say Shall I?\ncall echo_job {"steps": 0, "seconds": 0}\nsay done'


def waiting(client: AgentService, run_id: str) -> str:
    return until(lambda: [*waiting_calls(client, run_id)])[0]


def test_a_run_in_the_background_waits_until_it_is_approved_from_the_next_cell(
    kernel: Any, approver: AgentService
) -> None:
    answer = kernel.cell("%%ask --bg\n" + CALL, cell_id="c1")
    call = waiting(approver, until(lambda: answer.run_id))
    table = kernel.cell("%approve")
    assert (list(table["call_id"]), list(table["tool"])) == ([call], ["echo_job"])
    assert f"%approve --refuse {call[:13]}`" in repr(table)
    assert not answer.done()
    assert "tool.result" not in [event.type for event in approver.runs.events(answer.run_id).data]
    kernel.cell(f"%approve {call[:12]}")
    assert answer.text.split() == ["Shall", "I?", "done"]
    assert "echo_job was approved" in bundle_of(answer)["text/html"]
    with pytest.raises(AskError, match=f"No call {call} waits"):
        kernel.cell(f"%approve {call}")


def test_a_refusal_goes_by_the_run_and_tells_why(terminal: Any, approver: AgentService) -> None:
    answer = terminal.cell("%%ask --bg\n" + CALL)
    waiting(approver, until(lambda: answer.run_id))
    terminal.cell(f'%approve --refuse {answer.run_id[:8]} --reason "Not before Monday"')
    assert "echo_job was refused: Not before Monday" in bundle_of(answer.wait())["text/html"]
    with pytest.raises(AskError, match="No call of run"):
        terminal.cell(f"%approve {answer.run_id}")


def test_arguments_are_changed_with_a_dict(terminal: Any, approver: AgentService) -> None:
    answer = terminal.cell("%%ask --bg\n" + CALL)
    call = waiting(approver, until(lambda: answer.run_id))
    with pytest.raises(AskError, match="no dict with this name"):
        terminal.cell(f"%approve {call} --input missing")
    terminal.cell("calls = %approve\nchanged = calls.df['input'][0] | {'files': {'net.txt': 'net'}}")
    terminal.cell(f"%approve {call} --input changed")
    shown = html.unescape(bundle_of(answer.wait())["text/html"])
    assert "echo_job was approved as changed" in shown
    assert '"files": {"net.txt": "net"}}</code>' in shown
    assert [file.path for file in approver.files.list(answer.chat)] == ["net.txt"]


def test_further_calls_are_approved_listed_and_wait_again(terminal: Any, approver: AgentService) -> None:
    answer = terminal.cell("%%ask --bg\n" + CALL)
    call = waiting(approver, until(lambda: answer.run_id))
    with pytest.raises(AskError, match="--folder is only valid with --for"):
        terminal.cell(f"%approve {call} --folder reports")
    terminal.cell(f"%approve {call} --for hour")
    answer.wait()
    [made] = approver.runs.standing_approvals()
    assert made.id in repr(terminal.cell("%approve --standing"))
    again = terminal.cell("%%ask\n" + CALL)
    assert "echo_job was approved in advance" in bundle_of(again)["text/html"]
    terminal.cell(f"%approve --revoke {made.id}")
    assert "each call waits" in repr(terminal.cell("%approve --standing"))


def test_a_cell_shows_what_it_waits_for_until_somebody_answers(kernel: Any, approver: AgentService) -> None:
    seen: list[str] = []

    def somebody() -> None:
        def shown() -> str:
            return "\n".join(output["text/plain"] for output in kernel.shown.outputs)

        seen.append(until(shown, lambda text: "waits for your approval" in text))
        (run,) = approver.runs.list(status="running")
        approver.runs.approve(run.run_id, waiting(approver, run.run_id))

    kernel.cell("x = 1")
    thread = threading.Thread(target=somebody)
    thread.start()
    answer = kernel.cell("%%ask\n" + CALL, cell_id="c1")
    thread.join()
    assert '"steps": 0' in seen[0]
    assert f"agentsvc runs approve {answer.run_id[:8]}`" in seen[0]
    (output,) = kernel.shown.outputs
    assert "waits for your approval" not in output["text/plain"]
    assert offences(output["text/html"]) == []


def test_what_is_asked_is_shown_exactly_safely_and_bounded() -> None:
    script = Script()
    evil = "</pre><script>alert(1)</script>\u202egpj.exe\x1b[2J\u3164"
    script.event("approval.requested", call_id="call_<b>", tool="<img src=x>", input={evil: ["\n", "x" * 10_000]})
    bundle = calls_bundle([*script.view.waiting_calls.values()])
    assert offences(bundle["text/html"]) == []
    assert r"\u202egpj.exe\u001b[2J\u3164" in bundle["text/plain"], "what can't be seen is shown as its escape"
    assert len(bundle["text/plain"]) < INPUT_CHARS + 1_000
