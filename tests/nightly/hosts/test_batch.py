"""Hosts that run a notebook from top to bottom with nobody watching: nbclient, papermill, nbval, nbconvert."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.nightly.hosts.conftest import LOAD, ROOT, Written, run_module

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
    failing = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in (LOAD, "%%ask\nfail no_luck")]
    )
    with pytest.raises(CellExecutionError, match="RunFailed"):
        NotebookClient(failing).execute()


def test_papermill_sets_parameters_and_keeps_what_was_said(notebook: Written, environ: dict[str, str]) -> None:
    path = notebook("who = 'nobody'", LOAD, ASK, tags={0: "parameters"})
    out = path.with_name("out.ipynb")
    done = run_module("papermill", path, out, "-p", "who", "Ada & Bo", environ=environ)
    assert done.returncode == 0, done.stderr
    *_, (said,) = outputs(out)
    assert said.startswith("**hello** Ada & Bo <script>alert(7)</script>")
    assert "✓ completed" in said


def test_papermill_ends_at_a_failed_run(notebook: Written, environ: dict[str, str]) -> None:
    path = notebook(LOAD, "%%ask\nsay so far\nfail no_luck", "print('never')")
    out = path.with_name("out.ipynb")
    done = run_module("papermill", path, out, environ=environ)
    assert done.returncode != 0
    assert "RunFailed" in done.stderr
    found = nbformat.read(out, as_version=4)
    texts = [output for cell in found.cells for output in cell.get("outputs", [])]
    assert [output.ename for output in texts if output.output_type == "error"] == ["RunFailed"]
    assert not any("never" in output.get("text", "") for output in texts)


def test_nbval_compares_what_is_stored(notebook: Written, environ: dict[str, str]) -> None:
    path = notebook("who = 'Ada'", LOAD, ASK)
    executed = path.with_name("stored.ipynb")
    assert run_module("papermill", path, executed, environ=environ).returncode == 0
    check = ["-q", "-c", os.devnull, "-p", "no:cacheprovider", "--nbval", "--nbval-current-env"]
    sanitize = ("--nbval-sanitize-with", ROOT / "tests" / "notebooks-sanitize.cfg")
    done = run_module("pytest", *check, *sanitize, executed, environ=environ)
    assert done.returncode == 0, done.stdout[-3000:]
    changed = executed.read_text().replace("say **hello**", "say **bye**")
    executed.write_text(changed)
    assert run_module("pytest", *check, *sanitize, executed, environ=environ).returncode == 1


@pytest.mark.parametrize("kind", ["html", "markdown"])
def test_nbconvert_executes_and_writes_no_script_of_an_answer(
    notebook: Written, environ: dict[str, str], kind: str
) -> None:
    path = notebook("who = 'Ada'", LOAD, ASK)
    done = run_module("nbconvert", "--execute", "--to", kind, "--output", "page", path, environ=environ)
    assert done.returncode == 0, done.stderr
    page = path.with_name("page.html" if kind == "html" else "page.md").read_text()
    assert "<strong>hello</strong> Ada" in page
    assert "&lt;script&gt;alert(7)" in page
    assert "<script>alert(7)" not in page.replace("say **hello** {{who}} <script>alert(7)", "")
