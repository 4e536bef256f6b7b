"""Hosts that run a notebook from top to bottom with nobody watching: nbclient, papermill, nbval, nbconvert."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.nightly.hosts.conftest import LOAD, Written, run_module

ASK = "%%ask\nsay **hello** {{who}} <script>alert(7)</script>"
ROWS = "import pandas as pd\ndf = pd.DataFrame({'text': ['one', 'two']})"


def outputs(path: Path) -> list[list[str]]:
    """The plain text of each output, by cell; an error's is its name."""
    found = nbformat.read(path, as_version=4)
    return [
        [
            output.get("ename") or output.get("data", {}).get("text/plain", output.get("text", ""))
            for output in cell.get("outputs", [])
        ]
        for cell in found.cells
    ]


def test_nbclient_keeps_one_final_output_a_cell(
    notebook: Written, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    path = notebook(LOAD, ROWS, "%%ask --each df -o out\nsay {{text}}", "%%ask --bg -o later\nsay later", "later.text")
    made = nbformat.read(path, as_version=4)
    NotebookClient(made, resources={"metadata": {"path": str(path.parent)}}).execute()
    nbformat.write(made, path)
    _, _, each, later, text = outputs(path)
    assert [line.count("2 of 2 rows answered") for line in each] == [1]
    assert len(later) == 1
    assert text == ["'later'"]


def test_papermill_sets_parameters_and_ends_at_a_failed_run(notebook: Written, environ: dict[str, str]) -> None:
    cells = ("who = 'nobody'", LOAD, ASK, "%%ask\nsay so far\nfail no_luck", "print('never')")
    path = notebook(*cells, tags={0: "parameters"})
    out = path.with_name("out.ipynb")
    done = run_module("papermill", path, out, "-p", "who", "Ada & Bo", environ=environ)
    assert done.returncode != 0
    assert "RunFailed" in done.stderr
    found = outputs(out)
    (said,) = next(cell for cell in found if cell and cell[0].startswith("**hello**"))
    assert said.startswith("**hello** Ada & Bo <script>alert(7)</script>")
    assert "RunFailed" in [text for cell in found for text in cell]
    assert not any("never" in text for cell in found for text in cell)


def test_nbconvert_executes_and_writes_no_script_of_an_answer(notebook: Written, environ: dict[str, str]) -> None:
    path = notebook("who = 'Ada'", LOAD, ASK)
    done = run_module("nbconvert", "--execute", "--to", "html", "--output", "page", path, environ=environ)
    assert done.returncode == 0, done.stderr
    page = path.with_name("page.html").read_text()
    assert "<strong>hello</strong> Ada" in page
    assert "&lt;script&gt;alert(7)" in page
    assert "<script>alert(7)" not in page.replace("say **hello** {{who}} <script>alert(7)", "")
