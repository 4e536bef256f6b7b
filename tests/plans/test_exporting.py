"""A result as CSV with the types of its columns, and read again as a DataFrame by the client."""

from __future__ import annotations

import csv
import io
import json
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsvc_nb.client.downloads import read_table
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.documents.plans import results
from agentsvc_nb.documents.plans.results import CSV, SCHEMA, Result, ResultColumn, ResultTooLong, exported
from tests.plans.drawn import cells, texts

COLUMNS = (
    ResultColumn("date by month", "date", by="month", label=True),
    ResultColumn("channel", "text"),
    ResultColumn("sum(revenue)", "number", "€", 2),
    ResultColumn("share", "number", "%", 1, quotient=True),
    ResultColumn("orders", "number"),
    ResultColumn("last", "datetime"),
    ResultColumn("at", "time"),
    ResultColumn("open", "boolean"),
)
DTYPES = {
    "date by month": "datetime64[us]",
    "channel": "string",
    "sum(revenue)": "float64",
    "share": "float64",
    "orders": "Int64",
    "last": "datetime64[us]",
    "at": "object",
    "open": "boolean",
}
ROW = (
    date(2025, 3, 1),
    'E-Mail, "DACH"\r\n=1+1',
    Decimal("1234567890123456.10"),
    Decimal("33.3333333333333333"),
    Decimal("12"),
    datetime(2025, 3, 31, 9, 30, 0, 5),
    time(9, 30),
    True,
)
EMPTY = (None,) * len(COLUMNS)


def result(*rows: tuple[Any, ...], columns: tuple[ResultColumn, ...] = COLUMNS, more: bool = False) -> Result:
    return Result(columns, rows, len(rows), len(rows), more=more)


def read(made: Result, title: str = "Umsatz nach Kanal?") -> pd.DataFrame:
    files = exported(made, title)
    return read_table(files[CSV], files[SCHEMA])


def test_the_csv_is_exact_and_opens_everywhere() -> None:
    lines = exported(result(ROW, EMPTY), "x")[CSV].decode().split("\r\n", 1)
    assert lines[0] == "date by month,channel,sum(revenue),share,orders,last,at,open"
    head, row, empty = csv.reader(io.StringIO(exported(result(ROW, EMPTY), "x")[CSV].decode(), newline=""))
    assert row == [
        "2025-03-01",
        ROW[1],
        "1234567890123456.10",
        "33.3333333333333333",
        "12",
        "2025-03-31T09:30:00.000005",
        "09:30:00",
        "true",
    ]
    assert empty == [""] * len(head)


def test_the_schema_says_what_the_columns_are() -> None:
    told = json.loads(exported(result(ROW), "Umsatz?")[SCHEMA])
    assert told["fields"][0] == {"name": "date by month", "type": "date", "by": "month"}
    assert told["fields"][2] == {"name": "sum(revenue)", "type": "number", "unit": "€", "decimals": 2}
    assert (told["title"], told["rows"], told["missingValues"]) == ("Umsatz?", 1, [""])


@pytest.mark.parametrize("rows", [(), (ROW,), (ROW, EMPTY), (EMPTY,)])
def test_the_types_are_the_same_whatever_is_in_the_table(rows: tuple[tuple[Any, ...], ...]) -> None:
    frame = read(result(*rows))
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == DTYPES
    assert len(frame) == len(rows)
    assert frame.attrs["units"] == {"sum(revenue)": "€", "share": "%"}
    assert frame.attrs["title"] == "Umsatz nach Kanal?"


def test_values_come_back() -> None:
    first, second = read(result(ROW, EMPTY)).itertuples(index=False)
    assert first[0] == pd.Timestamp(2025, 3, 1)
    assert tuple(first[1:]) == (ROW[1], 1234567890123456.1, 100 / 3, 12, pd.Timestamp(ROW[5]), time(9, 30), True)
    assert all(pd.isna(value) for value in second)


def test_a_number_that_64_bits_cannot_hold_is_still_exact() -> None:
    frame = read(result((Decimal(2**64),), columns=(ResultColumn("n", "number"),)))
    assert frame["n"].tolist() == [2**64]


@pytest.mark.parametrize(("bytes_max", "more"), [(1_000, False), (8_000_000, True)])
def test_a_part_of_a_result_is_not_written(bytes_max: int, more: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who computes with the file would take it for the whole."""
    monkeypatch.setattr(results, "TABLE_BYTES", bytes_max)
    rows = [(f"name {at}", Decimal(at)) for at in range(500)]
    with pytest.raises(ResultTooLong, match=r"^No file was written: the result has more than "):
        exported(result(*rows, columns=COLUMNS[1:3], more=more), "x")


@pytest.mark.parametrize("data", [b"", b"a,b\r\n1\r\n", b"b\r\n1\r\n", b"a\r\nx\r\n", b"\xff"])
def test_what_does_not_fit_its_schema_is_a_sentence(data: bytes) -> None:
    schema = b'{"fields": [{"name": "a", "type": "integer"}]}'
    with pytest.raises(StefanBrainError, match="can't be read"):
        read_table(data, schema)


@given(st.lists(st.tuples(texts, cells("number", 4), cells("date", 0), cells("time", 0)), max_size=5), texts)
def test_any_values_come_back(rows: list[tuple[Any, ...]], title: str) -> None:
    columns = (
        ResultColumn("a " + title, "text"),
        ResultColumn("n", "number", decimals=4),
        ResultColumn("d", "date"),
        ResultColumn("t", "time"),
    )
    frame = read(result(*rows, columns=columns), title)
    assert [None if pd.isna(value) else value for value in frame.iloc[:, 0]] == [row[0] or None for row in rows]
    assert frame["n"].tolist() == [float(row[1]) for row in rows]
    assert [value.date() for value in frame["d"]] == [row[2] for row in rows]
    assert frame["t"].tolist() == [row[3] for row in rows]
