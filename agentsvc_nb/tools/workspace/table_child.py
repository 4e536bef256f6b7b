"""The limited child process that runs SQL: it copies the given files into memory, then switches off the file system,
the network and extensions, and only then runs the SQL.

It reads one line of JSON, `{"files": [{"name", "file", "kind"}], "sql", "plot"}`, and prints one line,
`{"columns", "rows", "more", "picture"}` or `{"error"}`.
"""

from __future__ import annotations

import base64
import io
import json
import sys
from itertools import islice
from typing import Any, Final

import duckdb

ENGINE_MEMORY: Final = "1GB"
ROWS_MAX: Final = 200
PLOT_ROWS_MAX: Final = 5_000
CELL_CHARS: Final = 500
ANSWER_CHARS: Final = 1_000_000
"""Characters of all cells together: a table with many columns is shown with fewer rows."""
ERROR_CHARS: Final = 600
_CONFIG: Final[dict[str, Any]] = {
    "memory_limit": ENGINE_MEMORY,
    "max_temp_directory_size": "0KB",
    "threads": 1,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
_READ: Final = {"csv": "read_csv(?, sample_size = -1)", "parquet": "read_parquet(?)"}


def main() -> None:
    given = json.loads(sys.stdin.readline())
    try:
        answer = _answer(given)
    except duckdb.Error as error:
        answer = {"error": str(error)[:ERROR_CHARS]}
    except (ValueError, OSError) as error:
        answer = {"error": f"A file can't be read as a table: {str(error)[:ERROR_CHARS]}"}
    print(json.dumps(answer, default=str), flush=True)


def _answer(given: dict[str, Any]) -> dict[str, Any]:
    engine = duckdb.connect(":memory:", config=_CONFIG)
    for file in given["files"]:
        _load(engine, **file)
    engine.execute("SET enable_external_access = false")
    engine.execute("SET lock_configuration = true")
    found = engine.execute(given["sql"])
    columns = [column[0] for column in found.description or []]
    limit = PLOT_ROWS_MAX if given["plot"] else ROWS_MAX
    rows = [list(row) for row in islice(iter(found.fetchone, None), limit + 1)]
    shown = _shown(rows)
    answer: dict[str, Any] = {"columns": columns, "rows": shown, "more": len(rows) > len(shown)}
    if given["plot"]:
        answer["picture"] = base64.b64encode(_picture(columns, rows[:limit], **given["plot"])).decode()
    return answer


def _load(engine: duckdb.DuckDBPyConnection, name: str, file: str, kind: str) -> None:
    if kind == "excel":
        _load_sheet(engine, name, file)
    else:
        engine.execute(f'CREATE TABLE "{name}" AS SELECT * FROM {_READ[kind]}', [file])


def _load_sheet(engine: duckdb.DuckDBPyConnection, name: str, file: str) -> None:
    """Load the first sheet, with its first row as the columns' names. It goes through CSV, whose reader detects types.
    Raises `ValueError` for a file that can't be read."""
    import csv
    import tempfile

    from python_calamine import CalamineError, CalamineWorkbook

    try:
        with open(file, "rb") as opened:
            rows = CalamineWorkbook.from_filelike(io.BytesIO(opened.read())).get_sheet_by_index(0).to_python()
    except CalamineError as error:
        raise ValueError(str(error)) from None
    with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="", encoding="utf-8") as table:
        csv.writer(table).writerows(rows)
        table.flush()
        engine.execute(f'CREATE TABLE "{name}" AS SELECT * FROM read_csv(?, header = true)', [table.name])


def _shown(rows: list[list[Any]]) -> list[list[Any]]:
    """As many of the first rows as fit into an answer, but at least one."""
    shown: list[list[Any]] = []
    room = ANSWER_CHARS
    for row in rows[:ROWS_MAX]:
        cells = [_cell(value) for value in row]
        room -= sum(len(str(cell)) for cell in cells)
        if shown and room < 0:
            break
        shown.append(cells)
    return shown


def _cell(value: object) -> Any:
    return value if isinstance(value, int | float | None) else str(value)[:CELL_CHARS]


def _picture(columns: list[str], rows: list[list[Any]], kind: str, title: str) -> bytes:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    if len(columns) < 2 or not rows:
        raise duckdb.Error("A plot needs at least two columns and a row.")
    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    across = [row[0] if isinstance(row[0], int | float) and kind != "bar" else str(row[0]) for row in rows]
    for place, column in enumerate(columns[1:], 1):
        up = [float(row[place]) if row[place] is not None else float("nan") for row in rows]
        {"bar": axes.bar, "line": axes.plot, "scatter": axes.scatter}[kind](across, up, label=column)  # type: ignore[operator]
    axes.set_xlabel(columns[0])
    axes.set_title(title)
    if len(columns) > 2:
        axes.legend()
    else:
        axes.set_ylabel(columns[1])
    if len(rows) > 6:
        axes.tick_params(axis="x", rotation=45)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=120)
    return out.getvalue()


if __name__ == "__main__":
    main()
