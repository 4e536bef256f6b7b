"""Nothing is computed over a part of a table: a large file is read whole, or refused with the limit and what to do."""

from __future__ import annotations

import io
import json
from pathlib import Path

import duckdb
import pytest
import xlsxwriter

from agentsvc_nb.documents.tables import model, reading
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.previews.child import read_beginning
from agentsvc_nb.notebook.previews.decoding import read_table
from agentsvc_nb.tools.port import WorkFailure
from tests.unit.service.agents_harness import MemoryToolContext, MemoryWorkspace
from tests.unit.tools.test_tools_workspace import call, text

ROWS, COLUMNS = 300_000, 20
TOTAL = sum((row * 3) % 1000 for row in range(ROWS))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300,000 rows of 20 columns, as CSV and as Parquet."""
    folder = tmp_path_factory.mktemp("large")
    columns = ", ".join(f"(range * {at}) % 1000 AS v{at}" for at in range(1, COLUMNS))
    made = f"(SELECT CASE range % 2 WHEN 0 THEN 'south' ELSE 'north' END AS region, {columns} FROM range({ROWS}))"
    with duckdb.connect(":memory:") as engine:
        for ending in ("csv", "parquet"):
            engine.execute(f"COPY {made} TO '{folder / f'sales.{ending}'}'")
    return folder


def test_a_csv_of_six_million_cells_is_computed_whole(large: Path, tmp_path: Path) -> None:
    data = (large / "sales.csv").read_bytes()
    task = MemoryToolContext(MemoryWorkspace(tmp_path / "tools", {"sales.csv": data}))
    assert f"| {ROWS} | {TOTAL} |" in text(call(task, "query_tables", sql="SELECT count(*), sum(v3) FROM sales"))


def test_a_table_beyond_the_limit_is_refused_with_what_to_do(large: Path, tmp_path: Path) -> None:
    data = (large / "sales.parquet").read_bytes()
    said = r"more than 5,000,000 cells, so nothing was computed\. Leave out columns, split the file, or save"
    task = MemoryToolContext(MemoryWorkspace(tmp_path / "tools", {"sales.parquet": data, "a.csv": "n\n1\n"}))
    for name, given in (
        ("query_tables", {"sql": "SELECT sum(v3) FROM sales"}),
        ("query_tables", {"sql": "SELECT sum(v3) FROM sales", "paths": ["sales.parquet"]}),
        ("profile_table", {"path": "sales.parquet"}),
    ):
        with pytest.raises(WorkFailure, match=said):
            call(task, name, **given)
    with pytest.raises(AskError, match=r"sales\.parquet can.t be read as a table"):
        read_table(large / "sales.parquet")
    shown = read_beginning(str(large / "sales.parquet"))
    assert (len(shown["rows"]), shown["count"]) == (20, ROWS)


def workbook(*heights: int) -> bytes:
    made = io.BytesIO()
    with xlsxwriter.Workbook(made) as book:
        for height in heights:
            sheet = book.add_worksheet()
            for at in range(height):
                sheet.write_row(at, 0, ["name", "n"] if at == 0 else [f"r{at}", at])
    return made.getvalue()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.html", "<table><tr><td>a<td>b<tr><td>1<td>2</table>" * 101),
        ("a.json", json.dumps({f"t{at}": [{"a": 1, "b": 2}] for at in range(101)})),
        ("a.xlsx", workbook(*[2] * 101)),
    ],
)
def test_tables_that_are_not_read_are_told(name: str, data: str | bytes, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    found = reading.read_tables(name, "", file)
    assert len(found) == model.TABLES_MAX
    assert all("more than 100 tables" in " ".join(table.notes) for table in found)


def test_a_text_that_goes_on_is_told_to_the_model(tmp_path: Path) -> None:
    files = {"long.md": "word " * 250_000, "short.md": "word"}
    task = MemoryToolContext(MemoryWorkspace(tmp_path, files))
    assert "only the first 1 MB" in text(call(task, "read_file", path="long.md"))
    assert "only the first" not in text(call(task, "read_file", path="short.md"))
