"""`%tools`, `%%tool`, `%jobs`: the catalog, calls, several jobs at once; against a real service."""

from __future__ import annotations

from typing import Any

import pytest

from agentsvc_nb.client.models import columns
from agentsvc_nb.notebook.errors import AskError, RunFailed
from agentsvc_nb.wire.tools import ToolDescription
from tests.notebook.allowlist import offences

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
    (line,) = [line for line in text.splitlines() if line.split()[:1] == ["create_images"]]
    assert line.split()[1] == "%%job"
    catalog = terminal.user_ns["catalog"]
    assert [str(kind) for kind in catalog.dtypes] == list(columns(ToolDescription).values())


def test_input_that_does_not_fit_says_where_its_fields_are_told(terminal: Any) -> None:
    with pytest.raises(AskError, match=r"request\.outputs\.count: .* 20 \(invalid_tool_input") as caught:
        terminal.cell("%%job create_images\nrequest.brief: x\nrequest.outputs.count: 99")
    assert caught.value.hint == "`%tools create_images` says what it takes."


def test_a_tool_is_called_and_its_answer_kept(terminal: Any, capsys: pytest.CaptureFixture[str]) -> None:
    terminal.cell("word = 'hello there'")
    answer = terminal.cell("%%tool ask_stefanbrain -o reply\nmessage: say {{word}}")
    assert answer is terminal.user_ns["reply"]
    assert answer.data["answer"] == "hello there"
    assert "hello there" in capsys.readouterr().out
    assert answer.chat == terminal.cell("%%ask\nsay x").chat, "a tool works in the notebook's own chat"


def test_a_tool_that_fails_fails_the_cell_with_its_reason(terminal: Any) -> None:
    cell = '{"message": "fail agent_error It broke"}'
    with pytest.raises(RunFailed, match="Tool ask_stefanbrain failed: It broke") as caught:
        terminal.cell(f"%%tool ask_stefanbrain -o reply\n{cell}")
    assert terminal.user_ns["reply"].result.error.code == "agent_error"
    assert caught.value.answer is terminal.user_ns["reply"]
    assert terminal.cell(f"%%tool ask_stefanbrain --no-raise-error\n{cell}").result.is_error
    with pytest.raises(AskError, match="invalid_tool_input"):
        terminal.cell("%%tool ask_stefanbrain\nno_such_field: 1")


def test_several_jobs_are_watched_at_once(kernel: Any) -> None:
    started = [kernel.cell(f"%%job echo_job --bg\nsteps: 2\nseconds: {n}").job_id for n in (0, 2)]
    assert "%jobs watch" in kernel.shown.outputs[0]["text/plain"]
    table = kernel.cell("%jobs watch", cell_id="c1")
    assert kernel.shown.messages > 2
    assert list(table["job_id"]) == started
    assert list(table["status"]) == ["succeeded", "succeeded"]
    _shown(table)


def test_a_job_that_was_left_is_cancelled_by_its_id(terminal: Any, capsys: pytest.CaptureFixture[str]) -> None:
    job = terminal.cell("%%job echo_job --bg\n" + SLOW)
    with pytest.raises(RunFailed, match=r"1 of 1 jobs have not ended within 0.1 s; they go on"):
        terminal.cell("%jobs watch --timeout 0.1")
    terminal.cell(f"%jobs cancel {job.job_id}")
    assert job.job_id in capsys.readouterr().out
    assert list(terminal.cell("%jobs watch last")["status"]) == ["cancelled"]
