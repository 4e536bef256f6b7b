"""Tables in files of every format and oddity are read for what they mean, and what was decided is told."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest
import xlsxwriter

from agentsvc_nb.documents.tables import model
from agentsvc_nb.documents.tables.model import ReadColumn, ReadTable, UnreadableTable
from agentsvc_nb.documents.tables.reading import read_tables
from tests.reports.cases import CASES as REPORTS
from tests.reports.cases import Case as Report
from tests.unit.documents.word_files import paragraph, word_file
from tests.unit.documents.word_files import table as word_table

D = Decimal


def read(folder: Path, name: str, data: str | bytes) -> list[ReadTable]:
    file = folder / "blob"
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_tables(name, "", file)


def column(table: ReadTable, name: str) -> ReadColumn:
    return next(one for one in table.columns if one.name == name)


def found(table: ReadTable) -> dict[str, list[Any]]:
    return {one.name: list(one.values) for one in table.columns}


class Case(NamedTuple):
    """A column's cells, and what they mean."""

    cells: Sequence[str]
    kind: str
    values: Sequence[Any]
    unit: str = ""
    said: str = ""


CASES = {
    "decimals of three digits": Case(["1.234", "5.678"], "number", [D("1.234"), D("5.678")], said="No cell tells"),
    "german": Case(["1.234,50", "3,10", "2.000"], "number", [D("1234.50"), D("3.10"), 2000]),
    "french": Case(["1 234,5", "12\u202f345,6", "7\u00a0000,0"], "number", [D("1234.5"), D("12345.6"), 7000]),
    "indian": Case(["1,23,456", "12,34,567.5"], "number", [123456, D("1234567.5")]),
    "dollars": Case(["$1,200.50", "-$3.00", "($4.00)", "$0"], "number", [D("1200.50"), -3, -4, 0], "$"),
    "euros behind": Case(["1.200,50 €", "3,10 €", ""], "number", [D("1200.50"), D("3.10"), None], "€"),
    "dollars of two countries, perhaps": Case(["$5", "USD 7"], "text", ["$5", "USD 7"], said="several currencies"),
    "per cent": Case(["12.5%", "3 %", "0"], "number", [D("12.5"), 3, 0], "%"),
    "a per cent without its sign": Case(["1%", "2%", "3%", "4"], "number", [1, 2, 3, None], "%", said="'4'"),
    "empty signs": Case(["5", " --", "7", "n/a", "8"], "number", [5, None, 7, None, 8], said="Read as empty: --, n/a."),
    "a few are none": Case(["1", "2", "3", "4", "DNF"], "number", [1, 2, 3, 4, None], said="1 cell is not a number"),
    "leading zeros": Case(["01067", "10115"], "text", ["01067", "10115"], said="leading zeros"),
    "iso dates": Case(["2025-01-31", "", "2025-02-01"], "date", [date(2025, 1, 31), None, date(2025, 2, 1)]),
    "no such day": Case(["2025-02-28"] * 3 + ["2025-02-30"], "date", [date(2025, 2, 28)] * 3 + [None], said="1 cell"),
    "day first": Case(["31/12/2025", "1/2/2026"], "date", [date(2025, 12, 31), date(2026, 2, 1)]),
    "month first": Case(["12/31/2025", "1/2/2026"], "date", [date(2025, 12, 31), date(2026, 1, 2)]),
    "either": Case(["1/2/2026", "3/4/2026"], "date", [date(2026, 1, 2), date(2026, 3, 4)], said="day or the month"),
    "months": Case(["2025-01", "2025-02"], "date", [date(2025, 1, 1), date(2025, 2, 1)], "month"),
    "times": Case(["10:00", "23:59:59", "1:05 pm"], "time", [time(10), time(23, 59, 59), time(13, 5)]),
    "durations": Case(["25:10:00", "30:00:00"], "number", [90600, 108000], "s", "seconds"),
    "errors of spreadsheets": Case(["1", "#DIV/0!", "2", "#N/A", "3"], "number", [1, None, 2, None, 3], said="#DIV/0!"),
}  # fmt: skip


