"""`%%ask --each`: a question over the rows of a DataFrame, from a cell."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from agentsvc_nb.client.batch import MapProgress
from agentsvc_nb.notebook.ask.each import RowsBar
from agentsvc_nb.notebook.errors import RunFailed, RunStopped
from tests.notebook.allowlist import offences

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


def test_a_file_is_asked_over_as_the_agent_reads_it(kernel: Any, mine: str, tmp_path: Path) -> None:
    (place := tmp_path / "ads.csv").write_text(f"Report\n\nCampaign;Cost\n{mine};1.234,50 €\nTotal;1.234,50 €\n")
    kernel.cell(f"%%ask --each {place} -o out\nsay {{{{Campaign}}}} {{{{Cost}}}}")
    assert kernel.user_ns["out"].answer.tolist() == [f"{mine} 1234.5"]


def test_what_fails_stands_in_its_row_and_only_all_of_it_fails_the_cell(kernel: Any, mine: str) -> None:
    kernel.user_ns["df"] = pd.DataFrame({"do": [f"say {mine}", f"fail brain_gone {mine}"]})
    kernel.cell("%%ask --each df -o out\n{{do}}")
    assert kernel.user_ns["out"].error.notna().tolist() == [False, True]
    kernel.user_ns["df"] = kernel.user_ns["df"].iloc[1:]
    with pytest.raises(RunFailed, match="did not answer any row"):
        kernel.cell("%%ask --each df -o none\n{{do}}")
    assert kernel.user_ns["none"].error.str.startswith("brain_gone").all()


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
