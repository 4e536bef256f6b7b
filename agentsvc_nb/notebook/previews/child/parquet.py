"""Parquet with DuckDB: of 20 columns the first 20 rows, and the count out of the file's own index."""

from __future__ import annotations

from typing import Any, Final

import duckdb

ROWS: Final = 20
COLUMNS: Final = 20
CELL_CHARS: Final = 200
_CONFIG: Final[dict[str, Any]] = {
    "memory_limit": "400MB",
    "max_temp_directory_size": "0KB",
    "threads": 1,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}


def read(place: str) -> dict[str, Any]:
    """`names`, `types`, `rows`, and how many `columns` and rows (`count`) there are. Raises `duckdb.Error`."""
    engine = duckdb.connect(":memory:", config=_CONFIG)
    table = engine.read_parquet(place)
    names, types = table.columns, [str(kind) for kind in table.types]
    shown = ", ".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names[:COLUMNS])
    rows = table.project(shown).limit(ROWS).fetchall()
    count = engine.execute("SELECT sum(num_rows) FROM parquet_file_metadata(?)", [place]).fetchone()
    return {
        "names": [name[:CELL_CHARS] for name in names[:COLUMNS]],
        "types": types[:COLUMNS],
        "rows": [[None if cell is None else str(cell)[:CELL_CHARS] for cell in row] for row in rows],
        "columns": len(names),
        "count": int(count[0]) if count else 0,
    }