@pytest.mark.parametrize("case", [case for case in REPORTS if case.rows is not None], ids=str)
def test_a_table_of_a_report_is_read_right(tmp_path: Path, case: Report) -> None:
    tables = read(tmp_path, case.file, case.content)
    table = next(one for one in tables if case.column in found(one))
    total = sum(value for value in column(table, str(case.column)).values if isinstance(value, Decimal | int))
    assert (table.rows, total) == (case.rows, D(case.total or 0)), table
    assert case.note in " ".join(table.notes)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_column_is_read_for_what_it_means(tmp_path: Path, case: Case) -> None:
    rows = "\n".join(f"{number}\t{cell}\tend" for number, cell in enumerate(case.cells, 1))
    (table,) = read(tmp_path, "cases.tsv", f"key\tvalue\tlast\n{rows}\n")
    value = column(table, "value")
    assert (value.kind, list(value.values), value.unit) == (case.kind, list(case.values), case.unit)
    assert [*map(str, value.cells)] == [re.sub('="(.*)"', r"\1", cell) for cell in case.cells]
    told = " ".join(one for one in table.notes if one.startswith("value:"))
    assert case.said in told
    assert case.said or not table.notes


def test_the_neighbours_settle_what_a_column_leaves_open(tmp_path: Path) -> None:
    text = 'day,sent,cost,views\n31/12/2025,1/2/2026,"1,5",1.234\n1/1/2026,3/2/2026,"2,5",5.678\n'
    (table,) = read(tmp_path, "a.csv", text)
    assert (found(table)["sent"], found(table)["views"]) == ([date(2026, 2, 1), date(2026, 2, 3)], [1234, 5678])
    assert table.notes == ()


def test_amounts_of_money_with_three_digits_behind_a_mark_are_thousands(tmp_path: Path) -> None:
    (table,) = read(tmp_path, "a.csv", "deal;amount\na;$58,500\nb;$22,500\n")
    assert found(table)["amount"] == [58500, 22500]
    (table,) = read(tmp_path, "b.csv", "station;diesel\na;1,659 €\nb;1,729 €\n")
    assert found(table)["diesel"] == [D("1.659"), D("1.729")]


def test_a_broken_byte_does_not_turn_a_text_into_another_encoding(tmp_path: Path) -> None:
    text = "name,count\n" + "Zürich,1\n" * 20
    (table,) = read(tmp_path, "a.csv", text.encode() + b"Gen\xe8ve,2\n")
    assert table.columns[0].values[0] == "Zürich"
    assert any("bytes" in note for note in table.notes)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252", "mac_roman"])
def test_the_encoding_is_found(tmp_path: Path, encoding: str) -> None:
    text = "Größe;Stückzahl;Straße\nklein;5;Königsallee\ngroß;7;Münchner Straße\nübergroß;2;Am Gärtnerplatz\n"
    (table,) = read(tmp_path, "a.csv", text.encode(encoding))
    assert found(table)["Größe"] == ["klein", "groß", "übergroß"]
    assert found(table)["Straße"] == ["Königsallee", "Münchner Straße", "Am Gärtnerplatz"]


def test_an_encoding_of_another_script_is_found(tmp_path: Path) -> None:
    words = "東京は日本の首都です"
    rows = "".join(f"{words};{number},50 \n" for number in range(20))
    (table,) = read(tmp_path, "a.csv", f"text;price\n{rows}".encode("shift_jis"))
    assert set(found(table)["text"]) == {words}


QUOTING = {
    "line breaks": ('a,b\n"x\ny",2\n', ["x\ny"]),
    "doubled": ('a,b\n"say ""hi""",2\n', ['say "hi"']),
    "delimiter told": ("sep=|\na|b\nx|2\n", ["x"]),
}


@pytest.mark.parametrize(("text", "first"), QUOTING.values(), ids=QUOTING.keys())
def test_quoting_is_understood(tmp_path: Path, text: str, first: list[str]) -> None:
    (table,) = read(tmp_path, "a.csv", text)
    assert found(table) == {"a": first, "b": [2]}


