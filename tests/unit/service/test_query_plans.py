"""What is asked again and again looks at what it needs, however many runs and jobs there were before."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from agentsvc_nb.service.sql import load
from agentsvc_nb.service.store.sqlite import SqliteDatabase, beside

pytestmark = pytest.mark.sqlite("reads SQLite's query plans")
ASKED = [
    ("runs/runs", "active"),
    ("runs/runs", "of_chat"),
    ("runs/runs", "active_by_account"),
    ("jobs/jobs", "active"),
    ("jobs/jobs", "of_chat"),
]


@pytest.mark.parametrize(("file", "name"), ASKED)
def test_no_statement_reads_all_runs_or_jobs(file: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite3"
    with contextlib.closing(SqliteDatabase(path).open()), beside(path) as connection:
        given = {"chat": "chat_1", "last": None, "limit": 20}
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {load(file)[name]}", given)]
    assert all("SCAN" not in step or "INDEX" in step for step in plan), plan
    assert name != "of_chat" or not any("ORDER BY" in step for step in plan), plan
