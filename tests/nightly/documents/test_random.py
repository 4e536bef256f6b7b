"""Random tables and calculations in volume: rows and sums are those that pandas, or who made them, knows."""

from __future__ import annotations

from pathlib import Path

from tests.unit.documents.random_tables import pivot_table, plain_table
from tests.unit.documents.test_random_tables import misread
from tests.unit.offline.tables import ReadTable, orders
from tests.unit.offline.test_random_calculations import check_sql, said_and_parsed

TABLES = 1_000


def test_random_tables_are_read_right(seed: int, tmp_path: Path) -> None:
    wrong = {}
    for number in range(TABLES * seed, TABLES * (seed + 1)):
        for table in (plain_table(number), pivot_table(number)):
            if said := misread(table, tmp_path):
                wrong[table.about] = f"{said}\n{table.text}"
    assert not wrong, (seed, len(wrong), list(wrong.items())[:5])


def test_calculations_in_words_parse_back(seed: int, tmp_path: Path) -> None:
    assert said_and_parsed(ReadTable(tmp_path, "orders", orders(seed)), seed, count=400) > 0.85


def test_the_sql_of_calculations_gives_what_pandas_gives(seed: int, tmp_path: Path) -> None:
    for number in range(8):
        check_sql(tmp_path / str(number), seed + number, count=60)