@pytest.mark.parametrize(
    "header", ["Player,180s,100+,21st", "Hand,1 credit,2 credits,3 credits", "Year,Time,City,", "Team,Q1,Q2,2024"]
)
def test_a_header_may_hold_numbers(tmp_path: Path, header: str) -> None:
    (table,) = read(tmp_path, "a.csv", f"{header}\n2001,5,6,7\n2002,7,8,9\n")
    assert [one.name for one in table.columns] == [name or "Column 4" for name in header.split(",")]


def test_a_quotation_mark_that_is_never_closed_swallows_nothing(tmp_path: Path) -> None:
    (table,) = read(tmp_path, "a.csv", 'a,b\n"x,1\ny,2\nz,3\n')
    assert found(table)["b"] == [1, 2, 3]
    assert "never closed" in " ".join(table.notes)


def test_each_column_has_a_name_of_its_own(tmp_path: Path) -> None:
    (table,) = read(tmp_path, "a.csv", "id,,Name,name,\n1,2,a,b,\n2,3,c,d,\n")
    assert [one.name for one in table.columns] == ["id", "Column 2", "Name (1)", "name (2)"]
    assert any("'Name'" in note for note in table.notes)


def test_rows_of_another_width_are_told(tmp_path: Path) -> None:
    (table,) = read(tmp_path, "a.csv", "a,b,c\n1,2,3\n4,5\n6,7,8,9\n1,2,3\n")
    assert found(table)["c"] == [3, None, 8, 3]
    assert "columns: 1 (row 4)" in " ".join(table.notes)


def test_subtotals_between_are_no_rows(tmp_path: Path) -> None:
    text = "region,units\nNorth,5\nSouth,6\nSubtotal,11\nEast,1\nWest,2\nSubtotal,3\nGrand total,14\n"
    (table,) = read(tmp_path, "a.csv", text)
    assert found(table)["units"] == [5, 6, 1, 2]
    assert table.total_rows == (4, 7, 8)
    assert list(table.row_numbers) == [2, 3, 5, 6]


TOTALS = {
    "a total that differs": ("item,cost\nA,100\nB,50\nTotal,155\n", [100, 50], "left out"),
    "a total that differs, above": ("item,cost\nTotal,155\nA,100\nB,50\n", [100, 50], "left out"),
    "a total of unique users": ("c,reach\nA,1000\nB,800\nC,300\nTotal,1650\n", [1000, 800, 300], "left out"),
    "a total of more pages": ("page,n\n/a,500\n/b,300\nTotal (1-2 of 240),25000\n", [500, 300], "left out"),
    "a mean that differs": ("name,n\nA,10\nB,20\nC,60\nAverage,25\n", [10, 20, 60], "left out"),
    "a group's total that differs": (
        "r,c,n\nN,A,10\nN,B,20\nN Total,,35\nS,C,5\nS,D,6\nS Total,,11\nGrand Total,,46\n", [10, 20, 5, 6], "left out"
    ),
    "a label's total that differs": (
        "r,sex,n\n1,Total,9\n1,M,4\n1,F,4\n2,Total,8\n2,M,3\n2,F,4\n", [4, 4, 3, 4], "left out"
    ),
    "a subtotal that differs": ("r,n\nA,5\nB,6\nSum,12\nC,1\nD,2\nSum,3\nTotal,15\n", [5, 6, 1, 2], "left out"),
    "a quarter that differs": ("m,n\nJan,100\nFeb,150\nMar,50\nQ1,310\nApr,1\n", [100, 150, 50, 1], "left out"),
    "a customer's quarter that differs": (
        "c,m,n\nA,Jan,5\nA,Feb,7\nB,Jan,1\nB,Feb,2\nB,Q1,4\n", [5, 7, 1, 2], "left out"
    ),
    "a rate of all": ("c,n\nA,40%\nB,50%\nTotal,46%\n", [40, 50], "left out"),
    "losses": ("c,n\nA,100\nB,-60\nTotal,45\n", [100, -60], "left out"),
    "profits": (
        "a,n\nRevenue,1000\nGoods,-400\nGross,600\nRent,-350\nEBIT,250\n", [1000, -400, 600, -350, 250], "counted"
    ),
    "balances": ("text,n\nOpening,1000\nRent,-400\nFee,-10\nClosing,590\n", [1000, -400, -10, 590], "counted"),
    "repeated numbers": ("a,n\nA,2\nB,3\nC,5\nD,5\nE,5\n", [2, 3, 5, 5, 5], ""),
    "all of a column": ("device,n\nMobile,600\nDesktop,400\nAll devices,1000\n", [600, 400], ""),
    "stars": ("centre,n\n100,10\n200,20.5\n*,30.5\n", [10, D("20.5")], ""),
    "a quarter": ("m,n,ytd\nJan,100,100\nFeb,150,250\nMar,50,300\nQ1,300,300\nApr,1,301\n", [100, 150, 50, 1], ""),
    "a year": ("m,n\nQ1 2024,300\nJan 2024,250\nFeb 2024,50\n2024,300\n", [250, 50], ""),
    "a total without a number": ("item,n,price\nA,1,2\nB,2,3\nTotal,,\n", [1, 2], ""),
    "quarters alone": ("q,n\nQ1,100\nQ2,150\nQ3,250\n", [100, 150, 250], ""),
    "quarters before months": ("p,n\nQ1,100\nQ2,150\nJul,50\nAug,300\n", [100, 150, 50, 300], ""),
    "a brand": ("brand,n\nShell,40\nAral,25\nTotal,30\nEsso,5\n", [40, 25, 30, 5], ""),
    "a brand at the end": ("brand,n\nAral,25\nShell,40\nTotal,30\n", [25, 40, 30], ""),
    "a brand and a total": ("brand,n\nShell,40\nTotal,50\nEsso,5\nTotal,95\n", [40, 50, 5], ""),
    "ratings": ("stars,hotel,n\n***,A,1\n****,B,2\n*,C,3\n", [1, 2, 3], ""),
    "a sum by chance": ("channel,n\nSEO,10\nSEM,20\nEmail,30\nSocial,5\n", [10, 20, 30, 5], ""),
    "a round sum by chance": ("channel,n\nSEO,100\nSEM,200\nTV,100\nPrint,400\n", [100, 200, 100, 400], ""),
}  # fmt: skip


