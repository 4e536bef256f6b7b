"""Long delimited files whose form is certain, read by DuckDB: the table is the one that `tables.reading` makes, much
sooner. What is not certain is left to that."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.documents.engine.dialect import text
from agentsvc_nb.documents.engine.loading import TRIMMED, EngineColumn, typed_columns
from agentsvc_nb.documents.tables.columns import LONG, Hints
from agentsvc_nb.documents.tables.delimited import CsvForm, dialect_of
from agentsvc_nb.documents.tables.layout import TableGrid, arrange, parted
from agentsvc_nb.documents.tables.model import COLUMNS_MAX, AsideRow, RawTable, ReadColumn, ReadTable, TableNotes
from agentsvc_nb.documents.tables.reading import MARKS, is_label, is_total

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
    grid = _certain_grid(data, form)
    if grid is None:
        return None
    raw, above, names = f"{name}_raw", grid.numbers[0] - 1, grid.names
    if _has_empty_lines(data.split(b"\n", above)[-1]):
        return None
    try:
        if not _read(engine, raw, file, form, len(names), above) or not _begins_with(engine, raw, grid.rows[0]):
            return None
        total = _last_total(engine, raw)
        if not _is_even(engine, raw, len(names)):
            return None
        columns = [EngineColumn(engine, raw, f"c{at}", column) for at, column in enumerate(names, 1)]
        made = typed_columns(columns, name, Hints(MARKS.get(form.delimiter, "")))
        if made is None:
            return None
        (count,) = engine.execute(f"SELECT count(*) FROM {raw}").fetchone() or (0,)
        if total and not _adds_up(engine, name, total, made, count):
            engine.execute(f"DROP TABLE {name}")
            return None
        aside = (AsideRow(above + count + 1, total),) if total else ()
        marks = sorted({column.decimal_mark for column in made if column.decimal_mark})
        notes = replace(grid.notes, totals=aside, delimiter=form.delimiter, decimal_mark=" and ".join(marks))
        return ReadTable("table", tuple(made), count, (), notes)
    finally:
        engine.execute(f"DROP TABLE IF EXISTS {raw}")


def _certain_form(data: bytes, tabs: bool) -> CsvForm | None:
    """How the file is divided, if that leaves nothing open: UTF-8, one kind of line end, quotation marks around
    whole cells only."""
    ends, returns = data.count(b"\n"), data.count(b"\r")
    if len(data) < WORTH_BYTES or b"\0" in data or ends < LONG + 1:
        return None
    if returns and not returns == ends == data.count(b"\r\n"):
        return None
    try:
        decoded = data.decode("utf-8-sig")
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


def _has_empty_lines(rows: bytes) -> bool:
    return b"\n\n" in rows or b"\n\r\n" in rows or rows[:1] in (b"\r", b"\n")


def _is_quoted_well(decoded: str, delimiter: str) -> bool:
    """Whether what stands between quoted cells begins and ends where cells do; nothing is between two marks for one."""
    first, *others = decoded.split('"')[::2]
    ends, begins = (delimiter, "\n"), (delimiter, "\n", "\r\n")
    *between, last = others or [""]
    return (
        decoded.count('"') % 2 == 0
        and (not first or first.endswith(ends))
        and (not last or last.startswith(begins))
        and all(not one or (one.startswith(begins) and one.endswith(ends)) for one in between)
    )


def _head(data: bytes, form: CsvForm) -> list[Sequence[str]]:
    """The first rows."""
    lines = data[:2_000_000].decode("utf-8-sig", "ignore").splitlines(keepends=True)[: 2 * _HEAD_ROWS]
    return [*form.reader(lines[:-1])][:_HEAD_ROWS]


def _certain_grid(data: bytes, form: CsvForm) -> TableGrid | None:
    """The first rows as a table, if its header names all columns, and all rows below are as wide; lines above it may be
    titles."""
    raw = RawTable("table", _head(data, form))
    grid = arrange(raw) if len(parted(raw)) == 1 else None
    if grid is None or not grid.rows or grid.notes != TableNotes(titles=grid.notes.titles):
        return None
    at = grid.numbers[0] - 2
    header, body = raw.rows[at], raw.rows[at + 1 :]
    if len(grid.rows) != len(body) or len(grid.names) != len(header) > 0 or len(header) > COLUMNS_MAX:
        return None
    even = all(header) and all(len(row) == len(header) for row in body)
    return grid if even and not any("\n" in cell for row in raw.rows[: at + 1] for cell in row) else None


def _read(engine: duckdb.DuckDBPyConnection, raw: str, file: Path, form: CsvForm, width: int, above: int) -> bool:
    """Make a table of the cells as texts, below so many lines; False if the engine finds a row that is not as wide."""
    import duckdb

    columns = ", ".join(f"'c{at}': 'VARCHAR'" for at in range(1, width + 1))
    told = (
        f"delim = {text(form.delimiter)}, quote = '\"', escape = '\"', header = false, skip = {above},"
        f" auto_detect = false, nullstr = {text(_NEVER)}, strict_mode = true, null_padding = false,"
        f" compression = 'none', parallel = false, max_line_size = 20000000, columns = {{{columns}}}"
    )
    try:
        engine.execute(f"CREATE TEMP TABLE {raw} AS SELECT * FROM read_csv(?, {told})", [str(file)])
    except duckdb.Error:
        return False
    return True


def _begins_with(engine: duckdb.DuckDBPyConnection, raw: str, row: Sequence[str]) -> bool:
    return engine.execute(f"SELECT * FROM {raw} LIMIT 1").fetchone() == tuple(row)


def _last_total(engine: duckdb.DuckDBPyConnection, raw: str) -> tuple[str, ...]:
    """The cells of the last row if it is called totals, taken out of the table; else none."""
    last = engine.execute(f"SELECT * FROM {raw} WHERE rowid = (SELECT max(rowid) FROM {raw})").fetchone() or ()
    if not is_label(next((cell for cell in last if cell.strip()), "")):
        return ()
    engine.execute(f"DELETE FROM {raw} WHERE rowid = (SELECT max(rowid) FROM {raw})")
    return tuple(last)


def _adds_up(
    engine: duckdb.DuckDBPyConnection, name: str, row: tuple[str, ...], columns: Sequence[ReadColumn], rows: int
) -> bool:
    """Whether a row called totals is one of the table's."""
    numeric = [at for at, column in enumerate(columns) if column.kind == "number"]
    what = ", ".join(f"sum(c{at + 1})" for at in numeric) or "0"
    sums = engine.execute(f"SELECT {what} FROM {name}").fetchone() or ()
    if any(isinstance(one, float) for one in sums):
        return False  # not exact
    whole = {at: Decimal(one or 0) for at, one in zip(numeric, sums, strict=False)}
    return is_total(row, columns, whole, rows)


def _is_even(engine: duckdb.DuckDBPyConnection, raw: str, width: int) -> bool:
    """Whether every row is one of data: none is empty, of totals, a heading or a footer."""
    names = [f"c{at}" for at in range(1, width + 1)]
    cells = [TRIMMED.format(name) for name in names]

    def asked(what: str, where: str = "true") -> tuple[Any, ...]:
        return engine.execute(f"SELECT {what} FROM {raw} WHERE {where}").fetchone() or ()

    (rows,) = asked("count(*)")
    if rows < LONG:
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
