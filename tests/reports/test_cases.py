"""Files of the kinds that users really have are read for what they mean."""

from __future__ import annotations

import gzip
import io
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
import xlsxwriter

from agentsvc_nb.documents.tables.model import ReadTable
from agentsvc_nb.documents.tables.reading import read_tables
from tests.reports.cases import CASES, Case


def read(folder: Path, name: str, data: str | bytes) -> list[ReadTable]:
    file = folder / "blob"
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_tables(name, "", file)


def check(found: list[ReadTable], case: Case) -> None:
    tables = [table for table in found if any(column.name == case.column for column in table.columns)]
    assert tables, [[column.name for column in table.columns] for table in found]
    table = tables[0]
    values = next(column.values for column in table.columns if column.name == case.column)
    total = sum(value for value in values if isinstance(value, Decimal))
    assert (total, table.rows) == (case.right, case.rows), table
    assert case.note in " ".join(table.notes)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_file_is_read_for_what_it_means(tmp_path: Path, case: Case) -> None:
    check(read(tmp_path, case.name, case.content), case)


@pytest.mark.parametrize("name", ["two header rows", "totals on two levels"])
def test_a_packed_file_is_read(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    check(read(tmp_path, "a.csv.gz", gzip.compress(case.content.encode())), case)


def test_texts_that_hold_the_delimiter_are_one_column(tmp_path: Path) -> None:
    (table,) = read(tmp_path, "a.csv", "comment\nnice shop\nfast; friendly\nok\ngood prices; slow\n")
    assert [list(column.values) for column in table.columns] == [
        ["nice shop", "fast; friendly", "ok", "good prices; slow"]
    ]


def test_formats_of_a_workbook_say_what_its_cells_mean(tmp_path: Path) -> None:
    out = io.BytesIO()
    with xlsxwriter.Workbook(out) as book:
        sheet, hidden = book.add_worksheet("Data"), book.add_worksheet("Old")
        sheet.write_row(0, 0, ["Ad", "CTR", "ZIP", "Watched", "Day", "CPC"])
        hidden.write_row(0, 0, ["Ad", "CPC"])
        hidden.write_row(1, 0, ["x", 999])
        hidden.hide()
        percent, code, span = (book.add_format({"num_format": one}) for one in ("0.0%", "00000", "[h]:mm:ss"))
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        for row in range(1, 4):
            sheet.write(row, 0, f"ad{row}")
            sheet.write_number(row, 1, 0.0125 * row, percent)
            sheet.write_number(row, 2, 1066 + row, code)
            sheet.write_datetime(row, 3, timedelta(hours=30 * row), span)
            sheet.write_datetime(row, 4, date(2026, 1, row), day)
            sheet.write_formula(row, 5, "=1/0", value="#DIV/0!") if row == 2 else sheet.write(row, 5, row / 2)
    (table,) = read(tmp_path, "a.xlsx", out.getvalue())
    found = {column.name: (column.kind, column.unit, list(column.values)) for column in table.columns}
    assert found == {
        "Ad": ("text", "", ["ad1", "ad2", "ad3"]),
        "CTR": ("number", "%", [Decimal("1.25"), Decimal("2.5"), Decimal("3.75")]),
        "ZIP": ("text", "", ["01067", "01068", "01069"]),
        "Watched": ("number", "s", [108000, 216000, 324000]),
        "Day": ("date", "", [date(2026, 1, row) for row in (1, 2, 3)]),
        "CPC": ("number", "", [Decimal("0.5"), None, Decimal("1.5")]),
    }
    assert table.notes == (
        "Hidden sheets are left out: Old.",
        "Watched: Durations are read as seconds.",
        "CPC: 1 cell has an error value and no number: #DIV/0!.",
    )
    assert (table.columns[5].unread, table.columns[5].unread_texts) == (0, ())


def test_merged_cells_and_months_head_columns(tmp_path: Path) -> None:
    out = io.BytesIO()
    with xlsxwriter.Workbook(out) as book:
        sheet = book.add_worksheet()
        day = book.add_format({"num_format": "mmm yy"})
        sheet.merge_range(0, 1, 0, 2, "Google")
        sheet.merge_range(0, 3, 0, 4, "Meta")
        sheet.write_row(1, 0, ["Month", "Spend", "Clicks", "Spend", "Clicks"])
        sheet.write_row(2, 0, ["Jan", 1, 2, 3, 4])
        sheet.write_row(3, 0, ["Feb", 5, 6, 7, 8])
        months = book.add_worksheet()
        months.write(0, 0, "Product")
        for at in (1, 2, 3):
            months.write_datetime(0, at, date(2026, at, 1), day)
            months.write_row(at, 0, [f"p{at}", at, 2 * at, 3 * at])
    merged, months_table = read(tmp_path, "a.xlsx", out.getvalue())
    names = ["Month", "Google Spend", "Google Clicks", "Meta Spend", "Meta Clicks"]
    assert [column.name for column in merged.columns] == names
    assert [column.name for column in months_table.columns] == ["Product", "2026-01", "2026-02", "2026-03"]


def test_formulas_without_a_result_are_told(tmp_path: Path) -> None:
    out = io.BytesIO()
    with xlsxwriter.Workbook(out) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["a", "b"])
        for row in (1, 2):
            sheet.write(row, 0, row)
            sheet.write_formula(row, 1, f"=A{row + 1}*2", value="")
    (table,) = read(tmp_path, "a.xlsx", out.getvalue())
    assert any("2 formulas have no stored result" in note and "B2, B3" in note for note in table.notes)
