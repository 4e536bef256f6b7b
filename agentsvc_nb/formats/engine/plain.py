"""Long delimited files whose form is certain, read by DuckDB: the table is the one that `tables.reading` makes, much
sooner. What is not certain is left to that."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.formats.engine.columns import TRIMMED, EngineColumn, typed_columns
from agentsvc_nb.formats.plans.dialect import text
from agentsvc_nb.formats.tables.bulk import LONG
from agentsvc_nb.formats.tables.columns import Hints
from agentsvc_nb.formats.tables.delimited import CsvForm, dialect_of
from agentsvc_nb.formats.tables.layout import TableGrid, arrange
from agentsvc_nb.formats.tables.model import CELLS_MAX, COLUMNS_MAX, RawTable, ReadTable, TableNotes
from agentsvc_nb.formats.tables.reading import MARKS
from agentsvc_nb.formats.tables.totals import is_label

if TYPE_CHECKING:
    import duckdb

WORTH_BYTES: Final = 300_000
_HEAD_ROWS: Final = 400
_NEVER: Final = "\\x01none\\x01"
"""What stands for no cell in the engine's reader: every empty cell is an empty text."""
_TOTALS: Final = r"(?i)total|totaal|sum|gesamt|betrag|ergebnis|somme|overall|all|tous|todos"  # is_label decides
_INITIALS: Final = "tgsozaeicrTGSOZAEICR"
_LABELS_MAX: Final = 10_000


def load_plain(engine: duckdb.DuckDBPyConnection, name: str, file: Path, tabs: bool) -> ReadTable | None:
    """Make a table of this name, as `loading.load` does, of a delimited file. Returns what there is to know of it,
    without its cells; None if its form is not certain, and then there is no table. `tabs`: its name says that tabs
    divide it."""
    data = file.read_bytes()
    form = _certain_form(data, tabs)
    if form is None:
        return None
    rows = _head(data, form)
    grid = _certain_grid(rows)
    if grid is None:
        return None
    raw = f"{name}_raw"
    try:
        if not _read(engine, raw, file, form, len(grid.names)) or not _is_even(engine, raw, len(grid.names)):
            return None
        columns = [EngineColumn(engine, raw, f"c{at}", column) for at, column in enumerate(grid.names, 1)]
        made = typed_columns(columns, name, Hints(MARKS.get(form.delimiter, "")))
        if made is None:
            return None
        (count,) = engine.execute(f"SELECT count(*) FROM {raw}").fetchone() or (0,)
        return ReadTable("table", tuple(made), count, (), TableNotes())
    finally:
        engine.execute(f"DROP TABLE IF EXISTS {raw}")


def _certain_form(data: bytes, tabs: bool) -> CsvForm | None:
    """How the file is divided, if that leaves nothing open: UTF-8, one kind of line end, no empty lines, quotation
    marks around whole cells only."""
    ends, returns = data.count(b"\n"), data.count(b"\r")
    if len(data) < WORTH_BYTES or data[:3] == b"\xef\xbb\xbf" or b"\0" in data or ends < LONG + 1:
        return None
    if returns and not returns == ends == data.count(b"\r\n"):
        return None
    if b"\n\n" in data or b"\n\r\n" in data or data[:1] in (b"\r", b"\n"):
        return None
    try:
        decoded = data.decode()
    except UnicodeDecodeError:
        return None
    if (
        "\ufffd" in decoded
        or decoded.startswith("sep=")
        or (not decoded.isascii() and re.search(r"(?![0-9])\d", decoded))
    ):
        return None
    form = dialect_of(decoded, "\t" if tabs else "")
    if form != CsvForm(form.delimiter) or ('"' in decoded and not _is_quoted_well(decoded, form.delimiter)):
        return None
    return form


def _is_quoted_well(decoded: str, delimiter: str) -> bool:
    end = "" if decoded.endswith("\n") else "\n"
    cell = rf'(?:"(?:[^"]|"")*+"|[^"{re.escape(delimiter)}\r\n]*+)'
    return re.fullmatch(rf"(?:{cell}(?:{re.escape(delimiter)}|\r?\n))*+", decoded + end) is not None


def _head(data: bytes, form: CsvForm) -> list[Sequence[str]]:
    """The first rows."""
    lines = data[:2_000_000].decode("utf-8", "ignore").splitlines(keepends=True)[: 2 * _HEAD_ROWS]
    return [*form.reader(lines[:-1])][:_HEAD_ROWS]


def _certain_grid(rows: list[Sequence[str]]) -> TableGrid | None:
    """The rows as a table, if the first names all columns, and all are as wide."""
    if not rows or not all(rows[0]) or len(rows[0]) > COLUMNS_MAX or any(len(row) != len(rows[0]) for row in rows):
        return None
    grid = arrange(RawTable("table", rows))
    if grid is None or not grid.rows or grid.numbers[0] != 2 or len(grid.rows) != len(rows) - 1:
        return None
    plain = grid.notes == TableNotes() and len(grid.names) == len(rows[0])
    return grid if plain and not any("\n" in cell for cell in rows[0]) else None


def _read(engine: duckdb.DuckDBPyConnection, raw: str, file: Path, form: CsvForm, width: int) -> bool:
    """Make a table of the cells as texts; False if the engine finds a row that is not as wide."""
    import duckdb

    columns = ", ".join(f"'c{at}': 'VARCHAR'" for at in range(1, width + 1))
    told = (
        f"delim = {text(form.delimiter)}, quote = '\"', escape = '\"', header = false, skip = 1, auto_detect = false,"
        f" nullstr = {text(_NEVER)}, strict_mode = true, null_padding = false, compression = 'none', parallel = false,"
        f" max_line_size = 20000000, columns = {{{columns}}}"
    )
    try:
        engine.execute(f"CREATE TABLE {raw} AS SELECT * FROM read_csv(?, {told})", [str(file)])
    except duckdb.Error:
        return False
    return True


def _is_even(engine: duckdb.DuckDBPyConnection, raw: str, width: int) -> bool:
    """Whether every row is one of data: none is empty, of totals, a heading or a footer."""
    names = [f"c{at}" for at in range(1, width + 1)]
    cells = [TRIMMED.format(name) for name in names]

    def asked(what: str, where: str = "true") -> tuple[Any, ...]:
        return engine.execute(f"SELECT {what} FROM {raw} WHERE {where}").fetchone() or ()

    (rows,) = asked("count(*)")
    if rows < LONG or (rows + 1) * width >= CELLS_MAX:
        return False
    last = asked(", ".join(cells), f"rowid = {rows - 1}")
    if width > 1 and sum(map(bool, last)) < 2:
        return False
    doubtful = "NOT (c1 >= '!' AND c1 < chr(127))"  # what begins otherwise is filled
    if asked("count(*)", " AND ".join([doubtful, *(f"{cell} = ''" for cell in cells)])) != (0,):
        return False
    same = [f"{name} = c1" for name in reversed(names[1:])]
    if width > 2 and asked("count(*)", " AND ".join([*same, f"{cells[0]} <> ''"])) != (0,):
        return False
    filled = ", ".join(f"nullif({cell}, '')" for cell in cells)
    first = f"coalesce({filled})"
    may_be = f"(c1 = '' OR contains({text(_INITIALS)}, c1[1])) AND regexp_matches({first}, {text(_TOTALS)})"
    labels = engine.execute(f"SELECT DISTINCT {first} FROM {raw} WHERE {may_be} LIMIT {_LABELS_MAX}").fetchall()
    return len(labels) < _LABELS_MAX and not any(is_label(label) for (label,) in labels)
