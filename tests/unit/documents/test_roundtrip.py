"""A table that is written in any usual way is read back equal."""

from __future__ import annotations

import contextlib
import csv
import io
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentsvc_nb.documents.tables.model import UnreadableTable
from agentsvc_nb.documents.tables.reading import read_tables

SETTINGS = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"]
DATES = {
    "iso": "{0.year}-{0.month:02}-{0.day:02}",
    "dots": "{0.day}.{0.month}.{0.year}",
    "day first": "{0.day}/{0.month}/{0.year}",
    "month first": "{0.month}/{0.day}/{0.year}",
    "names": "{0:%B} {0.day}, {0.year}",
}


class Written(NamedTuple):
    """A way of writing a table."""

    delimiter: str
    encoding: str
    mark: str
    groups: bool
    unit: str
    dates: str
    quoting: Any
    line_end: str


ways = st.builds(
    Written,
    st.sampled_from(",;\t|^~"),
    st.sampled_from(ENCODINGS),
    st.sampled_from(".,"),
    st.booleans(),
    st.sampled_from(["{}", "{} €", "€{}", "$ {}", "{}%", "{} kg", "EUR {}"]),
    st.sampled_from([*DATES.values()]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    st.sampled_from(["\n", "\r\n"]),
)
words = st.builds(
    "{}{}".format,
    st.sampled_from(["Zürich", "Ananas", "Größe", "café", "plain"]),
    st.text("abcäöüé ,;|\t\"'\n^~.&<>-5", max_size=12).map(lambda text: f" {text}x" if text else ""),
)


@st.composite
def tables(draw: st.DrawFn) -> list[tuple[str, Decimal, date]]:
    places = draw(st.sampled_from([1, 2, 4]))
    amounts = st.decimals(-(10**9), 10**9, places=places)
    days = st.dates(date(1950, 1, 1), date(2100, 1, 1))
    rows = draw(st.lists(st.tuples(words, amounts, days), min_size=2, max_size=15))
    return [("Anfang", Decimal("1234567.8912").quantize(Decimal(1).scaleb(-places)), date(2025, 1, 31)), *rows]


def amount(number: Decimal, way: Written) -> str:
    written = f"{number:,f}" if way.groups else f"{number:f}"
    swapped = written if way.mark == "." else written.translate(str.maketrans(",.", ".,"))
    return way.unit.format(swapped)


def _plain_after_first_word(text: str) -> str:
    word, space, rest = text.partition(" ")
    return word + space + rest.encode("ascii", "ignore").decode()


@given(tables(), ways)
@SETTINGS
def test_a_table_is_read_back_however_it_was_written(
    tmp_path: Path, rows: list[tuple[str, Decimal, date]], way: Written
) -> None:
    if way.encoding == "cp1252":  # a guess, for which words have to look like words
        rows = [(_plain_after_first_word(text), number, day) for text, number, day in rows]
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=way.delimiter, quoting=way.quoting, lineterminator=way.line_end)
    writer.writerow(["Name", "Amount", "Day"])
    writer.writerows([text, amount(number, way), way.dates.format(day)] for text, number, day in rows)
    file = tmp_path / "blob"
    file.write_bytes(out.getvalue().encode(way.encoding))
    (table,) = read_tables("a.csv", "text/csv", file)
    names, amounts, days = table.columns
    assert [*names.values] == [row[0].strip() for row in rows]
    assert (amounts.kind, [*amounts.values]) == ("number", [row[1] for row in rows])
    assert (days.kind, [*days.values]) == ("date", [row[2] for row in rows])
    assert table.delimiter == way.delimiter


@given(st.binary(max_size=400), st.sampled_from(["a.csv", "a.tsv", "a.json", "a.jsonl", "a.html", "a.md"]))
@SETTINGS
def test_any_bytes_are_tables_or_refused(tmp_path: Path, data: bytes, name: str) -> None:
    file = tmp_path / "blob"
    file.write_bytes(data)
    found = []
    with contextlib.suppress(UnreadableTable):
        found = read_tables(name, "", file)
    for table in found:
        assert all(len(one.values) == len(one.cells) == table.rows == len(table.row_numbers) for one in table.columns)
