"""`%%ask --each`: a question over the rows of a DataFrame, from a cell."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.client.batch import MapProgress
from agentsvc_nb.notebook.ask.each import RowsBar, progress_bundle
from agentsvc_nb.notebook.errors import AskError, RunFailed, RunStopped
from tests.notebook.allowlist import offences
from tests.notebook.screens import Cell, Clock

pytestmark = pytest.mark.usefixtures("connected")

MODEL = """
import pydantic
class Label(pydantic.BaseModel):
    label: str
"""


@pytest.fixture
def mine() -> str:
    """Makes a test's questions its own."""
    return uuid.uuid4().hex


def test_the_answers_are_columns_of_the_dataframe(kernel: Any, mine: str) -> None:
    kernel.cell(MODEL)
    kernel.user_ns["df"] = pd.DataFrame({"text": ["good", "<script>bad</script>"], "who": [mine, mine]}, index=[7, 3])
    rows = kernel.cell('%%ask --each df -o out --schema Label\nusage 10000 0\nanswer {"label": "{{text}}"}\n# {{who}}')
    out = kernel.user_ns["out"]
    assert out is rows.frame
    assert out.label.to_dict() == {7: "good", 3: "<script>bad</script>"}
    (output,) = kernel.shown.outputs
    assert "2 of 2 rows answered · 2.00 cents" in output["text/plain"]
    assert "good" in output["text/html"]
    assert offences(output["text/html"]) == []
    again = kernel.cell('%%ask --each df --schema Label\nusage 10000 0\nanswer {"label": "{{text}}"}\n# {{who}}')
    assert again.frame.equals(out)
    fresh = kernel.cell('%%ask --each df --fresh --schema Label\nanswer {"label": "{{text}}"}\n# {{who}}')
    assert not set(fresh.frame.run_id) & set(out.run_id)


def test_a_file_is_asked_over_as_the_agent_reads_it(kernel: Any, mine: str, tmp_path: Path) -> None:
    (place := tmp_path / "ads.csv").write_text(f"Report\n\nCampaign;Cost\n{mine};1.234,50 €\nTotal;1.234,50 €\n")
    kernel.cell(f"%%ask --each {place} -o out\nsay {{{{Campaign}}}} {{{{Cost}}}}")
    assert kernel.user_ns["out"].answer.tolist() == [f"{mine} 1234.5"]


def test_each_row_sees_the_files_of_the_chat_and_those_given(
    kernel: Any, mine: str, tmp_path: Path, client: AgentService
) -> None:
    (tmp_path / "rules.md").write_text(f"rule {mine}")
    (tmp_path / "brief.md").write_text(f"brief {mine}")
    kernel.user_ns["df"] = pd.DataFrame({"text": [f"{mine} 1", f"{mine} 2"]})
    kernel.cell(f"%files put {tmp_path / 'rules.md'}")
    ask = f"%%ask --each df -o out --file {tmp_path / 'brief.md'}\nsay {{{{text}}}}"
    kernel.cell(ask)
    for chat in kernel.user_ns["out"].chat:
        assert [file.path for file in client.files.list(chat)] == ["uploads/brief.md", "uploads/rules.md"]
    own = kernel.cell("%%ask\nwrite out/plan.md x").chat
    first = kernel.cell(ask).frame
    again = kernel.cell(ask).frame
    assert first.run_id.tolist() == again.run_id.tolist()
    for chat in first.chat:
        paths = [file.path for file in client.files.list(chat)]
        assert paths == ["out/plan.md", "uploads/brief.md", "uploads/rules.md"]
    (tmp_path / "brief.md").write_text("another brief")
    assert not set(kernel.cell(ask).frame.run_id) & set(first.run_id), "what a row is judged against is part of it"
    assert [file.path for file in client.files.list(own)] == ["out/plan.md", "uploads/rules.md"]


def test_what_fails_stands_in_its_row_and_only_all_of_it_fails_the_cell(kernel: Any, mine: str) -> None:
    kernel.user_ns["df"] = pd.DataFrame({"do": [f"say {mine}", f"fail brain_gone {mine}"]})
    kernel.cell("%%ask --each df -o out\n{{do}}")
    assert kernel.user_ns["out"].error.notna().tolist() == [False, True]
    kernel.user_ns["df"] = kernel.user_ns["df"].iloc[1:]
    with pytest.raises(RunFailed, match="No row was answered"):
        kernel.cell("%%ask --each df -o none\n{{do}}")
    assert kernel.user_ns["none"].error.str.startswith("brain_gone").all()
    kernel.cell("%%ask --each df --no-raise-error\n{{do}}")


def test_stop_keeps_what_is_there(kernel: Any, mine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel.user_ns["df"] = pd.DataFrame({"text": [f"{mine} {n}" for n in range(6)]})

    def stop(bar: RowsBar, progress: MapProgress) -> None:
        if progress.done == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(RowsBar, "__call__", stop)
        with pytest.raises(RunStopped, match="2 of 6 rows are answered"):
            kernel.cell("%%ask --each df -o out --at-once 1\nsay {{text}}")
    there = kernel.user_ns["out"].dropna(subset=["answer"])
    assert len(there) == 2
    whole = kernel.cell("%%ask --each df\nsay {{text}}").frame
    assert whole.answer.tolist() == kernel.user_ns["df"].text.tolist()
    assert whole.run_id[there.index].tolist() == there.run_id.tolist()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("--each nothing", "no variable `nothing`"),
        ("--each df --bg", "--each and --bg exclude each other"),
        ("--each df --new-chat", "--each and --new-chat exclude each other"),
        ("--each df --file nothing.csv", "There is no file nothing.csv"),
        ("--each df --schema rows", "one answer a row"),
        ("--each text", "is not a DataFrame"),
        ("--each df --key none", "no column 'none'"),
    ],
)
def test_what_cannot_be_asked_is_said(kernel: Any, line: str, why: str) -> None:
    kernel.cell(f"{MODEL}\nrows = list[Label]\ntext = 'x'")
    kernel.user_ns["df"] = pd.DataFrame({"text": ["a"]})
    with pytest.raises(AskError, match=why):
        kernel.cell(f"%%ask {line}\nsay {{{{text}}}}")


def test_the_line_says_what_it_costs_and_how_long_it_takes() -> None:
    progress = MapProgress(1000, 412, 3, 8, 12.4, 30.1, 140.0, 4.6, (), lambda: None)
    assert progress_bundle(progress)["text/plain"] == (
        "412 of 1,000 rows · 3 failed · 12.40 cents of about 30.10 cents · about 2 min left"
        " · the service is busy: waiting 5 s"
    )


def test_a_browser_is_sent_few_of_many_rows() -> None:
    cell, clock = Cell(), Clock()
    bar = RowsBar(cell, "live", clock)
    for done in range(1, 1001):
        clock.now += 0.003
        bar(MapProgress(1000, done, 0, 32, 0.0, None, None, 0.0, (), lambda: None))
    assert cell.messages < 20
    assert cell.outputs[-1]["text/plain"].startswith("1,000 of 1,000 rows")
