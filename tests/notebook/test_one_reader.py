"""An export of an ad platform is the same table in `%files preview`, in `map` over its rows and in what is computed."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest

from agentsvc_nb import read_table
from agentsvc_nb.client import batch_rows as rows
from agentsvc_nb.documents.engine.child import answer
from agentsvc_nb.documents.engine.messages import ReadQuestion, SqlQuestion, TableFile, UsedTable
from agentsvc_nb.documents.tables.profiles import named
from tests.notebook import samples
from tests.notebook.previewed import harmless, preview

POINTS = "Summer, all|2025-05-01|1,234.50|12\nBrand DE|2025-05-02|3.10|1,000\n"
COMMAS = "Summer, all|01.05.2025|1.234,50 €|12\nBrand DE|02.05.2025|3,10 €|1.000\n"
HEADER = "Campaign|Day|Cost|Clicks\n"
TITLES = "Campaign report\n1 May 2025 - 31 May 2025\n\n"


def _delimited(text: str, mark: str) -> str:
    lines = (line.split("|") for line in text.split("\n"))
    return "\n".join(mark.join(f'"{cell}"' if mark in cell else cell for cell in cells) for cells in lines)


EXPORTS = {
    "google.csv": _delimited(TITLES + HEADER + POINTS + "Total: Account||1,237.60|1,012\n", "\t").encode("utf-16"),
    "meta.csv": _delimited(HEADER + COMMAS + "Gesamt||1.237,60 €|1.012\n", ";").encode("cp1252"),
    "told.csv": ("sep=;\r\n" + _delimited(HEADER + COMMAS, ";").replace("\n", "\r\n")).encode(),
    "book.xlsx": samples.workbook(
        [
            ["Campaign report"],
            [],
            ["Campaign", "Day", "Cost", "Clicks"],
            ["Summer, all", "2025-05-01", 1234.5, 12],
            ["Brand DE", "2025-05-02", 3.1, 1000],
            ["Total", "", 1237.6, 1012],
        ]
    ),
}


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_looks_the_same_everywhere(name: str, tmp_path: Path) -> None:
    (place := tmp_path / name).write_bytes(EXPORTS[name])

    lines = [line.split() for line in harmless(preview(name, EXPORTS[name]))[0].splitlines()]
    at = lines.index(["Campaign", "Day", "Cost", "Clicks"])
    assert [kind for kind in lines[at + 1] if kind != "€"] == ["text", "date", "number", "number"]
    shown = [["Summer,", "all", "2025-05-01", "1,234.50", "12"], ["Brand", "DE", "2025-05-02", "3.10", "1,000"]]
    assert [
        [*line[:-2], f"{float(line[-2].replace(',', '')):,.2f}", line[-1]] for line in lines[at + 2 : at + 4]
    ] == shown
    assert lines[at - 1] == ["2", "rows"]

    frame = read_table(place)
    assert frame.to_dict("list") == {
        "Campaign": ["Summer, all", "Brand DE"],
        "Day": [datetime(2025, 5, 1), datetime(2025, 5, 2)],
        "Cost": [1234.5, 3.1],
        "Clicks": [12, 1000],
    }
    asked = rows.make_rows(rows.adapt(frame), "{{Campaign}}: {{Cost}} / {{Clicks}}", None, {})
    assert [row.message for row in asked] == ["Summer, all: 1234.5 / 12", "Brand DE: 3.1 / 1000"]

    file = TableFile("0" * 64, place.suffix, str(place))
    (table,) = named({name: answer(ReadQuestion(file), tmp_path).tables}, {name: "ads"})[name]
    question = SqlQuestion("SELECT sum(Cost), sum(Clicks) FROM ads", (UsedTable(file, 0, table),))
    query = answer(question, tmp_path).query
    assert query is not None
    assert [Decimal(cell) for cell in query.rows[0]] == [Decimal("1237.6"), 1012]
    assert frame.attrs["notes"] == list(table.notes)
