"""Tables by the one reader (docs/decisions/0050-where-tables-are-read.md): the beginning of the first, to be looked at,
or all of a file as CSV with the types of its columns."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.formats.plans.results import CSV, SCHEMA, TABLE_BYTES, Result, ResultColumn, exported, plain
from agentsvc_nb.formats.tables.model import ReadColumn, ReadTable, UnreadableTable
from agentsvc_nb.formats.tables.reading import read_tables
from agentsvc_nb.notebook.previews.child import CannotDecode

ROWS: Final = 20
COLUMNS: Final = 20
CELL_CHARS: Final = 200
CELLS_READ: Final = 400_000
"""Of a file of which only the beginning is shown."""
NAMED: Final = 10
"""Further tables of the file whose names are told."""


def read_beginning(path: str) -> dict[str, Any]:
    """Return `names`, `types`, `rows`, `sheets`, `notes`, the number of `columns`, and the number of rows as `count`.

    Raises `CannotDecode` when the file can't be read, or has no table.
    """
    first, *others = _tables(path, CELLS_READ)
    shown = first.columns[:COLUMNS]
    beyond = first.notes.rows_left_out
    told = replace(first, notes=replace(first.notes, rows_left_out=0))
    rows = range(min(ROWS, first.rows))
    return {
        "names": [column.name[:CELL_CHARS] for column in shown],
        "types": [f"{column.kind} {column.unit}".strip() for column in shown],
        "rows": [[_cell(column, at)[:CELL_CHARS] for column in shown] for at in rows],
        "sheets": [table.name[:CELL_CHARS] for table in (first, *others[:NAMED])],
        "notes": told.sentences(),
        "columns": len(first.columns) + first.notes.columns_left_out,
        "count": first.rows + beyond,
    }


def read_whole(path: str) -> dict[str, Any]:
    """Return all `tables`: the name, `csv`, `schema` and `notes` of each.

    Raises `CannotDecode` when the file can't be read, has no table, or more than is handed on.
    """
    return {"tables": [_exported(table) for table in _tables(path)]}


def _tables(path: str, *cells_max: int) -> list[ReadTable]:
    try:
        found = read_tables(Path(path).name, "", Path(path), *cells_max)
    except UnreadableTable as error:
        raise CannotDecode(str(error)) from None
    if not found:
        raise CannotDecode("It has no rows.")
    return found


def _exported(table: ReadTable) -> dict[str, Any]:
    rows = tuple(zip(*(column.values for column in table.columns), strict=True))
    files = exported(Result(tuple(map(_column, table.columns)), rows, table.rows, table.rows), table.name)
    csv, schema = files[CSV].decode(), files[SCHEMA].decode()
    if json.loads(schema)["more"] or table.notes.rows_left_out:
        raise CannotDecode(f"It has more rows than the {TABLE_BYTES // 10**6} MB that are read here.")
    return {"name": table.name, "csv": csv, "schema": schema, "notes": table.sentences()}


def _column(column: ReadColumn) -> ResultColumn:
    by = column.unit if column.kind == "date" else ""
    return ResultColumn(column.name, column.kind, "" if by else column.unit, column.decimals, by=by)


def _cell(column: ReadColumn, row: int) -> str:
    """The value as it was read; where there is none, the cell as it stands."""
    value = column.values[row]
    return column.texts[row] if value is None else plain(value, _column(column))
