"""Run in a child process: read tables and run SQL with DuckDB ("the engine") within limits (docs/decisions/11).

Each question starts a new DuckDB instance and attaches only the tables that the question lists, read-only. Before
untrusted SQL runs, access to the file system, the network and extensions is turned off and locked.
"""

from __future__ import annotations

import contextlib
import csv
import io
import math
import pickle
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, Final

import duckdb

from agentsvc_nb.documents.child_process import answer_questions
from agentsvc_nb.documents.engine.cache import attach, read
from agentsvc_nb.documents.engine.dialect import quote_name
from agentsvc_nb.documents.engine.messages import (
    ROWS_MAX,
    SAVED_ROWS_MAX,
    QueryAnswer,
    Question,
    ReadQuestion,
    SqlQuestion,
    TableAnswer,
    TableFile,
    UsedTable,
)
from agentsvc_nb.documents.tables.model import UnreadableTable
from agentsvc_nb.documents.tables.records import ENGINE

CPU_SECONDS: Final = 20
SAVED_CHARS: Final = 20_000_000
CELL_CHARS: Final = 500
ANSWER_CHARS: Final = 1_000_000
"""The maximum number of characters in all cells of an answer. If a table has long rows, fewer rows are shown."""
ERROR_CHARS: Final = 600
NOTES_MAX: Final = 40
NAMED_MAX: Final = 40
"""The maximum number of tables, or columns of a table, that an error message lists."""


def answer(question: Question, folder: Path) -> TableAnswer:
    """Return the answer to a question. `folder` is the folder of the table cache."""
    try:
        match question:
            case ReadQuestion():
                return read(folder, question.file)
            case SqlQuestion():
                return _run_query(folder, question)
    except UnreadableTable as error:
        return TableAnswer(error=("unreadable", "", str(error)))
    except FileNotFoundError:
        return TableAnswer(error=("unreadable", "", "The file no longer exists."))
    except (duckdb.OutOfMemoryException, MemoryError):
        return TableAnswer(error=("too_much", "", "This needs too much memory. Select less data."))


def _run_query(folder: Path, question: SqlQuestion) -> TableAnswer:
    with duckdb.connect(":memory:", config=ENGINE) as engine:
        for table, source in _attach_tables(engine, folder, question.tables):
            engine.execute(f"CREATE VIEW {quote_name(table.profile.name)} AS SELECT * FROM {source}")
        # Lock the settings, because the SQL that follows could turn access on again.
        engine.execute("SET enable_external_access = false")
        engine.execute("SET lock_configuration = true")
        try:
            # SQL could attach a database again to write to it, so forbid writing to any file.
            with _forbid_writes():
                found = _fetch_rows(engine, question)
            return _to_answer(question, found)
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error as error:
            said = _without_paths(str(error))[:ERROR_CHARS]
            if isinstance(error, duckdb.BinderException | duckdb.CatalogException):
                said += _list_tables(question)
            return TableAnswer(error=("query", "", said))


def _list_tables(question: SqlQuestion) -> str:
    """Return a text for an error message: the columns of each table that the failed query names.

    If the query names no table, list all tables. The engine's own message names only tables and columns whose names are
    similar to the wrong name.
    """
    profiles = [one.profile for one in question.tables]
    asked = question.sql.casefold()
    if used := [one for one in profiles if one.name.casefold() in asked]:
        lines = [f"{one.name} has {', '.join(column.name for column in one.columns[:NAMED_MAX])}." for one in used]
    else:
        lines = [f"The tables are {', '.join(one.name for one in profiles[:NAMED_MAX])}."]
    return "\n\n" + "\n".join(lines)[:ERROR_CHARS]


def _attach_tables(
    engine: duckdb.DuckDBPyConnection, folder: Path, tables: Sequence[UsedTable]
) -> Iterator[tuple[UsedTable, str]]:
    """Attach the databases of the tables' files. Yield each table with its qualified name in SQL."""
    names: dict[TableFile, str] = {}
    for table in tables:
        if table.file not in names:
            names[table.file] = f"k{len(names)}"
            attach(engine, folder, table.file, names[table.file])
        yield table, f"{names[table.file]}.t{table.place}"


