"""A result as Markdown, and its values alone."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal

import pytest

from agentsvc_nb.documents.plans.results import LeftOut, Result, ResultColumn, markdown, plain, shown

EUROS = ResultColumn("revenue", "number", "€", 2)
MEAN = ResultColumn("mean", "number", "€", 2, quotient=True)
PER_CENT = ResultColumn("share", "number", "%", 0, quotient=True)
COUNT = ResultColumn("rows", "number")
YEAR = ResultColumn("year", "number", label=True)


@pytest.mark.parametrize(
    ("value", "column", "said", "alone"),
    [
        ("1234567.5", EUROS, "1,234,567.50 €", "1234567.50"),
        ("-1234.565", MEAN, "-1,234.565 €", "-1234.565"),
        ("12.340000000000", MEAN, "12.34 €", "12.34"),
        ("0.000012345678", MEAN, "0.0000123 €", "0.0000123"),
        ("0", MEAN, "0.00 €", "0.00"),
        ("-0.000", MEAN, "0.00 €", "0.00"),
        ("33.333333333333", PER_CENT, "33.33%", "33.33"),
        ("12", PER_CENT, "12%", "12"),
        ("1e3", COUNT, "1,000", "1000"),
        ("2025", YEAR, "2025", "2025"),
        ("2.5", ResultColumn("speed", "number", "km/h", 1), "2.5 km/h", "2.5"),
        ("3", ResultColumn("day", "number", by="weekday"), "Wednesday", "Wednesday"),
    ],
)
def test_a_number(value: str, column: ResultColumn, said: str, alone: str) -> None:
    assert (shown(Decimal(value), column), plain(Decimal(value), column)) == (said, alone)


@pytest.mark.parametrize(
    ("value", "by", "said"),
    [
        (date(2025, 3, 1), "month", "2025-03"),
        (date(2025, 4, 1), "quarter", "2025 Q2"),
        (date(2024, 12, 30), "week", "2025-W01"),
        (date(2025, 1, 1), "year", "2025"),
        (date(2025, 1, 31), "", "2025-01-31"),
        (datetime(2025, 1, 31, 9, 30), "", "2025-01-31 09:30:00"),
        (time(9, 30), "", "09:30"),
        (True, "", "yes"),
        (None, "", "–"),
        ("a|b\n", "", "a|b\n"),
    ],
)
def test_another_value(value: date | str | bool | None, by: str, said: str) -> None:
    column = ResultColumn("x", "text", by=by)
    assert (shown(value, column), plain(value, column)) == (said, said)


def test_a_table_with_what_was_left_out() -> None:
    columns = (ResultColumn("a|b", "text"), EUROS)
    left_out = (LeftOut("empty", "re*venue", 1_200), LeftOut("undecided", "a|b", 1))
    result = Result(columns, (("x\ny", Decimal(1000)), (None, None)), 8, 7, left_out)
    assert markdown(result) == (
        "| a\\|b | revenue |\n| --- | --- |\n| x&#10;y | 1,000.00 € |\n| – | – |\n\n"
        "Left out: 1,200 rows without a value in re\\*venue, 1 row where the condition on a\\|b meets an empty cell.\n"
    )


@pytest.mark.parametrize(
    ("rows", "more", "said"), [(20, False, ""), (21, False, "20 of 21"), (2000, True, "20 of more than 2,000")]
)
def test_at_most_twenty_rows_are_shown(rows: int, more: bool, said: str) -> None:
    result = Result((COUNT,), tuple((Decimal(number),) for number in range(rows)), rows, rows, more=more)
    made = markdown(result)
    assert made.count("\n|") == 21
    assert f"The first {said} rows." in made if said else "The first" not in made
