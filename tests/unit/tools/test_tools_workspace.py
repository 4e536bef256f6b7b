"""What an agent does with its chat's files: found, read, asked in SQL, drawn; and nothing else is reached."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import duckdb
import pandas
import pytest

from agentsvc_nb.documents.engine.messages import ROWS_MAX
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools import catalog
from agentsvc_nb.tools.port import Outcome, WorkFailure
from tests.unit.service.agents_harness import MemoryToolContext, MemoryWorkspace

SALES = "month,channel,revenue\n2024-01,search,100\n2024-02,search,150\n2024-01,social,70\n"
FILES: dict[str, str | bytes] = {
    "uploads/Sales 2024.csv": SALES,
    "brief.md": "The summer sale begins in June.",
    "x.bin": b"\0",
}


@pytest.fixture
def task(tmp_path: Path) -> MemoryToolContext:
    return MemoryToolContext(MemoryWorkspace(tmp_path / "chat", FILES))


def call(task: MemoryToolContext, name: str, **given: Any) -> Outcome:
    tool = catalog.add_workspace_tools({}, Settings(Path("data")))[name]
    return asyncio.run(tool.run(tool.Input.model_validate(given), task))


def text(outcome: Outcome) -> str:
    return str(outcome.content[0]["text"])


def test_files_are_listed_and_found_with_their_passages(task: MemoryToolContext) -> None:
    assert text(call(task, "list_files")).splitlines()[0].startswith("brief.md (text/markdown, ")
    assert text(call(task, "list_files", under="uploads/")).count("\n") == 0
    assert "> The summer sale begins in June." in text(call(task, "search_files", query="summer"))
    assert text(call(task, "search_files", query="winter")) == "Nothing found for 'winter'."


def test_a_file_is_read_in_parts(task: MemoryToolContext) -> None:
    assert text(call(task, "read_file", path="brief.md")) == "The summer sale begins in June."
    assert text(call(task, "read_file", path="brief.md", start=4, length=6)) == "summer\n[characters 4 to 10 of 31]"


@pytest.mark.parametrize(
    ("name", "given", "code"),
    [
        ("read_file", {"path": "../secret"}, "file_not_found"),
        ("read_file", {"path": "x.bin"}, "no_text"),
        ("read_file", {"path": "brief.md", "start": 99}, "invalid_tool_input"),
        ("query_tables", {"sql": "SELECT 1", "paths": ["none.csv"]}, "file_not_found"),
    ],
)
def test_what_is_wrong_is_told(task: MemoryToolContext, name: str, given: dict[str, Any], code: str) -> None:
    with pytest.raises(WorkFailure) as failed:
        call(task, name, **given)
    assert failed.value.code == code


def test_a_table_is_described(task: MemoryToolContext) -> None:
    said = text(call(task, "profile_table", path="uploads/Sales 2024.csv"))
    assert said.startswith("Table sales_2024: 3 rows.")
    assert "| revenue | BIGINT | 70 | 150 |" in said
    assert "| 2024-01-01 | search | 100 |" in said


def test_tables_are_asked_in_sql(task: MemoryToolContext, tmp_path: Path) -> None:
    duckdb.sql(f"COPY (SELECT 'search' AS channel, 40 AS cost) TO '{tmp_path}/costs.parquet'")
    task.files.put("costs.parquet", (tmp_path / "costs.parquet").read_bytes())
    sql = (
        "SELECT channel, sum(revenue) - any_value(cost) AS profit FROM sales_2024 JOIN costs USING (channel) GROUP BY 1"
    )
    assert text(call(task, "query_tables", sql=sql)).splitlines()[-1] == "| search | 210 |"


def test_an_export_is_asked_for_its_rows(task: MemoryToolContext) -> None:
    rows = "Kampagne;Tag;Kosten;PLZ\nSommer;31.01.2025;1.200,50 €;01067\nHerbst;01.02.2025;3,10 €;10115\n"
    task.files.put("Export.csv", f"Bericht\n{rows}Gesamt;;1.203,60 €;\n".encode("cp1252"))
    sql = "SELECT sum(Kosten), max(Tag), min(PLZ) FROM export WHERE Tag < DATE '2025-03-01'"
    said = text(call(task, "query_tables", sql=sql, paths=["Export.csv"]))
    assert "| 1203.60 | 2025-02-01 | 01067 |" in said
    assert "- export: Lines above the table: Bericht." in said
    assert "- export: Row 5 left out: total of the rows above." in said
    assert "read as text" in text(call(task, "profile_table", path="Export.csv"))


def test_a_result_is_saved_with_more_rows_than_are_shown(task: MemoryToolContext) -> None:
    said = text(call(task, "query_tables", sql="SELECT range AS n, 'a,\"b' AS t FROM range(1000)", save_as="out/n.csv"))
    assert said.startswith("Wrote 1,000 rows to out/n.csv")
    saved = pandas.read_csv(io.BytesIO(task.files.bytes("out/n.csv")))
    assert (list(saved.columns), len(saved), saved.n.sum(), saved.t[999]) == (["n", "t"], 1000, 499500, 'a,"b')
    assert "| 0 |" in said
    assert f"[the first {ROWS_MAX} rows" in text(call(task, "query_tables", sql="SELECT * FROM range(1000)"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252"])
def test_an_edit_keeps_the_encoding_and_the_line_ends_of_a_file(task: MemoryToolContext, encoding: str) -> None:
    lines = ["# Größen", "Höhe: 12 m", "Gewicht: 3 kg", ""] * 20
    whole = "\r\n".join(["# Preise für Händler", *lines])
    task.files.put("a.md", whole.encode(encoding))
    edited = call(task, "edit_file", path="a.md", old="# Preise für Händler\n# Größen", new="# Preise\n\n# Größen")
    assert text(edited) == "Replaced 1 occurrence in a.md."
    after = "\r\n".join(["# Preise", "", *lines])
    assert task.files.bytes("a.md") == after.encode(encoding)
    call(task, "edit_file", path="a.md", old="12 m", new="13 m", all=True)
    assert task.files.bytes("a.md") == after.replace("12 m", "13 m").encode(encoding)


def test_an_edit_and_a_rewrite_answer_with_a_short_diff(task: MemoryToolContext) -> None:
    text_before = "".join(f"line {number}\n" for number in range(1_000))
    task.files.put("long.txt", text_before.encode())
    _, diff = call(task, "edit_file", path="long.txt", old="line 500\n", new="line 500, <b>edited</b>\n").content
    assert diff["format"] == "diff"
    assert diff["text"].splitlines() == [
        *("--- long.txt", "+++ long.txt", "@@ -498,7 +498,7 @@", " line 497", " line 498", " line 499"),
        *("-line 500", "+line 500, <b>edited</b>", " line 501", " line 502", " line 503"),
    ]
    _, diff = call(task, "write_file", path="long.txt", text=text_before.replace("line", "row")).content
    assert len(diff["text"].splitlines()) == 61
    assert len(call(task, "write_file", path="new.txt", text="Hello").content) == 1
    assert len(call(task, "write_file", path="x.bin", text="Hello").content) == 1


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ({"old": "sumer sale begins"}, "invalid_tool_input", "are:\nThe summer sale begins in June."),
        ({"old": "e"}, "invalid_tool_input", "5 times, on lines 1, 1, 1, 1, 1"),
        ({"old": "June", "new": "June"}, "invalid_tool_input", "Nothing was changed"),
        ({"path": "x.bin"}, "no_text", "run_python"),
        ({"path": "huge.txt"}, "too_much_work", "run_python"),
        ({"path": "none.txt"}, "file_not_found", "list_files"),
    ],
)
def test_an_edit_that_is_not_clear_changes_nothing(
    task: MemoryToolContext, given: dict[str, Any], code: str, said: str
) -> None:
    task.files.put("huge.txt", b"June " * 300_000)
    before = {path: task.files.bytes(path) for path in task.files.outputs}
    with pytest.raises(WorkFailure) as failed:
        call(task, "edit_file", **{"path": "brief.md", "old": "June", "new": "July", **given})
    assert failed.value.code == code
    assert said in failed.value.message
    assert {path: task.files.bytes(path) for path in task.files.outputs} == before
