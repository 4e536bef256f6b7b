"""`%tools form`, `ToolForm`: a form in a cell that calls its tool; against a real service."""

from __future__ import annotations

from typing import Any

import pytest

import agentsvc_nb
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.jobs.follower import JobResult
from agentsvc_nb.notebook.jobs.tools import tool_bundle
from agentsvc_nb.notebook.widgets.forms.tool_form import _without_null_defaults
from agentsvc_nb.testing import running_service
from agentsvc_nb.wire.tools import ToolDescription
from tests.notebook.allowlist import FORBIDDEN, offences
from tests.notebook.clicking import text
from tests.notebook.driven_forms import named
from tests.notebook.fronts import say
from tests.notebook.test_hostile import HOSTILE
from tests.notebook.widgets import html
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("connected")


def _pressed(form: Any) -> None:
    """Press Run and wait for the answer."""
    form.view.run_button.click()
    until(lambda: not form.view.run_button.disabled)


def test_a_form_calls_its_tool_and_the_cell_shows_the_answer(kernel: Any) -> None:
    form = kernel.cell("%tools form ask_stefanbrain -o form", cell_id="c1")
    assert form is kernel.user_ns["form"]
    summary, widgets, place = kernel.shown.outputs
    assert "run the cell again" in summary["text/plain"]
    assert offences(summary["text/html"]) == []
    assert "application/vnd.jupyter.widget-view+json" in widgets
    named(form.view, "Message").value = "say hello <b>there</b>"
    _pressed(form)
    assert form.answer.data["answer"] == "hello <b>there</b>"
    place = kernel.shown.outputs[2]
    assert "hello &lt;b&gt;there" in place["text/html"]
    assert form.cell == "%%tool ask_stefanbrain\nmessage: say hello <b>there</b>\non_busy: reject"
    _pressed(form)
    assert len(kernel.shown.outputs) == 3, "the answer takes the place of the one before"


def test_in_voila_the_answer_stands_in_a_widget(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOILA_BASE_URL", "/")
    form = kernel.cell("%tools form ask_stefanbrain")
    _, place = kernel.shown.outputs
    named(form.view, "Message").value = "say hello"
    _pressed(form)
    assert "<p>hello</p>" in "".join(html(place))
    assert len(kernel.shown.outputs) == 2


def test_a_job_is_followed_and_what_fails_is_told(kernel: Any) -> None:
    form = kernel.cell(
        "import agentsvc_nb\nform = agentsvc_nb.ToolForm('echo_job', {'files': {'out/x.txt': 'x'}})\nform"
    )
    form = agentsvc_nb.ToolForm("echo_job", {"files": {"out/x.txt": "x"}})
    _pressed(form)
    assert isinstance(form.answer, JobResult)
    assert (form.answer.status, form.answer.files[0].path) == ("succeeded", "out/x.txt")
    other = kernel.cell("import agentsvc_nb\nagentsvc_nb.ToolForm('ask_stefanbrain')", cell_id="c1")
    named(other.view, "Message").value = "fail agent_error It broke"
    _pressed(other)
    assert other.answer.result.error.code == "agent_error"
    assert "It broke" in kernel.shown.outputs[2]["text/plain"]


def test_a_job_moves_in_the_form_and_is_cancelled_there(kernel: Any) -> None:
    form = kernel.cell("%tools form echo_job -o form", cell_id="c1")
    named(form.view, "Steps").value, named(form.view, "Seconds").value = "100", "100"
    form.view.run_button.click()
    (bar,) = until(lambda: form.view.moving.children)
    until(lambda: "1 of 100" in str(bar.parts("job/")))
    shown = kernel.shown.outputs
    assert "`%jobs show " in shown[2]["text/plain"], "a notebook saved now says how to go on"
    (name,) = bar.parts("job/")
    say(bar, "cancel", job=name.removeprefix("job/"))
    until(lambda: not form.view.run_button.disabled)
    assert form.answer.status == "cancelled"
    assert "cancelled" in kernel.shown.outputs[2]["text/plain"]
    assert "It was cancelled." in text(form.view.box)
    assert form.view.moving.children == ()


def test_a_tool_that_becomes_a_job_is_cancelled_in_the_form(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_service(model="scripted", ask_handle_seconds=0.2) as service:
        monkeypatch.setenv("SERVICE_API_KEY", service.api_key)
        monkeypatch.setenv("AGENTSVC_BASE_URL", service.base_url)
        form = kernel.cell("%tools form ask_stefanbrain -o form", cell_id="c1")
        named(form.view, "Message").value = "wait 60"
        form.view.run_button.click()
        (bar,) = until(lambda: form.view.moving.children)
        (name,) = until(lambda: bar.parts("job/"))
        say(bar, "cancel", job=name.removeprefix("job/"))
        until(lambda: not form.view.run_button.disabled)
        assert form.answer.status == "cancelled"


def test_a_form_that_is_not_right_sends_nothing(kernel: Any) -> None:
    form = kernel.cell("%tools form web_search", cell_id="c1")
    assert form.problems == {"query": "This is required."}
    form.view.run_button.click()
    assert (form.view.run_button.disabled, form.answer) == (False, None)


def test_files_of_the_chat_are_offered(kernel: Any) -> None:
    kernel.cell("%%ask\nwrite images/new.png x")
    form = kernel.cell("%tools form edit_image", cell_id="c1")
    assert named(form.view, "Path").options == ("images/new.png",)


def test_without_widgets_it_is_a_list_of_fields_and_a_cell(terminal: Any, capsys: pytest.CaptureFixture[str]) -> None:
    form = terminal.cell("%tools form create_images")
    said = capsys.readouterr().out
    assert "%%job create_images\nrequest.kind: static_ad\nrequest.brief:" in said
    assert offences(form._repr_html_()) == []
    with pytest.raises(AskError, match="tool_not_found"):
        terminal.cell("%tools form no_such_tool")
    with pytest.raises(AskError, match="Name one tool"):
        terminal.cell("%tools form create_images edit_image")


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:40])
def test_hostile_tools_are_described_as_text(text: str) -> None:
    part = {"type": "string", "title": text, "description": text, "default": text}
    schema = {"type": "object", "properties": {text: part, "e": {"enum": [text]}, "c": {"const": text}}}
    bundle = tool_bundle(ToolDescription(name=text, description=text, input_schema=schema), {text: text})
    assert offences(bundle["text/html"]) == []
    assert FORBIDDEN.findall(bundle["text/plain"]) == []


def test_where_outputs_are_not_updated_it_is_one_static_output(kernel: Any) -> None:
    kernel.cell("%tools form web_search")  # as nbclient, papermill and nbconvert run it
    (shown,) = kernel.shown.outputs
    assert set(shown) == {"text/plain", "text/html"}
    assert "%%tool web_search" in shown["text/plain"]


def test_a_field_that_may_be_anything_keeps_its_null() -> None:
    schema = {"properties": {"any": True, "left": {"default": None}}}
    assert _without_null_defaults({"any": None, "left": None, "more": None}, schema, {}) == {"any": None, "more": None}
