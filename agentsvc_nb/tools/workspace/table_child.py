"""The limited child process that runs SQL: it copies the given files into memory, then switches off the file system,
the network and extensions, and only then runs the SQL.

It reads one line of JSON, `{"files": [{"name", "file", "kind"}], "sql", "plot"}`, and prints one line,
`{"columns", "rows", "more", "notes", "picture"}` or `{"error"}`.
"""

from __future__ import annotations

import base64
import io
import json
import re
import sys
from itertools import islice
from pathlib import Path
from typing import Any, Final

import duckdb

from agentsvc_nb.formats.tables.reading import read_tables
from agentsvc_nb.tools.workspace.table_loading import load

ENGINE_MEMORY: Final = "1GB"
ROWS_MAX: Final = 200
PLOT_ROWS_MAX: Final = 5_000
CELL_CHARS: Final = 500
ANSWER_CHARS: Final = 1_000_000
"""Characters of all cells together: a table with many columns is shown with fewer rows."""
ERROR_CHARS: Final = 600
NOTES_MAX: Final = 40
_CONFIG: Final[dict[str, Any]] = {
    "memory_limit": ENGINE_MEMORY,
    "max_temp_directory_size": "0KB",
    "threads": 1,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}


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
    asked = given["sql"].casefold()
    notes = [note for name, note in _load(engine, given["files"]) if name.casefold() in asked]
    engine.execute("SET enable_external_access = false")
    engine.execute("SET lock_configuration = true")
    found = engine.execute(given["sql"])
    columns = [column[0] for column in found.description or []]
    limit = PLOT_ROWS_MAX if given["plot"] else ROWS_MAX
    rows = [list(row) for row in islice(iter(found.fetchone, None), limit + 1)]
    shown = _shown(rows)
    answer: dict[str, Any] = {"columns": columns, "rows": shown, "more": len(rows) > len(shown)}
    answer["notes"] = notes[:NOTES_MAX]
    if given["plot"]:
        answer["picture"] = base64.b64encode(_picture(columns, rows[:limit], **given["plot"])).decode()
    return answer


def _load(engine: duckdb.DuckDBPyConnection, files: list[dict[str, str]]) -> list[tuple[str, str]]:
    """Load the files' tables: the first of a file under the file's name, further sheets with theirs behind it. Returns
    what there is to know of how they were read, beside the table's name. Raises `ValueError` for a file that can't be
    read."""
    taken = {file["name"] for file in files}
    notes = []
    for file in files:
        if file["kind"] == "parquet":  # has types that only the engine knows
            engine.execute(f'CREATE TABLE "{file["name"]}" AS SELECT * FROM read_parquet(?)', [file["file"]])
            continue
        found = read_tables(f"{file['name']}.{file['kind']}", "", Path(file["file"]))
        if not found:
            raise ValueError(f"{file['name']} is empty.")
        for number, table in enumerate(found):
            name = file["name"] if number == 0 else _sheet(file["name"], table.name, taken)
            load(engine, name, table)
            notes += [(name, f"{name}: {sentence}") for sentence in table.sentences()]
    return notes


def _sheet(file: str, sheet: str, taken: set[str]) -> str:
    """A name for a further table of a file."""
    stem = re.sub(r"\W+", "_", f"{file}_{sheet.lower()}").strip("_")
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}_{number}"
    taken.add(name)
    return name


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
