"""What an agent's tools for tables tell and save; and no path of this machine is told."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pandas
import pytest
import xlsxwriter

from agentsvc_nb.client.downloads import read_table
from agentsvc_nb.documents.engine import child
from agentsvc_nb.documents.engine.messages import ROWS_MAX
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools import catalog
from agentsvc_nb.tools.port import WorkFailure
from tests.unit.service.agents_harness import MemoryToolContext, MemoryWorkspace
from tests.unit.tools.test_tools_workspace import SALES, call, text


def workbook() -> bytes:
    made = io.BytesIO()
    with xlsxwriter.Workbook(made) as book:
        for name, rows in (("Orders", [["order", "price"], ["A-1", 5], ["A-2", 7]]), ("Prices", [["sku"], ["X"]])):
            sheet = book.add_worksheet(name)
            for at, row in enumerate(rows):
                sheet.write_row(at, 0, row)
    return made.getvalue()


FILES: dict[str, str | bytes] = {
    "uploads/Sales 2024.csv": SALES,
    "book.xlsx": workbook(),
    "stock.json": json.dumps([{"sku": "X", "left": 3}, {"sku": "Y", "left": 0}]),
    "kyrillisch.csv": "город;сумма\nМосква;1,5\nКазань;2,5\n".encode("cp1251"),
}


@pytest.fixture
def task(tmp_path: Path) -> MemoryToolContext:
    return MemoryToolContext(MemoryWorkspace(tmp_path / "chat", FILES))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT sum(price) AS x FROM book", "12"),
        ("SELECT sku AS x FROM book_prices", "X"),
        ('SELECT sum("left") AS x FROM stock', "3"),
        ("SELECT sum(сумма) AS x FROM kyrillisch", "4"),
        ("SELECT s.left AS x FROM book_prices JOIN stock s USING (sku)", "3"),
    ],
)
def test_every_sheet_json_and_other_encodings_are_asked(task: MemoryToolContext, sql: str, expected: str) -> None:
    assert f"\n| {expected}" in text(call(task, "query_tables", sql=sql))


def test_a_table_of_a_file_is_described(task: MemoryToolContext) -> None:
    first = text(call(task, "profile_table", path="book.xlsx"))
    assert first.startswith("Table book: 2 rows.\n")
    assert "Further tables of the file: book_prices." in first
    second = text(call(task, "profile_table", path="book.xlsx", table="book_prices"))
    assert second.startswith("Table book_prices: 1 rows.\n")
    assert "Further tables of the file: book." in second
    with pytest.raises(WorkFailure, match=r"table: book\.xlsx has book, book_prices\."):
        call(task, "profile_table", path="book.xlsx", table="prices")


def test_a_result_is_saved_with_more_rows_than_are_shown(task: MemoryToolContext) -> None:
    said = text(call(task, "query_tables", sql="SELECT range AS n, 'a,\"b' AS t FROM range(1000)", save_as="out/n.csv"))
    assert said.startswith("Wrote 1,000 rows to out/n.csv. The first:\n\n| n | t |")
    saved = pandas.read_csv(io.BytesIO(task.files.bytes("out/n.csv")))
    assert (list(saved.columns), len(saved), saved.n.sum(), saved.t[999]) == (["n", "t"], 1000, 499500, 'a,"b')
    assert "| 0 |" in said
    assert f"[the first {ROWS_MAX} rows" in text(call(task, "query_tables", sql="SELECT * FROM range(1000)"))


def test_what_is_saved_comes_back_with_its_types(task: MemoryToolContext) -> None:
    """As `.table` of an answer in a notebook: by the schema beside it."""
    columns = {
        "7::BIGINT": "integer",
        "1.5::DECIMAL(4, 2)": "number",
        "true": "boolean",
        "DATE '2026-10-05'": "date",
        "TIMESTAMP '2026-10-05 12:30:00'": "datetime",
        "TIMESTAMPTZ '2026-10-05 12:30:00+00'": "string",
        "'a'": "string",
        "NULL": "string",
    }
    named = ", ".join(f"{value} AS {chr(97 + place)}" for place, value in enumerate(columns))
    call(task, "query_tables", sql=f"SELECT {named} UNION ALL SELECT {', '.join(['NULL'] * 8)}", save_as="out/t.csv")
    schema = task.files.bytes("out/t.schema.json")
    assert [field["type"] for field in json.loads(schema)["fields"]] == list(columns.values())
    table = read_table(task.files.bytes("out/t.csv"), schema)
    assert list(table.dtypes.astype(str))[:5] == ["Int64", "float64", "boolean", "datetime64[us]", "datetime64[us]"]
    assert (table.a[0], table.b[0], table.c[0], table.d[0].day, len(table)) == (7, 1.5, True, 5, 2)


def test_columns_of_one_name_are_saved_without_a_schema(task: MemoryToolContext) -> None:
    call(task, "query_tables", sql="SELECT 1 AS n, 2 AS n", save_as="n.csv")
    assert set(task.files.outputs) - set(FILES) == {"n.csv"}


@pytest.mark.parametrize("name", ["SAVED_ROWS_MAX", "SAVED_CHARS"])
def test_a_part_of_the_rows_is_not_saved(task: MemoryToolContext, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next query would compute with it as if it were the whole."""
    monkeypatch.setattr(child, name, 10)
    with pytest.raises(WorkFailure, match="Nothing was written, since a file with a part of the rows"):
        call(task, "query_tables", sql="SELECT range AS n FROM range(1000)", save_as="n.csv")
    assert set(task.files.outputs) == set(FILES)


@pytest.mark.parametrize(
    "sql",
    [
        "PRAGMA database_list",
        "SELECT * FROM duckdb_databases()",
        "SELECT * FROM duckdb_settings()",
        "SELECT * FROM duckdb_secrets()",
        "SELECT * FROM duckdb_extensions()",
        "SELECT * FROM pragma_database_size()",
        "INSTALL httpfs",
        "LOAD httpfs",
        "EXPORT DATABASE 'x'",
        "SELECT * FROM glob('*')",
        "SELECT error((SELECT string_agg(path, ' ') FROM duckdb_databases()))",
    ],
)
def test_no_path_of_this_machine_is_told(task: MemoryToolContext, sql: str, tmp_path: Path) -> None:
    try:
        said = text(call(task, "query_tables", sql=sql))
    except WorkFailure as failure:
        said = failure.message
    assert str(tmp_path) not in said.replace("\\", "")
    assert str(Path.home()) not in said


def test_the_descriptions_tell_how_to_ask() -> None:
    asked = catalog.within({}, Settings(Path("data")))["query_tables"]
    told = asked.description + json.dumps(asked.Input.model_json_schema())
    assert all(word in told for word in ("DuckDB", f"first {ROWS_MAX} rows", "save_as", "sales_2024", "every sheet"))