@pytest.mark.parametrize(("text", "numbers", "doubt"), TOTALS.values(), ids=TOTALS)
def test_a_total_never_counts_silently(tmp_path: Path, text: str, numbers: Sequence[Any], doubt: str) -> None:
    (table,) = read(tmp_path, "a.csv", text)
    assert next(list(one.values) for one in table.columns if one.name in ("n", "cost", "reach")) == numbers, table
    assert (doubt in table.doubt) if doubt else not table.doubt
    assert ("left out" in table.doubt) <= bool(table.total_rows)


def test_proven_totals_are_not_called_wrong(tmp_path: Path) -> None:
    pivot = "row,n\nGermany,500\nBerlin,300\nMunich,200\nFrance,450\nParis,400\nLyon,50\nGrand Total,950\n"
    (table,) = read(tmp_path, "a.csv", pivot)
    assert table.notes == ("Rows 2, 5 and 8 left out: totals of other rows.",)
    groups = "r,s,n\nN,A,1200\nN,B,400\nSubtotal N,,1600\nS,C,2500\nS,D,300\nSubtotal S,,2800\nTotal,,4400\n"
    (table,) = read(tmp_path, "a.csv", groups)
    assert table.notes == ("Rows 4, 7 and 8 left out: totals of other rows.",)


SEPARATED = {
    "sap": (
        "Report    Page 1\n\n----------------\n|Centre|Text  | Amount|\n----------------\n|0100|Travel| 1,250.00 |\n"
        "|0100|Travel| 300.00-|\n----------------\n|*   |      | 950.00 |\n----------------\n"
    ),
    "lines in each cell": "Centre,Amount\n---,---\n100,1250.00\n200,-300.00\n===,___\nTotal,950.00\n",
}


@pytest.mark.parametrize("text", SEPARATED.values(), ids=SEPARATED)
def test_lines_of_dashes_are_no_rows(tmp_path: Path, text: str) -> None:
    (table,) = read(tmp_path, "a.csv", text)
    assert found(table)["Amount"] == [D("1250.00"), D("-300.00")]
    (comments,) = read(tmp_path, "a.csv", "comment\nnice\n---\nok\n")
    assert comments.rows == 3


