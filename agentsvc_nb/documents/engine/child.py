"""The limited child process of tables. Each question has an engine of its own, into which only the tables that it names
are attached, and those can't be changed; before SQL of somebody else is run, the file system, the network and
extensions are switched off, and that is locked (docs/decisions/0041-tables-in-a-warm-process.md)."""

from __future__ import annotations

import base64
import contextlib
import csv
import io
import math
import os
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

from agentsvc_nb.documents.children.pool import answer_questions
from agentsvc_nb.documents.engine.keeping import attach, read
from agentsvc_nb.documents.engine.loading import plan_view, sql_view
from agentsvc_nb.documents.engine.messages import (
    ROWS_MAX,
    SAVED_ROWS_MAX,
    ChartQuestion,
    ComputeQuestion,
    Plot,
    QueryAnswer,
    Question,
    ReadQuestion,
    SqlQuestion,
    TableAnswer,
    TableFile,
    UsedTable,
)
from agentsvc_nb.documents.plans.charts import ChartError, ChartKind
from agentsvc_nb.documents.plans.execution import compute, value_of
from agentsvc_nb.documents.plans.plan import Value
from agentsvc_nb.documents.plans.profiles import Kind, PlanError
from agentsvc_nb.documents.plans.results import Result, ResultColumn
from agentsvc_nb.documents.tables.model import UnreadableTable
from agentsvc_nb.documents.tables.typed import ENGINE

CPU_SECONDS: Final = 20
PLOT_ROWS_MAX: Final = 5_000
SAVED_CHARS: Final = 20_000_000
CELL_CHARS: Final = 500
ANSWER_CHARS: Final = 1_000_000
"""Characters of all cells together: a table with many columns is shown with fewer rows."""
ERROR_CHARS: Final = 600
NOTES_MAX: Final = 40
NAMED_MAX: Final = 40
"""Tables, and columns of one, that are named to who asked for others."""


def answer(question: Question, folder: Path) -> TableAnswer:
    """The answer; `folder` is where tables are kept."""
    try:
        match question:
            case ReadQuestion():
                return read(folder, question.file)
            case ComputeQuestion():
                return _computed(folder, question)
            case SqlQuestion():
                return _queried(folder, question)
            case ChartQuestion():
                return _drawn(folder, question)
    except ChartError as error:
        return TableAnswer(error=("chart", "", str(error)))
    except UnreadableTable as error:
        return TableAnswer(error=("unreadable", "", str(error)))
    except FileNotFoundError:
        return TableAnswer(error=("unreadable", "", "The file is gone."))
    except PlanError as error:
        return TableAnswer(error=("plan", error.code, str(error)))
    except (duckdb.OutOfMemoryException, MemoryError):
        return TableAnswer(error=("too_much", "", "This takes too much memory: ask for less."))


def _computed(folder: Path, question: ComputeQuestion) -> TableAnswer:
    with duckdb.connect(":memory:", config=ENGINE) as engine:
        for table, source in _attached(engine, folder, question.tables):
            engine.execute(plan_view(table.profile, source))
        try:
            result = compute(engine, question.plan, {one.profile.name: one.profile for one in question.tables})
        except (duckdb.OutOfRangeException, duckdb.ConversionException):
            raise PlanError("too_large", "The numbers are too large to be computed exactly.") from None
    return TableAnswer(result=result)


def _drawn(folder: Path, question: ChartQuestion) -> TableAnswer:
    return TableAnswer(picture=_picture(folder, question.result, question.title, question.kind))


def _picture(folder: Path, result: Result, title: str, kind: ChartKind | None) -> str:
    """A PNG in base64; `folder` is for what the library keeps. Raises `ChartError`."""
    os.environ.setdefault("MPLCONFIGDIR", str(folder))
    from agentsvc_nb.documents.engine.drawing import chart

    return base64.b64encode(chart(result, title, kind)).decode()


def _queried(folder: Path, question: SqlQuestion) -> TableAnswer:
    with duckdb.connect(":memory:", config=ENGINE) as engine:
        for table, source in _attached(engine, folder, question.tables):
            engine.execute(sql_view(table.profile, source))
        # Locked, for the SQL that follows could switch them on again.
        engine.execute("SET enable_external_access = false")
        engine.execute("SET lock_configuration = true")
        try:
            # What is attached could be attached again to be written to; this holds for any file that is reached.
            with _nothing_written():
                found = _found(engine, question)
            return _told(question, found, folder)
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error as error:
            said = _without_paths(str(error))[:ERROR_CHARS]
            if isinstance(error, duckdb.BinderException | duckdb.CatalogException):
                said += _there_is(question)
            return TableAnswer(error=("query", "", said))


def _there_is(question: SqlQuestion) -> str:
    """The tables that a query names with their columns, or all tables: the engine names a few that sound alike, or
    none."""
    profiles = [one.profile for one in question.tables]
    asked = question.sql.casefold()
    if used := [one for one in profiles if one.name.casefold() in asked]:
        lines = [f"{one.name} has {', '.join(column.name for column in one.columns[:NAMED_MAX])}." for one in used]
    else:
        lines = [f"The tables are {', '.join(one.name for one in profiles[:NAMED_MAX])}."]
    return "\n\n" + "\n".join(lines)[:ERROR_CHARS]


def _attached(
    engine: duckdb.DuckDBPyConnection, folder: Path, tables: Sequence[UsedTable]
) -> Iterator[tuple[UsedTable, str]]:
    """Each table with its name in the database that its file's tables were attached as."""
    names: dict[TableFile, str] = {}
    for table in tables:
        if table.file not in names:
            names[table.file] = f"k{len(names)}"
            attach(engine, folder, table.file, names[table.file])
        yield table, f"{names[table.file]}.t{table.place}"


