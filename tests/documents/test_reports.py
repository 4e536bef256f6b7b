"""Inputs rebuilt from public reports: `reports/cases.json` lists files, questions and what is right.

A case has `file`, `column` and one of `sum` and `rows`: the sum of the column in the table that has it, or the number
of rows of the file's longest table. `question` is what a user asks.
"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.documents.tables.reading import read_tables

FOLDER = Path(__file__).with_name("reports")
CASES: list[dict[str, Any]] = (
    json.loads((FOLDER / "cases.json").read_text("utf-8")) if (FOLDER / "cases.json").exists() else []
)


@pytest.mark.parametrize("case", CASES, ids=[str(case["file"]) for case in CASES])
def test_a_report_is_read_right(case: dict[str, Any]) -> None:
    tables = read_tables(case["file"], "", FOLDER / case["file"])
    if "rows" in case:
        assert max(table.rows for table in tables) == case["rows"]
    if "sum" in case:
        columns = [column for table in tables for column in table.columns if column.name == case["column"]]
        assert columns, [[column.name for column in table.columns] for table in tables]
        assert sum(value for value in columns[0].values if isinstance(value, Decimal)) == Decimal(case["sum"])
