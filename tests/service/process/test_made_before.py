"""What earlier versions left opens in this one: data folders, journals, notebooks with their outputs
(docs/upgrading.md). `tests/service/process/kept/make.py` keeps what a version makes."""

from __future__ import annotations

import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import nbformat
import pytest

from agentsvc_nb import AgentService, local
from agentsvc_nb.embedded import stop
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.service.backup import back_up, restore
from agentsvc_nb.service.store.migrations import steps
from agentsvc_nb.service.store.sqlite import SqliteDatabase
from agentsvc_nb.settings import Settings
from tests.notebook.jupyter import jupyter
from tests.service.process.kept.make import NOTEBOOK

pytestmark = pytest.mark.sqlite("opens folders with their own database")
KEPT: Final = sorted((Path(__file__).parent / "kept").glob("*.zip"))
ASKED_ANEW_UP_TO: Final = "2026-11-26"
"""Whose questions are asked again by Run All: their journals know questions by another list (`ask/question.py`)."""


@pytest.fixture(params=KEPT, ids=lambda path: path.stem)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param.stem)


@pytest.fixture
def kept(name: str, tmp_path: Path) -> Path:
    with zipfile.ZipFile(Path(__file__).parent / "kept" / f"{name}.zip") as archive:
        archive.extractall(tmp_path)
    (tmp_path / "data" / "key").chmod(0o600)
    return tmp_path


@pytest.fixture
def client(kept: Path) -> Iterator[AgentService]:
    try:
        with local(kept / "data") as client:
            yield client
    finally:
        stop(kept / "data")


def made_runs(kept: Path) -> list[dict[str, object]]:
    with closing(Journal(kept / "state" / "agentsvc-nb" / "journal.sqlite")) as journal:
        return [dict(run) for run in journal.runs(None)]


def contents(client: AgentService, chat: str) -> dict[str, bytes]:
    return {file.file_name: client.files.head(file.path, 1_000, chat=chat) for file in client.files.list(chat)}


def schema(database: Path) -> list[tuple[str, ...]]:
    """What the tables and indexes are made by, whitespace aside."""
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name").fetchall()
    return [tuple(" ".join(str(each).split()) for each in row) for row in rows]


def test_a_data_folder_and_its_journal(kept: Path, client: AgentService) -> None:
    """Each run of the journal is there with its answer; the chat has its files, and takes another question."""
    started = made_runs(kept)
    assert [run["status"] for run in started] == ["completed", "completed"]
    found = [client.runs.get(str(run["run_id"])) for run in started]
    chat = str(started[0]["chat"])
    files = contents(client, chat)
    assert {"brief.md", "products.csv"} < files.keys()
    assert b"Tent,249.00" in files["products.csv"]
    assert any(content.startswith(b"\x89PNG") for content in files.values())
    assert "Tent" in str(found[0].output)
    assert [job.status for job in client.jobs.list(chat=chat)] == ["succeeded"]
    again = client.runs.start("Who is the audience?", chat=chat, sync=True)
    assert (again.status, "hikers" in str(again.output)) == ("completed", True)


def test_the_schema_is_then_that_of_a_new_folder(kept: Path, tmp_path: Path) -> None:
    """All steps are applied: none that landed was edited, or numbered anew, since."""
    for folder in (kept / "data", tmp_path / "new"):
        folder.mkdir(exist_ok=True)
        SqliteDatabase(folder / "service.sqlite3").open().close()
    assert schema(kept / "data" / "service.sqlite3") == schema(tmp_path / "new" / "service.sqlite3")
    with closing(sqlite3.connect(kept / "data" / "service.sqlite3")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(steps()),)


def test_a_backup_of_it_is_restored(kept: Path, tmp_path: Path) -> None:
    """The folder is not changed; the restored one has the newest schema."""
    before = (kept / "data" / "service.sqlite3").read_bytes()
    made = back_up(Settings(kept / "data"), tmp_path / "kept.tar", unseen, unseen)
    assert (kept / "data" / "service.sqlite3").read_bytes() == before
    assert restore(tmp_path / "kept.tar", Settings(tmp_path / "again"), unseen, unseen) == made
    SqliteDatabase(tmp_path / "new.sqlite3").open().close()
    assert schema(tmp_path / "again" / "service.sqlite3") == schema(tmp_path / "new.sqlite3")


def unseen(done: int, total: int) -> None:
    """A progress that nobody looks at."""


def test_a_notebook(kept: Path) -> None:
    """It is valid, and its outputs need nothing that is not in it."""
    made = nbformat.read(kept / NOTEBOOK, as_version=4)
    nbformat.validate(made)
    shown = [output.data for cell in made.cells for output in cell.outputs if "data" in output]
    assert any("Tent" in data["text/plain"] for data in shown)


def test_run_all(name: str, kept: Path, client: AgentService) -> None:
    """Its cells still run, and show the answers that are kept without asking, where this version can tell them."""
    made = nbformat.read(kept / NOTEBOOK, as_version=4)
    files = contents(client, str(made_runs(kept)[0]["chat"]))
    for given in ("brief.md", "products.csv"):
        (kept / given).write_bytes(files[given])
    before = len(client.runs.list().all())
    with jupyter(kept, JPY_SESSION_NAME=NOTEBOOK, AGENTSVC_DATA=str(kept / "data")) as kernel:
        ran = [kernel.run(cell.source, cell_id=cell.id) for cell in made.cells if "%%job" not in cell.source]
    assert [run.error for run in ran] == [None] * len(ran)
    assert ran[1].shows("Tent")
    assert ran[2].shows("hikers")
    assert len(client.runs.list().all()) - before == (2 if name <= ASKED_ANEW_UP_TO else 0)