@contextlib.contextmanager
def _nothing_written() -> Iterator[None]:
    """No file can be written to in the block: not a byte."""
    if sys.platform == "win32":  # it has no such limits
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _found(engine: duckdb.DuckDBPyConnection, question: SqlQuestion) -> tuple[list[str], list[Sequence[Any]]]:
    """The columns and the first rows, one more than are shown."""
    found = engine.execute(question.sql)
    limit = SAVED_ROWS_MAX if question.save else PLOT_ROWS_MAX if question.plot else ROWS_MAX
    return [column[0] for column in found.description or []], list(islice(iter(found.fetchone, None), limit + 1))


def _told(question: SqlQuestion, found: tuple[list[str], list[Sequence[Any]]], folder: Path) -> TableAnswer:
    columns, rows = found
    shown = _shown(rows)
    asked = question.sql.casefold()
    used = [one.profile for one in question.tables if one.profile.name.casefold() in asked]
    notes = [f"{one.name}: {note}" for one in used for note in one.notes][:NOTES_MAX]
    told = QueryAnswer(tuple(columns), tuple(shown), len(rows) > len(shown), tuple(notes))
    if question.save:
        saved = _as_csv(columns, rows)
        if len(rows) > SAVED_ROWS_MAX or len(saved) > SAVED_CHARS:
            return TableAnswer(error=("query", "", _TOO_LONG))
        types = tuple(_type([row[place] for row in rows]) for place in range(len(columns)))
        return TableAnswer(query=replace(told, saved_rows=len(rows), types=types), saved=saved)
    if question.plot is None:
        return TableAnswer(query=told)
    if len(rows) > PLOT_ROWS_MAX:
        said = f"The query gives more than {PLOT_ROWS_MAX:,} rows. Nothing was drawn: aggregate the rows in SQL."
        return TableAnswer(error=("query", "", said))
    result = plotted(columns, rows, question.plot)
    try:
        return TableAnswer(query=told, picture=_picture(folder, result, question.plot.title, question.plot.kind))
    except ChartError as error:
        return TableAnswer(error=("query", "", f"{error} A plot needs a column across, and one of numbers."))


def _shown(rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """As many of the first rows as fit into an answer, but at least one."""
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
    f"The query gives more than {SAVED_ROWS_MAX:,} rows or {SAVED_CHARS // 10**6} MB. Nothing was written, since a "
    "file with a part of the rows would give wrong numbers: select fewer rows or columns, or aggregate them in SQL."
)


def _as_csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return the rows as CSV, up to the first that goes beyond `SAVED_CHARS`."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(map(_written, row))
        if written.tell() > SAVED_CHARS:
            break
    return written.getvalue()


def _written(cell: object) -> object:
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
    """The type of a column in a Table Schema."""
    kinds = {"string" if _has_zone(cell) else _TYPES.get(type(cell), "string") for cell in cells if cell is not None}
    if kinds == {"integer", "number"}:
        return "number"
    return kinds.pop() if len(kinds) == 1 else "string"


def _has_zone(cell: object) -> bool:
    return isinstance(cell, datetime) and cell.tzinfo is not None


_ATTACHED: Final = re.compile(r"(?<![\w/])/\S*/asked-\w+/")


def _without_paths(said: str) -> str:
    """The text without the path that a table was attached by: the engine tells it in its own tables and messages."""
    return _ATTACHED.sub("", said) if "asked-" in said else said


def _answered(question: bytearray) -> bytes:
    _limit_time()
    # The question comes from the service, which is trusted; the answer goes to it as JSON, for this process is not.
    return answer(pickle.loads(question), Path()).model_dump_json().encode()


def _limit_time() -> None:
    """End this process once it has worked longer from now on than a question may take."""
    if sys.platform != "win32":  # it has no such limits
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + 1 + CPU_SECONDS, hard))


_KINDS: Final[Sequence[tuple[type, Kind]]] = (
    (bool, "boolean"),
    (Decimal, "number"),
    (datetime, "datetime"),
    (date, "date"),
    (time, "time"),
)


def plotted(columns: Sequence[str], rows: Sequence[Sequence[Any]], plot: Plot) -> Result:
    """The first column stands across, the others up: its numbers are names of places, but for points."""
    cells = [[_value(row[at]) for row in rows] for at in range(len(columns))]
    made = [_column(name, values) for name, values in zip(columns, cells, strict=True)]
    if made and plot.kind != "scatter":
        made[0] = ResultColumn(made[0].title, made[0].kind, decimals=made[0].decimals, label=True)
    return Result(tuple(made), tuple(zip(*cells, strict=True)), len(rows), len(rows))


def _value(cell: Any) -> Value | None:
    try:
        return value_of(cell)
    except TypeError:
        return str(cell)


def _column(name: str, values: Sequence[Value | None]) -> ResultColumn:
    kinds = {_kind(value) for value in values if value is not None}
    kind = kinds.pop() if len(kinds) == 1 else "text"
    numbers = [value for value in values if isinstance(value, Decimal)]
    decimals = max((-int(number.as_tuple().exponent) for number in numbers), default=0)
    return ResultColumn(name, kind, decimals=min(max(decimals, 0), 2), quotient=decimals > 2)


def _kind(value: Value) -> Kind:
    return next((kind for type_, kind in _KINDS if isinstance(value, type_)), "text")


if __name__ == "__main__":
    answer_questions(_answered)
