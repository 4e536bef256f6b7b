"""`%tools`, `%%tool`, `%jobs`: the catalog, calls, several jobs at once; against a real service."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.client.models import columns
from agentsvc_nb.notebook.display import results
from agentsvc_nb.notebook.errors import AskError, RunFailed
from agentsvc_nb.notebook.jobs.fields import field, rows
from agentsvc_nb.notebook.jobs.output import job_bundle, result_bundle
from agentsvc_nb.wire.tools import Job, Progress, ToolDescription, ToolError, ToolResult
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


def test_a_tool_tells_its_fields_and_a_cell_to_begin_from(terminal: Any) -> None:
    text, _ = _shown(terminal.cell("%tools create_images"))
    assert "request.brief" in text
    assert "%%job create_images\nrequest." in text
    with pytest.raises(AskError, match="tool_not_found") as caught:
        terminal.cell("%tools no_such_tool")
    assert "ask_stefanbrain" in caught.value.hint


def test_the_name_of_a_file_in_a_field_for_text_is_taken_as_text_and_that_is_said(
    terminal: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "brief.md").write_text("Headline: Autumn sale\n")
    terminal.cell("%%job create_images\nrequest.brief: brief.md")
    assert "`brief.md` is taken as text; to give what is in the file" in capsys.readouterr().out
    terminal.cell("%%job create_images\nrequest.brief: other.md")
    terminal.cell("from pathlib import Path; text = Path('brief.md').read_text()")
    terminal.cell("%%job create_images\nrequest.brief: {{text}}")
    assert "is taken as text" not in capsys.readouterr().out


def test_a_tool_tells_the_limits_of_its_fields_and_shows_code_as_code(terminal: Any) -> None:
    text, html = _shown(terminal.cell("%tools create_images"))
    (count,) = [line for line in text.splitlines() if line.split()[:1] == ["request.outputs.count"]]
    assert "From 1 to 20." in count
    for shown in (html, _shown(terminal.cell("%tools"))[1]):
        cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", shown, re.DOTALL)
        assert cells
        assert not [cell for cell in cells if "`" in cell]
    assert "<code>" in re.sub(r"<code style.*?</code>", "", html), "what a description names"


def test_limits_are_those_of_a_value_that_may_be_null_and_of_each_item() -> None:
    tags = {"type": "array", "maxItems": 5, "items": {"type": "string", "minLength": 1, "maxLength": 40}}
    depth = {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 9}, {"type": "null"}], "description": "How deep."}
    schema = {"type": "object", "properties": {"tags": tags, "depth": depth}}
    assert [row.limits for row in rows(field(schema, schema))] == [
        "At most 5 items. Each: from 1 to 40 characters.",
        "From 0 to 9.",
    ]


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


def test_a_tool_that_takes_its_time_is_followed_as_a_job(kernel: Any) -> None:
    result = kernel.cell("%%tool echo_job\n" + QUICK + '\nfiles: {"out/x.txt": "x"}', cell_id="c1")
    assert (result.status, list(result.files.df["path"])) == ("succeeded", ["out/x.txt"])
    assert list(kernel.cell("%jobs")["status"]) == ["succeeded"]


def test_no_jobs_are_a_typed_table(terminal: Any) -> None:
    assert [str(kind) for kind in terminal.cell("%jobs").df.dtypes] == list(results.JOBS.values())


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


def test_what_a_job_made_is_shown_again(terminal: Any) -> None:
    terminal.cell("%%job echo_job --bg\n" + QUICK + '\nfiles: {"out/x.txt": "made"}')
    assert list(terminal.cell("%jobs show last -o made").files.df["path"]) == ["out/x.txt"]
    assert terminal.user_ns["made"].status == "succeeded"


def test_a_job_of_nobody_is_told(terminal: Any) -> None:
    with pytest.raises(AskError, match="'nothing' is no job of this notebook"):
        terminal.cell("%jobs cancel nothing")
    with pytest.raises(AskError, match="The job is missing"):
        terminal.cell("%jobs show")


def test_how_far_a_job_is_is_said_until_it_has_ended() -> None:
    told = {"running": "● running · find_angles · 50 %", "succeeded": "✓ succeeded · find_angles"}
    for status, line in {**told, "failed": "✗ failed · find_angles"}.items():
        job = Job(job_id="job_1", tool="find_angles", status=status, progress=Progress(done=1, total=2))
        assert job_bundle(job, 1.0)["text/plain"] == f"{line} · 1.0 s · job_1"


def test_names_in_descriptions_are_code_and_never_between_backticks(terminal: Any) -> None:
    for cell in ("%tools", "%tools create_images", "%tools send_email"):
        shown = terminal.cell(cell)._repr_mimebundle_()["text/html"]
        assert "<code>" in shown
        assert "`" not in shown


def test_a_column_that_would_be_empty_is_left_out(terminal: Any) -> None:
    assert "required" not in repr(terminal.cell("%tools create_images")).partition("what it is")[0]
    assert "required" in repr(terminal.cell("%tools send_email"))


def test_why_a_tool_failed_is_said_once() -> None:
    said, error = [{"type": "text", "text": "Set a key."}], ToolError(code="not_configured", message="Set a key.")
    result = ToolResult(tool="web_search", is_error=True, content=said, error=error)
    assert result_bundle(result)["text/plain"].count("Set a key.") == 1
    assert result_bundle(result)["text/html"].count("Set a key.") == 1


def test_why_a_job_failed_is_said_once() -> None:
    said, error = [{"type": "text", "text": "Set a model."}], ToolError(code="not_configured", message="Set a model.")
    job = Job(job_id="job_1", tool="find_angles", status="failed", content=said, error=error)
    assert job_bundle(job, 1.0)["text/plain"].count("Set a model.") == 1
