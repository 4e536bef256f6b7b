"""One reader of tables, for files of any format. It belongs into a limited process, as files may be hostile."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from agentsvc_nb.formats.tables.columns import Hints, plain_value, read_columns, text_of
from agentsvc_nb.formats.tables.delimited import read_delimited
from agentsvc_nb.formats.tables.kinds import ending_of
from agentsvc_nb.formats.tables.layout import TableGrid, arrange, parted
from agentsvc_nb.formats.tables.markup import read_document, read_html, read_markdown
from agentsvc_nb.formats.tables.model import (
    BYTES_MAX,
    CELLS_MAX,
    TABLES_MAX,
    AsideRow,
    RawTable,
    ReadColumn,
    ReadTable,
    UnreadableTable,
)
from agentsvc_nb.formats.tables.records import read_json, read_json_lines
from agentsvc_nb.formats.tables.totals import confirmed, headings, suspects, unnamed
from agentsvc_nb.formats.tables.workbooks import read_parquet, read_workbook

_Reader = Callable[[str, Path, int], list[RawTable]]


MARKS: Final = {";": ",", ",": "."}
"""The decimal mark that goes with a delimiter: where decimals have a comma, semicolons divide cells."""


def read_tables(name: str, media_type: str, file: Path, cells_max: int = CELLS_MAX) -> list[ReadTable]:
    """All tables of a file, whose name, or else media type, tells its format; of CSV, workbooks and Parquet the first
    `cells_max` cells. Raises `UnreadableTable`, and `OSError` when there is no such file.

    >>> [table] = read_tables("sales.csv", "text/csv", Path("sales.csv"))  # doctest: +SKIP
    >>> table.columns[0].kind  # doctest: +SKIP
    'number'
    """
    reader = _reader(name, media_type)
    if reader is None:
        raise UnreadableTable("The file is none of tables.")
    if file.stat().st_size > BYTES_MAX:
        raise UnreadableTable(f"The file is larger than {BYTES_MAX // 10**6} MB.")
    with _without_collections():
        try:
            raw = reader(PurePosixPath(name).stem, file, cells_max)
        except RecursionError:
            raise UnreadableTable("The file nests too deeply.") from None
        parts = [part for one in raw for part in parted(one)]
        return [table for part in parts[:TABLES_MAX] if (table := read_table(part)) is not None]


@contextlib.contextmanager
def _without_collections() -> Iterator[None]:
    """Millions of cells make no circles: looking for them would take as long as reading."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def read_table(raw: RawTable) -> ReadTable | None:
    """The table among a file's rows, its columns typed and its rows of totals told apart; None if there is none."""
    grid = arrange(raw)
    if grid is None:
        return None
    hints = Hints(MARKS.get(raw.notes.delimiter, ""))
    columns = _without_asides(grid, hints)
    marks = sorted({column.decimal_mark for column in columns if column.decimal_mark})
    notes = replace(grid.notes, decimal_mark=" and ".join(marks))
    return ReadTable(raw.name, tuple(columns), len(grid.rows), _compact(grid.numbers), notes)


def _without_asides(grid: TableGrid, hints: Hints) -> list[ReadColumn]:
    """The columns of the grid, from which rows of totals and headings are taken out and noted."""
    totals, columns = _without_totals(grid, hints)
    if nameless := unnamed(columns):
        totals += _taken(grid, nameless)
        columns = _read(grid, hints)
    heads: list[AsideRow] = []
    if aside := headings(grid.rows, columns):
        heads = _taken(grid, aside)
        columns = _read(grid, hints)
    totals.sort(key=lambda row: row.number)
    grid.notes = replace(grid.notes, headings=tuple(heads), totals=tuple(totals))
    return columns


def _without_totals(grid: TableGrid, hints: Hints) -> tuple[list[AsideRow], list[ReadColumn]]:
    """The rows called totals, which are taken out, and the columns of the others."""
    rows, numbers, doubtful = grid.rows, grid.numbers, suspects(grid.rows)
    totals = _taken(grid, doubtful)
    columns = _read(grid, hints)
    sure = set(confirmed(rows, doubtful, columns))
    wrong = [at for at in doubtful if at not in sure]
    if wrong:
        first = f"Row {numbers[wrong[0]]} is called {_cells(rows[wrong[0]])[0]}"
        grid.notes = grid.notes.also(f"{first}, but adds nothing up, so it counts as a row.")
        grid.rows, grid.numbers = rows, numbers
        totals = _taken(grid, sorted(sure))
        columns = _read(grid, hints)
    return totals, columns


def _taken(grid: TableGrid, places: Sequence[int]) -> list[AsideRow]:
    """Take rows out of the grid."""
    out = [AsideRow(grid.numbers[at], _cells(grid.rows[at])) for at in places]
    if gone := set(places):
        grid.rows = [row for at, row in enumerate(grid.rows) if at not in gone]
        grid.numbers = [number for at, number in enumerate(grid.numbers) if at not in gone]
    return out


def _read(grid: TableGrid, hints: Hints) -> list[ReadColumn]:
    cells = list(zip(*grid.rows, strict=True)) if grid.rows else [()] * len(grid.names)
    return read_columns(grid.names, cells, hints)


def _cells(row: Sequence[Any]) -> tuple[str, ...]:
    return tuple(cell if isinstance(cell, str) else text_of(plain_value(cell)) for cell in row)


def _compact(numbers: list[int]) -> Sequence[int]:
    """The same numbers as a range, if they follow each other."""
    whole = range(numbers[0], numbers[-1] + 1) if numbers else range(0)
    return whole if len(whole) == len(numbers) else numbers


def _delimited(name: str, file: Path, cells_max: int) -> list[RawTable]:
    return [read_delimited(name, file.read_bytes(), cells_max=cells_max)]


def _tabbed(name: str, file: Path, cells_max: int) -> list[RawTable]:
    return [read_delimited(name, file.read_bytes(), tabs=True, cells_max=cells_max)]


def _whole(reader: Callable[[str, Path], list[RawTable]]) -> _Reader:
    return lambda name, file, _: reader(name, file)


_BY_ENDING: Final[dict[str, _Reader]] = {
    ".csv": _delimited,
    **dict.fromkeys((".tsv", ".tab"), _tabbed),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), read_workbook),
    ".json": _whole(read_json),
    **dict.fromkeys((".jsonl", ".ndjson"), _whole(read_json_lines)),
    **dict.fromkeys((".html", ".htm", ".xhtml"), _whole(read_html)),
    **dict.fromkeys((".md", ".markdown"), _whole(read_markdown)),
    ".docx": _whole(read_document),
    **dict.fromkeys((".parquet", ".pq"), read_parquet),
}


def _reader(name: str, media_type: str) -> _Reader | None:
    return _BY_ENDING.get(ending_of(name, media_type))
