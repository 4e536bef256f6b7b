"""What plans may know of a table, asked of the engine that it was loaded into."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from agentsvc_nb.formats.plans.profiles import ColumnProfile, TableProfile
from agentsvc_nb.formats.tables.model import ReadColumn, ReadTable

if TYPE_CHECKING:
    import duckdb

VALUES_MAX: Final = 2_000
VALUES_BYTES: Final = 100_000
"""Distinct values of one column of text, and their bytes in UTF-8."""
TABLE_VALUES_BYTES: Final = 1_000_000
"""Of all columns of a table."""


def profile(engine: duckdb.DuckDBPyConnection, name: str, table: ReadTable) -> TableProfile:
    """Of a table that `loading.load` made of `table` under this name. It has neither name nor path yet: those depend on
    the chat (`naming`)."""
    room = TABLE_VALUES_BYTES
    columns = []
    for place, column in enumerate(table.columns, 1):
        made = _profile(engine, name, f"c{place}", column, table.rows, min(room, VALUES_BYTES))
        room -= sum(len(value.encode()) for value in made.values)
        columns.append(made)
    notes = tuple(map(_sound, table.sentences()))
    return TableProfile("", "", table.rows, tuple(columns), _sound(table.name), notes)


def _profile(
    engine: duckdb.DuckDBPyConnection, table: str, name: str, column: ReadColumn, rows: int, room: int
) -> ColumnProfile:
    ends = "NULL, NULL" if column.kind == "text" else f"CAST(min({name}) AS VARCHAR), CAST(max({name}) AS VARCHAR)"
    counts = f"count({name}), count(DISTINCT {name}), {ends}, any_value(typeof({name}))"
    found = engine.execute(f"SELECT {counts} FROM {table}").fetchone()
    filled, distinct, smallest, largest, kind = found or (0, 0, None, None, None)
    values = _fitting(_commonest(engine, table, name), room) if column.kind == "text" else ()
    return ColumnProfile(
        _sound(column.name),
        column.kind,
        column.unit,
        None if kind == "DOUBLE" else column.decimals,
        rows - filled,
        distinct,
        smallest or "",
        largest or "",
        values,
        column.kind == "text" and len(values) == distinct,
    )


def _commonest(engine: duckdb.DuckDBPyConnection, table: str, name: str) -> list[str]:
    """The distinct values, the commonest first."""
    ordered = f"GROUP BY {name} ORDER BY count(*) DESC, min(rowid) LIMIT {VALUES_MAX}"
    return [
        value
        for (value,) in engine.execute(f"SELECT {name} FROM {table} WHERE {name} IS NOT NULL {ordered}").fetchall()
    ]


def _fitting(values: Iterable[str], room: int) -> tuple[str, ...]:
    """The first values that fit into so many bytes."""
    kept = []
    for value in values:
        room -= len(value.encode())
        if room < 0:
            break
        kept.append(value)
    return tuple(kept)


def _sound(text: str) -> str:
    """The text without halves of pairs of surrogates, which no file and no engine takes."""
    return text.encode("utf-8", "replace").decode()