def test_rows_that_head_others_are_no_rows(tmp_path: Path) -> None:
    text = (
        "town,people,area\nCity,City,City\nUlm,5,6\nBonn,1,2\nKiel,3,4\nCountry,Country,Country\nA,7,8\nB,5,5\nC,1,1\n"
    )
    (table,) = read(tmp_path, "a.csv", text)
    assert found(table) == {
        "town": ["Ulm", "Bonn", "Kiel", "A", "B", "C"],
        "people": [5, 1, 3, 7, 5, 1],
        "area": [6, 2, 4, 8, 5, 1],
    }
    assert "Rows 2 and 6 left out: headings ('City', 'Country')." in table.notes
    (table,) = read(tmp_path, "a.csv", "a,b,c\nx,x,x\ny,x,z\n")
    assert table.rows == 2


def test_several_tables_in_one_file_are_read_apart(tmp_path: Path) -> None:
    text = "# Pages\n# 2025\n\nPage,Views\n/,100\n/shop,50\n,150\n\nDay Index,Views\n1/31/25,90\n2/1/25,60\n"
    pages, days = read(tmp_path, "analytics.csv", text)
    assert found(pages) == {"Page": ["/", "/shop"], "Views": [100, 50]}
    assert pages.total_rows == (7,)
    assert found(days) == {"Day Index": [date(2025, 1, 31), date(2025, 2, 1)], "Views": [90, 60]}
    assert (days.name, list(days.row_numbers)) == ("analytics (2)", [10, 11])
    assert "2 tables" in " ".join(days.notes)


JSON = {
    "records": (
        [{"a": 1, "b": "x"}, {"a": 2.50, "c": None}],
        {"a": [1, D("2.5")], "b": ["x", None], "c": [None, None]},
    ),
    "nested": ([{"a": {"b": {"c": 1}}, "d": [1, 2]}], {"a.b.c": [1], "d": ["[1, 2]"]}),
    "pandas split": ({"columns": ["a", "b"], "index": [0], "data": [[1, "x"]]}, {"a": [1], "b": ["x"]}),
}


@pytest.mark.parametrize(("document", "values"), JSON.values(), ids=JSON.keys())
def test_json_of_many_shapes_is_a_table(tmp_path: Path, document: Any, values: dict[str, list[Any]]) -> None:
    (table,) = read(tmp_path, "a.json", json.dumps(document))
    assert found(table) == values


def test_tables_of_a_page_are_read(tmp_path: Path) -> None:
    page = (
        "<h2>Prices</h2><table><tr><th>Shop<th>Price</tr><tr><td rowspan=2>A<td>1,50 €</tr><tr><td>2,00 €</table>"
        "<table><tr><td>only a frame</td></tr></table>"
        "<table><caption>Staff</caption><tr><td>Name</td><td>Age</td></tr><tr><td>Ann</td><td>31</td></tr></table>"
    )
    tables = read(tmp_path, "a.html", page)
    assert [table.name for table in tables] == ["Prices", "Staff"]
    assert found(tables[0]) == {"Shop": ["A", "A"], "Price": [D("1.50"), 2]}
    assert found(tables[1]) == {"Name": ["Ann"], "Age": [31]}


def test_tables_of_a_word_document_are_read(tmp_path: Path) -> None:
    wide = f'<w:tcPr><w:gridSpan w:val="2"/></w:tcPr>{paragraph("7")}'
    body = paragraph("Sales", style="Heading1") + word_table(["Shop", "Q1", "Q2"], ["A", "5", "6"], ["B", wide])
    (table,) = read(tmp_path, "a.docx", word_file(body))
    assert table.name == "Sales"
    assert found(table) == {"Shop": ["A", "B"], "Q1": [5, 7], "Q2": [6, 7]}


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    sql = "SELECT 1.50::DECIMAL(9, 2) AS a, DATE '2025-01-31' AS d, 'x' AS t, 0.1::DOUBLE AS f"
    duckdb.sql(f"COPY ({sql} UNION ALL SELECT NULL, NULL, NULL, NULL) TO '{tmp_path}/made.parquet'")
    (table,) = read(tmp_path, "a.parquet", (tmp_path / "made.parquet").read_bytes())
    assert {name: values[0] for name, values in found(table).items()} == {
        "a": D("1.50"), "d": date(2025, 1, 31), "t": "x", "f": D("0.1"),
    }  # fmt: skip
    assert list(table.row_numbers) == [1, 2]


