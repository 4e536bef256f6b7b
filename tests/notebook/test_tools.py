"""`%tools`, `%%tool`, `%jobs`, `%feedback`: the catalog, calls, forms, several jobs, and errors that go along."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import pytest

from agentsvc_nb import AgentService, StefanBrainError
from agentsvc_nb.client.models import columns
from agentsvc_nb.notebook.errors import AskError, RunFailed
from agentsvc_nb.wire.resources import FeedbackReport
from agentsvc_nb.wire.tools import ToolDescription
from tests.notebook.allowlist import FORBIDDEN, offences
from tests.notebook.fronts import say
from tests.notebook.shells import bundle_of
from tests.notebook.test_hostile import HOSTILE
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("connected")


QUICK = "steps: 1\nseconds: 0"
SLOW = "steps: 600\nseconds: 60"


def _shown(value: Any) -> tuple[str, str]:
    bundle = value._repr_mimebundle_()
    assert offences(bundle["text/html"]) == []
    return bundle["text/plain"], bundle["text/html"]


def test_the_catalog_says_how_each_tool_is_called(terminal: Any) -> None:
    text, html = _shown(terminal.cell("%tools -o catalog"))
    assert ">create_images</code></td>" in html
    assert re.search(r"^ *create_images +%%job ", text, re.MULTILINE)
    catalog = terminal.user_ns["catalog"]
    assert [str(kind) for kind in catalog.dtypes] == list(columns(ToolDescription).values())


def test_a_tool_is_called_and_its_answer_kept(terminal: Any, capsys: pytest.CaptureFixture[str]) -> None:
    terminal.cell("word = 'hello there'")
    answer = terminal.cell("%%tool ask_stefanbrain -o reply\nmessage: say {{word}}")
    assert answer is terminal.user_ns["reply"]
    assert answer.data["answer"] == "hello there"
    assert "hello there" in capsys.readouterr().out
    assert answer.chat == terminal.cell("%%ask\nsay x").chat, "a tool works in the notebook's own chat"


def test_a_tool_that_fails_fails_the_cell_with_its_reason(terminal: Any) -> None:
    cell = '{"message": "fail agent_error It broke"}'
    with pytest.raises(RunFailed, match="It broke") as caught:
        terminal.cell(f"%%tool ask_stefanbrain -o reply\n{cell}")
    assert terminal.user_ns["reply"].result.error.code == "agent_error"
    assert caught.value.answer is terminal.user_ns["reply"]
    assert terminal.cell(f"%%tool ask_stefanbrain --no-raise-error\n{cell}").result.is_error
    with pytest.raises(AskError, match="invalid_tool_input"):
        terminal.cell("%%tool ask_stefanbrain\nno_such_field: 1")


def test_several_jobs_are_watched_at_once(kernel: Any) -> None:
    started = [kernel.cell(f"%%job echo_job --bg\nsteps: 2\nseconds: {n}").job_id for n in (0, 1)]
    assert "%jobs watch" in kernel.shown.outputs[0]["text/plain"]
    table = kernel.cell("%jobs watch", cell_id="c1")
    assert kernel.shown.messages > 2
    assert list(table["job_id"]) == started
    assert list(table["status"]) == ["succeeded", "succeeded"]
    _shown(table)


def test_the_id_of_a_job_is_in_its_details(kernel: Any) -> None:
    done = kernel.cell(f"%%job echo_job\n{QUICK}")
    text, html = _shown(done)
    assert done.job.job_id not in text
    assert re.search(rf"</summary><div>job <code>{done.job.job_id}</code></div></details>", html)


def test_a_job_that_was_left_is_cancelled_by_its_id(terminal: Any, capsys: pytest.CaptureFixture[str]) -> None:
    job = terminal.cell("%%job echo_job --bg\n" + SLOW)
    with pytest.raises(RunFailed, match="1 of 1 jobs"):
        terminal.cell("%jobs watch --timeout 0.1")
    terminal.cell(f"%jobs cancel {job.job_id}")
    assert job.job_id in capsys.readouterr().out
    assert list(terminal.cell("%jobs watch last")["status"]) == ["cancelled"]


def _send(form: Any, **fields: Any) -> None:
    """Fill in these fields and press the button."""
    say(form.front, "send", text=json.dumps({**form.value, **fields}), unreadable=[])


def test_a_form_calls_its_tool_and_the_answer_stays_in_the_notebook(kernel: Any) -> None:
    form = kernel.cell("%tools form ask_stefanbrain -o form", cell_id="c1")
    assert form is kernel.user_ns["form"]
    summary, widget = kernel.shown.outputs
    assert "to show it again" in summary["text/plain"]
    assert offences(summary["text/html"]) == []
    assert "application/vnd.jupyter.widget-view+json" in widget
    _send(form, message="say hello <b>there</b>")
    until(lambda: form.answer and not form.front.part("busy"))
    assert form.answer.data["answer"] == "hello <b>there</b>"
    saved, _ = kernel.shown.outputs
    assert "hello &lt;b&gt;there" in saved["text/html"]
    assert "hello &lt;b&gt;there" in form.front.part("answer")
    assert "message: say hello <b>there</b>" in form.cell


def test_a_job_has_a_bar_in_the_form_and_is_cancelled_there(kernel: Any) -> None:
    form = kernel.cell("%tools form echo_job -o form", cell_id="c1")
    _send(form, steps=100, seconds=100)
    until(lambda: "1 of 100" in (form.front.part("job") or {"text": ""})["text"])
    _send(form, steps=100, seconds=100)  # while a call goes on, another is not made
    say(form.front, "cancel")
    until(lambda: not form.front.part("busy"))
    assert form.answer.status == "cancelled"


@pytest.fixture(autouse=True)
def no_error_of_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sys, "last_value", raising=False)


def _reported(terminal: Any, client: AgentService, line: str) -> FeedbackReport:
    terminal.cell(f"%feedback send -o said {line}")
    found = re.search(r"fb_[\w-]+", terminal.user_ns["said"])
    assert found
    return client.feedback.get(found[0])


def test_a_report_is_sent_and_listed(terminal: Any, client: AgentService) -> None:
    report = _reported(terminal, client, '"The search misses <b>accents</b>"')
    assert (report.summary, report.category) == ("The search misses <b>accents</b>", None)
    table = terminal.cell("%feedback")
    assert report.id in set(table["id"])
    assert offences(bundle_of(table)["text/html"]) == []


def test_the_last_refusal_goes_along(terminal: Any, client: AgentService) -> None:
    with pytest.raises(AskError, match="chat_not_found") as caught:
        terminal.cell("%%ask --chat chat_of_nobody\nsay x")
    report = _reported(terminal, client, '--error "It should be there"')
    assert (report.error_code, report.category) == ("chat_not_found", "bug")
    assert report.request_id
    assert report.request_id in str(caught.value)


def test_the_last_failed_run_and_an_error_of_a_client_of_ones_own_go_along(terminal: Any, client: AgentService) -> None:
    with pytest.raises(RunFailed) as caught:
        terminal.cell("%%ask\nfail agent_error It broke")
    report = _reported(terminal, client, '-e "Why?"')
    kept: Any = caught.value.answer
    assert (report.endpoint, report.error_code) == (f"GET /runs/{kept.run_id}", "agent_error")
    terminal.user_ns["client"] = client
    with pytest.raises(StefanBrainError):
        terminal.cell("client.tools.describe('no_such_tool')")
    assert _reported(terminal, client, '-e "Why?"').error_code == "tool_not_found"


def test_it_is_three_lines_with_the_request_and_the_line_of_the_cell(
    terminal: Any, client: AgentService, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal.user_ns["client"] = client
    with pytest.raises(StefanBrainError) as caught:
        terminal.cell("def look():\n    return client.tools.describe('nothing')\n\nlook()")
    shown = capsys.readouterr().out.strip().splitlines()
    assert len(shown) <= 3
    assert "StefanBrainError" in shown[0]
    assert "tool_not_found" in shown[1]
    assert f"request {caught.value.request_id}" in shown[1]
    assert shown[1].endswith("line 2 of the cell")


def test_what_a_service_says_is_harmless(terminal: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for text in HOSTILE[::5]:
        terminal.user_ns["error"] = StefanBrainError(text, code=text, request_id=text, hint=text)
        with pytest.raises(StefanBrainError):
            terminal.cell("raise error")
        shown = capsys.readouterr().out.replace("\x1b[1m", "").replace("\x1b[0m", "")
        assert not FORBIDDEN.findall(shown)
        assert len(shown.strip().splitlines()) <= 4
