"""Large CSV files that DuckDB reads: their tables are those that the reader of all formats makes."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

from agentsvc_nb.documents.engine import bulk
from agentsvc_nb.documents.engine.bulk import load_large
from agentsvc_nb.documents.engine.cache import profile
from agentsvc_nb.documents.engine.loading import load
from agentsvc_nb.documents.tables.reading import read_tables
from agentsvc_nb.documents.tables.records import ENGINE

ROWS = 2_100
Cell = Callable[[Random, int], str]


def one_of(*texts: str) -> Cell:
    return lambda random, at: random.choice(texts)


COLUMNS: dict[str, Cell] = {
    "ids": lambda random, at: str(100_000 + at),
    "leading zeros": lambda random, at: f"{at:05}",
    "decimals": lambda random, at: f"{random.random() * 1_000:.2f}",
    "thousands": lambda random, at: f"{random.randrange(10**7):,}",
    "German": lambda random, at: f"{random.random() * 10**6:,.2f}".translate(str.maketrans(",.", ".,")),
    "euros": lambda random, at: f"{random.random() * 1_000:.2f} €",
    "per cent": lambda random, at: f"{random.random() * 100:.1f}%",
    "large": lambda random, at: str(random.randrange(10**17, 10**18)),
    "exponents": lambda random, at: f"{random.random():.3e}",
    "days": lambda random, at: f"{2000 + at % 30}-{at % 12 + 1:02}-{at % 28 + 1:02}",
    "impossible days": lambda random, at: f"{2000 + at % 30}-{at % 13:02}-{at % 31 + 1:02}",
    "either way": lambda random, at: f"{at % 12 + 1}/{at % 11 + 1}/2025",
    "moments": lambda random, at: f"2025-01-{at % 28 + 1:02} {at % 24:02}:{at % 60:02}:{at % 59:02}",
    "the hour 24": lambda random, at: f"2025-{at % 12 + 1:02}-{at % 28 + 1:02} {at % 25:02}:00:00",
    "months": lambda random, at: f"{2000 + at % 20}-{at % 12 + 1:02}",
    "words": lambda random, at: f"Wort {random.randrange(10**6)}",
    "few words": one_of("Email", "Search", "O'Neill", "Ölçü"),
    "quoted": lambda random, at: f'a "{at}", b',
    "spaced": lambda random, at: f"{random.choice([' ', '', chr(160), chr(9), chr(0x3000), chr(0x200B)])}w{at} ",
    "gaps": lambda random, at: random.choice(["", "", str(at)]),
    "lines": lambda random, at: f"a\n{at}" if at > 400 else f"a{at}",
    "late words": lambda random, at: "late" if at > 1_500 else str(at),
    "a late total": lambda random, at: "Total" if at == 1_800 else f"w{at}",
    "a last total": lambda random, at: "Gesamt" if at == ROWS - 1 else f"w{at}",
    "NULL": one_of("NULL", "x1", "x2", "\\N"),
}


def written(names: list[str], seed: int, delimiter: str, end: str, last: bool, quoting: Any) -> bytes:
    """Write a CSV file. Its names end in letters, since `euros 1` would be an amount."""
    random = Random(seed)
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerow([f"{name} {letter}" for name, letter in zip(names, "abcdefghij", strict=False)])
    writer.writerows([COLUMNS[name](random, at) for name in names] for at in range(ROWS))
    text = out.getvalue()
    return (text if last else text.removesuffix(end)).encode()


def summed(data: bytes) -> Decimal:
    """The sum of the last column."""
    return sum((Decimal(line.rpartition(b",")[2].decode()) for line in data.splitlines()[1:]), Decimal(0))


def both(file: Path) -> bool:
    """Compare the two ways; whether the engine's was certain."""
    with duckdb.connect(":memory:", config=ENGINE) as engine:
        table = load_large(engine, "t0", file, "")
        names = {name for (name,) in engine.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        assert names == ({"t0"} if table else set())
        if table is None:
            return False
        (other,) = read_tables("table.csv", "", file)
        load(engine, "t1", other)
        # The engine leaves open what only the reader of small tables checks.
        assert table.doubt == "" or table.doubt in table.notes
        assert table.doubt.endswith(other.doubt)
        clear = [
            replace(one, doubt="", notes=tuple(note for note in one.notes if note != one.doubt))
            for one in (table, other)
        ]
        assert profile(engine, "t0", clear[0]) == profile(engine, "t1", clear[1])
        assert engine.execute("DESCRIBE t0").fetchall() == engine.execute("DESCRIBE t1").fetchall()
        rows = [engine.execute(f"SELECT * FROM {name} ORDER BY rowid").fetchall() for name in ("t0", "t1")]
        assert rows[0] == rows[1]
    return True


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "WORTH_BYTES", 0)
    monkeypatch.setattr(bulk, "CHECKED_CELLS_MAX", 0)
    monkeypatch.setattr(bulk, "HEAD_BYTES", 8_000)
    monkeypatch.setattr(bulk, "TAIL_BYTES", 4_000)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_what_the_reader_makes_of_it(tmp_path: Path, name: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(written(["ids", name, "decimals"], 1, ",", "\n", True, csv.QUOTE_MINIMAL))
    both(file)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: b"\xef\xbb\xbfReport of May\r\n\r\nEUR\r\n" + data.replace(b"\n", b"\r\n"),
        lambda data: b'"Report, May",,\n' + data,
        lambda data: data + b"Grand total,,1\n",
        lambda data: data + f"Total,,{summed(data)}\n".encode(),
        lambda data: b"\xef\xbb\xbfReport of May\n" + data + b'"Total: Account",,"1,000.00"\n',
    ],
)
def test_titles_a_mark_and_a_last_total_are_read_by_the_engine(
    tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    file = tmp_path / "file"
    file.write_bytes(change(written(["few words", "ids", "decimals"], 1, ",", "\n", True, csv.QUOTE_MINIMAL)))
    assert both(file)


def test_a_plain_file_is_read_by_the_engine(tmp_path: Path) -> None:
    file = tmp_path / "file"
    names = ["ids", "days", "few words", "decimals", "thousands", "moments", "quoted", "per cent", "months", "gaps"]
    file.write_bytes(written(names, 1, ",", "\r\n", True, csv.QUOTE_MINIMAL))
    assert both(file)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"Report,2025-05-01\n\n" + data,
        lambda data: b'"Report\nof May"\n\n' + data,
        lambda data: b"Report of May\n" + data.replace(b"\n", b"\r\n"),
        lambda data: data + b"Total,,1\n",
        lambda data: data + b"Grand total,,1\n\nend of report\n",
        lambda data: data.replace(b"\n", b"\n\n", 5),
        lambda data: data.replace(b"Email", b'Em"ail', 1),
        lambda data: data.replace(b"Email", b"Email,Email", 1),
        lambda data: data.replace(b"Email", b"Em\0ail", 1),
        lambda data: data + b",,\n",
        lambda data: data + b"---,---,---\n" + f"Total,,{summed(data)}\n".encode(),
        lambda data: data + b"-----\n" + f"Total,,{summed(data)}\n".encode(),
        lambda data: b"sep=,\n" + data,
    ],
)
def test_an_irregular_file_is_read_the_same_or_left_to_the_reader(
    tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    file = tmp_path / "file"
    file.write_bytes(change(written(["ids", "few words", "decimals"], 1, ",", "\n", True, csv.QUOTE_MINIMAL)))
    both(file)


def cube(total: str) -> list[list[str]]:
    """A year of days in three regions and two channels, and the totals of both."""
    rows = []
    for day in range(220):
        for channel in ("web", "shop"):
            numbers = [1_000 + day * 7 + len(channel) * at for at in range(3)]
            rows += [
                [f"{2025}-{day % 12 + 1:02}-{day // 12 + 1:02}", region, channel, str(number)]
                for region, number in zip(("North", "South", "West", total), [*numbers, sum(numbers)], strict=True)
            ]
    return rows


def groups() -> list[list[str]]:
    return [["" if at % 10 else f"Store {at}", f"Product {at % 10}", str(at + 1_000), "3"] for at in range(2_500)]


def periods() -> list[list[str]]:
    rows = []
    for product in range(300):
        quarters = [1_000 + product * at for at in range(4)]
        names = ["2025-Q1", "2025-Q2", "2025-Q3", "2025-Q4", "2025"]
        rows += [
            [name, f"Product {product}", "x", str(number)]
            for name, number in zip(names, [*quarters, sum(quarters)], strict=True)
        ]
    return rows


def products() -> list[list[str]]:
    return [
        [
            f"2025-01-{at % 28 + 1:02}",
            f"{'Total Wine' if at % 300 == 1 else 'Product'} {at % 9}",
            "" if at % 3 else "x",
            str(at),
        ]
        for at in range(2_500)
    ]


OPEN = {
    "named totals": (
        sorted(cube("Total"), key=lambda row: row[1]),
        "",
        "440 rows are called totals, and were not checked, because the file is large.",
    ),
    "a label that adds up": (cube("World"), "", "The rows of 'World' in 'b' are sums of other rows, but count, too."),
    "labels of groups": (groups(), "", "2,244 rows lack a value of 'a', and were not checked for totals"),
    "periods": (periods(), "", "'2025' and parts of these periods are labels of 'a'."),
    "a legend": (products(), "x = missing\n\n", "A line of the file says which texts mean a missing value"),
    "last lines": ([*products(), ["2025-02-01", "", "x", "7"]], "", "The last rows have no value of 'b'"),
    "nothing": (products(), "", ""),
}


@pytest.mark.parametrize("kind", OPEN)
def test_a_large_file_tells_which_rows_may_count_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    rows, above, doubt = OPEN[kind]
    file = tmp_path / "file"
    file.write_text(above + "".join(",".join(row) + "\n" for row in [["a", "b", "c", "d"], *rows]))
    with duckdb.connect(":memory:", config=ENGINE) as engine:
        table = load_large(engine, "t0", file, "")
        assert table
        assert (doubt in table.doubt) if doubt else not table.doubt
        assert profile(engine, "t0", table).doubt == table.doubt
        assert table.doubt in table.notes or not table.doubt
    monkeypatch.setattr(bulk, "CHECKED_CELLS_MAX", 1_200_000)
    with duckdb.connect(":memory:", config=ENGINE) as engine:
        assert bool(load_large(engine, "t0", file, "")) == (not doubt)  # the reader checks it
