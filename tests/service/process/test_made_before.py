"""A data folder and a journal that an earlier version made open in this one (docs/backup.md)."""

from __future__ import annotations

import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from agentsvc_nb import embedded, local
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.service.store.migrations import read_steps
from agentsvc_nb.service.store.sqlite import SqliteDatabase

pytestmark = pytest.mark.sqlite("opens folders with their own database")


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    with zipfile.ZipFile(Path(__file__).parent / "kept" / "2026-11-21.zip") as archive:
        archive.extractall(tmp_path)
    (tmp_path / "data" / "key").chmod(0o600)
    return tmp_path


def schema(database: Path) -> list[tuple[str, ...]]:
    """Return the statements that made the tables and indexes, without their whitespace."""
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name").fetchall()
    return [tuple(" ".join(str(each).split()) for each in row) for row in rows]


def test_runs_files_and_jobs_of_an_earlier_version_are_there(kept: Path) -> None:
    """The chat takes another question, too."""
    with closing(Journal(kept / "state" / "agentsvc-nb" / "journal.sqlite")) as journal:
        started = [dict(run) for run in journal.runs(None)]
    assert [run["status"] for run in started] == ["completed", "completed"]
    chat = str(started[0]["chat"])
    try:
        with local(kept / "data") as client:
            assert "Tent" in str(client.runs.get(str(started[0]["run_id"])).output)
            assert b"Tent,249.00" in client.files.download("uploads/products.csv", chat=chat)
            assert [job.status for job in client.jobs.list(chat=chat)] == ["succeeded"]
            again = client.runs.start("Who is the audience?", chat=chat, sync=True)
            assert "hikers" in str(again.output)
    finally:
        embedded.stop(kept / "data")


def test_its_schema_is_then_that_of_a_new_folder(kept: Path, tmp_path: Path) -> None:
    """No step that an earlier version applied was edited or renumbered since."""
    old, new = kept / "data" / "service.sqlite3", tmp_path / "new.sqlite3"
    for database in (old, new):
        SqliteDatabase(database).open().close()
    assert schema(old) == schema(new)
    with closing(sqlite3.connect(old)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(read_steps()),)
