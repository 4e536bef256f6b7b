"""No row of data is lost, and no total is counted, in random tables whose rows are known."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from agentsvc_nb.documents.tables.reading import read_tables
from tests.unit.documents.random_tables import RandomTable, pivot_table, plain_table

COUNT = 25


def misread(table: RandomTable, folder: Path) -> str:
    """Return what is wrong with the table that is read; empty if nothing is."""
    file = folder / "random.csv"
    file.write_text(table.text)
    found = read_tables("random.csv", "", file)
    if len(found) != 1:
        return f"{len(found)} tables"
    if found[0].rows != len(table.data):
        return f"{found[0].rows} rows instead of {len(table.data)}: {found[0].notes}"
    for name, right in table.sums.items():
        column = next((one for one in found[0].columns if one.name == name), None)
        if column is None or column.kind != "number":
            return f"no numbers {name}: {[(one.name, one.kind) for one in found[0].columns]}"
        if (made := sum(value for value in column.values if isinstance(value, Decimal))) != right:
            return f"{name} is {made} instead of {right}"
    return ""


@pytest.mark.parametrize("make", [plain_table, pivot_table])
def test_random_tables_are_read_right(make: object, tmp_path: Path) -> None:
    assert callable(make)
    wrong = {}
    for seed in range(COUNT):
        table = make(seed)
        if said := misread(table, tmp_path):
            wrong[table.about] = f"{said}\n{table.text}"
    assert not wrong, "\n\n".join(f"{about}: {said}" for about, said in list(wrong.items())[:5])