@contextlib.contextmanager
def _forbid_writes() -> Iterator[None]:
    """Forbid this process to write to files within the `with` block."""
    if sys.platform == "win32":  # Windows has no resource limits
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _fetch_rows(engine: duckdb.DuckDBPyConnection, question: SqlQuestion) -> tuple[list[str], list[Sequence[Any]]]:
    """Run the query. Return its column names and first rows.

    If there are more rows than an answer may have, one of those is included, so that callers notice.
    """
    found = engine.execute(question.sql)
    limit = SAVED_ROWS_MAX if question.save else ROWS_MAX
    return [column[0] for column in found.description or []], list(islice(iter(found.fetchone, None), limit + 1))


def _to_answer(question: SqlQuestion, found: tuple[list[str], list[Sequence[Any]]]) -> TableAnswer:
    columns, rows = found
    shown = _limit_rows(rows)
    asked = question.sql.casefold()
    used = [one.profile for one in question.tables if one.profile.name.casefold() in asked]
    notes = [f"{one.name}: {note}" for one in used for note in one.notes][:NOTES_MAX]
    types = tuple(_type([row[place] for row in rows]) for place in range(len(columns)))
    told = QueryAnswer(tuple(columns), tuple(shown), len(rows) > len(shown), tuple(notes), types=types)
    if question.save:
        saved = _as_csv(columns, rows)
        if len(rows) > SAVED_ROWS_MAX or len(saved) > SAVED_CHARS:
            return TableAnswer(error=("query", "", _TOO_LONG))
        return TableAnswer(query=replace(told, saved_rows=len(rows)), saved=saved)
    return TableAnswer(query=told)


def _limit_rows(rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return as many of the first rows as fit into an answer, but at least one row if there are any."""
    shown: list[tuple[Any, ...]] = []
    room = ANSWER_CHARS
    for row in rows[:ROWS_MAX]:
        cells = tuple(map(_cell, row))
        room -= sum(len(str(cell)) for cell in cells)
        if shown and room < 0:
            break
        shown.append(cells)
    return shown


def _cell(value: object) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, int | float | None) else _without_paths(str(value))[:CELL_CHARS]


_TOO_LONG: Final = (
    f"The query returns more than {SAVED_ROWS_MAX:,} rows or {SAVED_CHARS // 10**6} MB. No file was "
    "written, because a part of the rows would give wrong numbers. Select fewer rows or columns, or aggregate "
    "them in SQL."
)


def _as_csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return the rows as CSV. Stop after the row with which the CSV gets longer than `SAVED_CHARS`."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(map(_csv_value, row))
        if written.tell() > SAVED_CHARS:
            break
    return written.getvalue()


def _csv_value(cell: object) -> object:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return _without_paths(cell) if isinstance(cell, str) else cell


_TYPES: Final[Mapping[type, str]] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    Decimal: "number",
    date: "date",
    datetime: "datetime",
    time: "time",
}


def _type(cells: Iterable[object]) -> str:
    """Return the type that a Table Schema declares for a column with these cells."""
    kinds = {"string" if _has_zone(cell) else _TYPES.get(type(cell), "string") for cell in cells if cell is not None}
    if kinds == {"integer", "number"}:
        return "number"
    return kinds.pop() if len(kinds) == 1 else "string"


def _has_zone(cell: object) -> bool:
    return isinstance(cell, datetime) and cell.tzinfo is not None


_ATTACHED_PATH: Final = re.compile(r"(?<![\w/])/\S*/asked-\w+/")


def _without_paths(said: str) -> str:
    """Remove the temporary paths of attached databases, which the engine shows in error messages and system tables."""
    return _ATTACHED_PATH.sub("", said) if "asked-" in said else said


def _handle(question: bytearray) -> bytes:
    _limit_time()
    # Unpickling is safe, because the question comes from the service. The answer is JSON, because the service does not
    # trust this process.
    return answer(pickle.loads(question), Path()).model_dump_json().encode()


def _limit_time() -> None:
    """Make the kernel end this process when it has used `CPU_SECONDS` of CPU time from now."""
    if sys.platform != "win32":  # Windows has no resource limits
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + 1 + CPU_SECONDS, hard))


if __name__ == "__main__":
    answer_questions(_handle)
