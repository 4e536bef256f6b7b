"""Files whose cells have types: the sheets of a workbook (Excel, new and old, and OpenDocument), and Parquet."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.formats.tables.model import (
    BYTES_MAX,
    CELLS_MAX,
    COLUMNS_MAX,
    TABLES_MAX,
    RawTable,
    TableNotes,
    UnreadableTable,
    because,
)

ENGINE: Final[dict[str, Any]] = {
    "memory_limit": "1GB",
    "temp_directory": "",
    "max_temp_directory_size": "0KB",
    "threads": 1,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
"""No temporary files, beside which SQL could write its own; no downloads of extensions; no access to the variables of
this process."""
_UNPACKED_MAX: Final = 4 * BYTES_MAX


def read_workbook(name: str, file: Path, cells_max: int = CELLS_MAX) -> list[RawTable]:
    """Every sheet with cells, by its name, up to so many cells of all. Raises `UnreadableTable`."""
    from python_calamine import CalamineError, CalamineWorkbook

    data = file.read_bytes()
    _check_unpacked_size(data)
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        found, room = [], cells_max
        for sheet_name in book.sheet_names[:TABLES_MAX]:
            sheet = book.get_sheet_by_name(sheet_name)
            if sheet.end is None or room <= 0:
                continue
            height, width = sheet.end[0] + 1, sheet.end[1] + 1
            rows = sheet.to_python(skip_empty_area=False, nrows=max(1, min(height, room // width)))
            room -= len(rows) * width
            notes = TableNotes(rows_left_out=height - len(rows))
            blanked = [[_cell(cell) for cell in row] for row in rows]
            _fill_merged(blanked, sheet.merged_cell_ranges or ())
            found.append(RawTable(sheet_name, [*blanked], notes=notes))
    except CalamineError as error:
        raise UnreadableTable(f"The workbook can't be read: {because(error)}.") from None
    return found


def _cell(cell: Any) -> Any:
    """The cell, with None for an empty one, and numbers with the fifteen digits that a workbook shows."""
    if isinstance(cell, float) and not cell.is_integer():
        return float(f"{cell:.15g}")
    return None if cell == "" else cell


def _fill_merged(rows: list[list[Any]], merged: Iterable[tuple[tuple[int, int], tuple[int, int]]]) -> None:
    """Repeat a cell that reaches over several rows in each of them."""
    for (top, left), (bottom, _) in merged:
        for at in range(top + 1, min(bottom + 1, len(rows))):
            if left < len(rows[at]):
                rows[at][left] = rows[top][left]


def _check_unpacked_size(data: bytes) -> None:
    """Refuse a zip bomb; one that declares a false size is stopped by the process's limits."""
    packed = io.BytesIO(data)
    if zipfile.is_zipfile(packed):
        with zipfile.ZipFile(packed) as parts:
            if sum(part.file_size for part in parts.infolist()) > _UNPACKED_MAX:
                raise UnreadableTable(f"The workbook unpacks to more than {_UNPACKED_MAX // 10**6} MB.")


def read_parquet(name: str, file: Path, cells_max: int = CELLS_MAX) -> list[RawTable]:
    """The file's table. Raises `UnreadableTable`."""
    import duckdb

    try:
        with duckdb.connect(":memory:", config=ENGINE) as engine:
            table = engine.read_parquet(str(file))
            columns = table.columns
            kept = columns[:COLUMNS_MAX]
            count = engine.execute("SELECT sum(num_rows) FROM parquet_file_metadata(?)", [str(file)]).fetchall()
            whole = int(count[0][0] or 0)
            shown = ", ".join(f'"{column.replace(chr(34), chr(34) * 2)}"' for column in kept)
            rows = table.project(shown).limit(max(1, cells_max // max(1, len(kept)))).fetchall()
    except duckdb.Error as error:
        why = because(ValueError(str(error).replace(str(file), "file")))
        raise UnreadableTable(f"The Parquet file can't be read: {why}.") from None
    notes = TableNotes(rows_left_out=max(0, whole - len(rows)), columns_left_out=len(columns) - len(kept))
    return [RawTable(name, [kept, *rows], 0, notes, first_number=0)]
