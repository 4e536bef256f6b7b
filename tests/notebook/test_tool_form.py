"""`%tools form`, `ToolForm`: a form in a cell that calls its tool; against a real service."""

from __future__ import annotations

import json
from typing import Any

import pytest

import agentsvc_nb
from agentsvc_nb.notebook.jobs.follower import JobResult
from tests.notebook.allowlist import offences
from tests.notebook.fronts import say
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("connected")


def _send(form: Any, **changed: Any) -> None:
    """Fill in these fields and press the button."""
    say(
        form.front,
        "send",
        text=json.dumps(changed | {name: one for name, one in form.value.items() if name not in changed}),
        unreadable=[],
    )


def _sent(form: Any, **changed: Any) -> None:
    """As `_send`; then wait for the answer."""
    _send(form, **changed)
    until(lambda: form.answer and not form.front.part("busy"))


def test_a_form_calls_its_tool_and_the_answer_stays_in_the_notebook(kernel: Any) -> None:
    form = kernel.cell("%tools form ask_stefanbrain -o form", cell_id="c1")
    assert form is kernel.user_ns["form"]
    summary, widget = kernel.shown.outputs
    assert "brings this back" in summary["text/plain"]
    assert offences(summary["text/html"]) == []
    assert "application/vnd.jupyter.widget-view+json" in widget
    _sent(form, message="say hello <b>there</b>")
    assert form.answer.data["answer"] == "hello <b>there</b>"
    saved, _ = kernel.shown.outputs
    assert "hello &lt;b&gt;there" in saved["text/html"]
    assert "hello &lt;b&gt;there" in form.front.part("answer")
    assert form.cell == "%%tool ask_stefanbrain\nmessage: say hello <b>there</b>\non_busy: reject"
    say(form.front, "cell", asked="1")
    assert form.front.part("cell") == {"asked": "1", "source": form.cell}


def test_a_job_is_followed_and_what_fails_is_told(kernel: Any) -> None:
    form = agentsvc_nb.ToolForm("echo_job", {"files": {"out/x.txt": "x"}})
    _sent(form)
    assert isinstance(form.answer, JobResult)
    assert (form.answer.status, form.answer.files[0].path) == ("succeeded", "out/x.txt")
    other = kernel.cell("import agentsvc_nb\nagentsvc_nb.ToolForm('ask_stefanbrain')", cell_id="c1")
    _sent(other, message="fail agent_error It broke")
    assert other.answer.result.error.code == "agent_error"
    assert "It broke" in kernel.shown.outputs[0]["text/plain"]


def test_a_job_has_a_bar_in_the_form_and_is_cancelled_there(kernel: Any) -> None:
    form = kernel.cell("%tools form echo_job -o form", cell_id="c1")
    _send(form, steps=100, seconds=100)
    until(lambda: "1 of 100" in (form.front.part("job") or {"text": ""})["text"])
    _send(form, steps=100, seconds=100)  # while a call goes on, another is not made
    assert "`%jobs show " in kernel.shown.outputs[0]["text/plain"], "a notebook saved now says how to go on"
    say(form.front, "cancel")
    until(lambda: not form.front.part("busy"))
    assert form.answer.status == "cancelled"
    assert "cancelled" in kernel.shown.outputs[0]["text/plain"]
    assert form.front.part("job") is None
