"""A table by period says that its last period is not over, or that the data ends before it does."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from agentsvc_nb.agents.offline.calculation import Calculation
from agentsvc_nb.agents.offline.wording import open_period_sentence, result_columns
from agentsvc_nb.documents.tables.results import Result
from tests.unit.offline.tables import ReadTable

TODAY = date(2026, 11, 28)


def _daily(first: date, last: date) -> str:
    days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    return "day,shop,cost\n" + "".join(f"{day},{'ab'[day.day % 2]},2\n" for day in days)


SEPTEMBER = date(2026, 9, 1)
NOW = _daily(SEPTEMBER, date(2026, 11, 27))
WHOLE = _daily(SEPTEMBER, date(2026, 11, 30))
CUT = _daily(date(2025, 9, 1), date(2025, 11, 26))
SPARSE = "day,shop,cost\n2025-09-03,a,1\n2025-10-05,b,2\n2025-11-20,a,3\n"
MONTHS = "month,cost\n" + "".join(f"2026-{month:02},{month}\n" for month in range(1, 12))


@pytest.mark.parametrize(
    ("content", "question", "said"),
    [
        (NOW, "total cost by month", "November 2026 is not over: the data goes up to 27 November 2026."),
        (NOW, "total cost by shop", ""),
        (WHOLE, "total cost by month", ""),
        (CUT, "total cost by month", "November 2025 is not complete: the data ends on 26 November 2025."),
        (SPARSE, "total cost by month", ""),
        (MONTHS, "total cost by month", "November 2026 is not over."),
    ],
)
def test_the_last_period_says_so(content: str, question: str, said: str, tmp_path: Path) -> None:
    read = ReadTable(tmp_path, "costs", content)
    calculation = read.parser.parse(question)
    assert isinstance(calculation, Calculation)
    keys = len(calculation.groups)
    rows = tuple(
        tuple(date.fromisoformat(cell) if at < keys and cell[:2] == "20" else cell for at, cell in enumerate(row))
        for row in read.run(calculation)
    )
    found = Result(result_columns(calculation, read.table), rows)
    assert open_period_sentence(calculation, read.table, found, TODAY) == said
