"""What an earlier version left opens in this one: a data folder, a journal, a notebook with its outputs."""

from __future__ import annotations

import zipfile
from pathlib import Path

import nbformat
import pytest

from agentsvc_nb import local
from agentsvc_nb.embedded import stop
from agentsvc_nb.notebook.state.journal import Journal

pytestmark = pytest.mark.sqlite("opens folders with their own database")
KEPT = sorted((Path(__file__).parent / "kept").glob("*.zip"))


@pytest.fixture(params=KEPT, ids=lambda path: path.stem)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with zipfile.ZipFile(request.param) as archive:
        archive.extractall(tmp_path)
    (tmp_path / "data" / "key").chmod(0o600)
    return tmp_path


def test_a_data_folder_and_its_journal(kept: Path) -> None:
    """Each run of the journal is there with its answer; the chat has its files, and takes another question."""
    journal = Journal(kept / "state" / "agentsvc-nb" / "journal.sqlite")
    started = journal.runs(None)
    assert [run["status"] for run in started] == ["completed", "completed"]
    try:
        with local(kept / "data") as client:
            found = [client.runs.get(run["run_id"]) for run in started]
            files = {file.file_name for file in client.files.list(started[0]["chat"])}
            again = client.runs.start("Who is the audience?", chat=started[0]["chat"], sync=True)
    finally:
        stop(kept / "data")
        journal.close()
    assert "Tent" in str(found[0].output)
    assert {"brief.md", "products.csv"} < files
    assert again.status == "completed"
    assert "hikers" in str(again.output)


def test_a_notebook(kept: Path) -> None:
    """It is valid, and its outputs need nothing that is not in it."""
    made = nbformat.read(kept / "made.ipynb", as_version=4)
    nbformat.validate(made)
    shown = [output.data for cell in made.cells for output in cell.outputs if "data" in output]
    assert any("Tent" in data["text/plain"] for data in shown)
    assert not any("widget-view" in kind for data in shown for kind in data)