HOSTILE = {
    "empty": ("a.csv", b""),
    "noise": ("a.csv", bytes(range(256)) * 50),
    "no workbook": ("a.xlsx", b"PK\x03\x04" + bytes(100)),
    "deep json": ("a.json", b"[" * 200_000),
    "no parquet": ("a.parquet", b"PAR1" + bytes(100)),
    "no table": ("a.exe", b"MZ"),
}


@pytest.mark.parametrize(("name", "data"), HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_no_table_is_said_in_a_sentence(tmp_path: Path, name: str, data: bytes) -> None:
    with pytest.raises(UnreadableTable, match=r"^[A-Za-z].*\.$"):
        read(tmp_path, name, data)


def test_a_preview_reads_the_beginning_and_tells_what_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("\n".join([",".join(f"c{at}" for at in range(5_000)), *[",".join(["1"] * 5_000)] * 3]))
    (table,) = read_tables("a.csv", "", file, 10_000)
    assert (len(table.columns), table.columns_left_out) == (model.COLUMNS_MAX, 4_000)
    file.write_text("a,b\n" + "1,2\n" * 30_000)
    (table,) = read_tables("a.csv", "", file, 100)
    assert table.rows + table.rows_left_out == 30_000


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
        "CTR": ("number", "%", [D("1.25"), D("2.5"), D("3.75")]),
        "ZIP": ("text", "", ["01067", "01068", "01069"]),
        "Watched": ("number", "s", [108000, 216000, 324000]),
        "Day": ("date", "", [date(2026, 1, row) for row in (1, 2, 3)]),
        "CPC": ("number", "", [D("0.5"), None, D("1.5")]),
    }
    assert table.notes == (
        "Hidden sheets are left out: Old.",
        "Watched: Durations are read as seconds.",
        "CPC: 1 cell has an error value and no number: #DIV/0!.",
    )
    assert (table.columns[5].unread, table.columns[5].unread_texts) == (0, ())


def workbook(*heights: int) -> bytes:
    out = io.BytesIO()
    with xlsxwriter.Workbook(out) as book:
        for height in heights:
            sheet = book.add_worksheet()
            for at in range(height):
                sheet.write_row(at, 0, ["name", "n"] if at == 0 else [f"r{at}", at])
    return out.getvalue()


HTML = "<table>" + "<tr><td>a<td>1" * 80 + "</table>"
RECORDS = json.dumps([{"a": at, "b": at} for at in range(80)])
WIDE = ",".join(f"c{at}" for at in range(1_200)) + "\n" + ",".join(["1"] * 1_200) + "\n"


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.csv", "a,b\n" + "x,2\n" * 10_100, "more than 5,000,000 cells"),
        ("a.csv", WIDE.replace("\n", "\n\n", 1), "more than 1,000 columns"),
        ("a.json", RECORDS, "more than 5,000,000 cells"),
        ("a.html", HTML, "more than 5,000,000 cells"),
        ("a.html", f"<table><tr>{'<td>1' * 1_200}<tr>{'<td>1' * 1_200}</table>", "more than 1,000 columns"),
        ("a.xlsx", workbook(80), "more than 5,000,000 cells"),
        # The second sheet has no room at all.
        ("a.xlsx", workbook(50, 10), "more than 5,000,000 cells"),
    ],
)
def test_no_format_is_read_in_part(
    name: str, data: str | bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "cells" in said:
        for module in ("reading", "records"):
            monkeypatch.setattr(f"agentsvc_nb.documents.tables.{module}.CELLS_MAX", 100)
    with pytest.raises(model.TableTooLarge, match=said):
        read(tmp_path, name, data)
