"""Decode tables: the first 20 rows of 20 columns of Parquet (DuckDB), or of a workbook's first sheet (calamine).

The libraries are imported when needed, because each process decodes one kind of file, and they may be missing.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from typing import Any, Final

from agentsvc_nb.notebook.previews.child import CannotDecode

ROWS: Final = 20
COLUMNS: Final = 20
CELL_CHARS: Final = 200
UNPACKED_BYTES: Final = 100_000_000
"""The largest workbook, unpacked, that is read."""
# No temporary files, no downloads of extensions, no access to the variables of this process.
_DUCKDB: Final[dict[str, Any]] = {
    "memory_limit": "400MB",
    "max_temp_directory_size": "0KB",
    "threads": 1,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}


def read_parquet(path: str) -> dict[str, Any]:
    """Return `names`, `types`, `rows`, the number of `columns`, and the number of rows as `count`.

    Raises `duckdb.Error` when the file is damaged.
    """
    import duckdb

    engine = duckdb.connect(":memory:", config=_DUCKDB)
    table = engine.read_parquet(path)
    names, types = table.columns, [str(kind) for kind in table.types]
    shown = ", ".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names[:COLUMNS])
    rows = table.project(shown).limit(ROWS).fetchall()
    # From the file's metadata, without reading the rows.
    count = engine.execute("SELECT sum(num_rows) FROM parquet_file_metadata(?)", [path]).fetchone()
    return {
        "names": [name[:CELL_CHARS] for name in names[:COLUMNS]],
        "types": types[:COLUMNS],
        "rows": [[None if cell is None else str(cell)[:CELL_CHARS] for cell in row] for row in rows],
        "columns": len(names),
        "count": int(count[0]) if count else 0,
    }


def read_workbook(path: str) -> dict[str, Any]:
    """Return `names`, `types`, `rows`, `sheets`, the number of `columns`, and the number of rows as `count`.

    Raises `CannotDecode` when it has no sheets or is too large unpacked, and the errors of calamine.
    """
    from python_calamine import CalamineWorkbook

    _check_unpacked_size(path)
    book = CalamineWorkbook.from_path(path)
    if not book.sheet_names:
        raise CannotDecode("it has no sheets.")
    sheet = book.get_sheet_by_index(0)
    rows = sheet.to_python(nrows=ROWS + 1)
    names, body = (rows[0], rows[1:]) if rows else ([], [])
    return {
        "names": [_text(name) for name in names[:COLUMNS]],
        "types": [_type(column) for column in zip(*body, strict=True)][:COLUMNS],
        "rows": [[_text(cell) for cell in row[:COLUMNS]] for row in body],
        "sheets": [name[:CELL_CHARS] for name in book.sheet_names[:10]],
        "columns": len(names),
        "count": max(0, sheet.height - 1),
    }


def _check_unpacked_size(path: str) -> None:
    """Raise `CannotDecode` for a zip bomb. One that declares a false size is stopped by the memory limit."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as packed:
        unpacked = sum(part.file_size for part in packed.infolist())
    if unpacked > UNPACKED_BYTES:
        raise CannotDecode(f"it unpacks to {unpacked / 1e6:,.0f} MB, too much to be looked at here.")


def _text(value: object) -> str:
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return str(int(value) if whole else value)[:CELL_CHARS]  # type: ignore[call-overload]


def _type(column: Sequence[object]) -> str:
    """Return the Python types of a column's cells, except empty cells, which are empty strings."""
    return " or ".join(sorted({type(cell).__name__ for cell in column if cell != ""}))
