"""Cache the tables of files and their profiles (descriptions), so that no file is read twice.

The folder of the cache has one DuckDB database per file content, named by the content's hash. A database never changes
after it is created. `process.sweep` removes databases that were not used for a long time.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

import duckdb

from agentsvc_nb.documents.engine.bulk import load_large
from agentsvc_nb.documents.engine.dialect import column_names, quote_name, quote_text, replace_surrogates
from agentsvc_nb.documents.engine.loading import load
from agentsvc_nb.documents.engine.messages import TableAnswer, TableFile
from agentsvc_nb.documents.engine.process import sweep
from agentsvc_nb.documents.tables.model import ReadColumn, ReadTable, TableTooLarge, UnreadableTable
from agentsvc_nb.documents.tables.profiles import ColumnProfile, TableProfile
from agentsvc_nb.documents.tables.reading import read_tables
from agentsvc_nb.documents.tables.records import ENGINE

_DELIMITERS: Final = {".csv": "", ".tsv": "\t", ".tab": "\t"}


def read(folder: Path, file: TableFile) -> TableAnswer:
    """Return the profiles of a file's tables, or the reason why the file can't be read. Both results are cached."""
    answer, database = _paths(folder, file)
    with contextlib.suppress(FileNotFoundError):
        os.utime(database)
        os.utime(answer)
        return TableAnswer.model_validate_json(answer.read_bytes())
    made = _create_database(database, file)
    # Other child processes use this folder at the same time, so write a temporary file and rename it when it is
    # complete.
    part = _temporary_path(answer)
    part.write_text(made.model_dump_json(), encoding="utf-8")
    part.replace(answer)
    sweep(folder)
    return made


def _create_database(database: Path, file: TableFile) -> TableAnswer:
    part = _temporary_path(database)
    part.unlink(missing_ok=True)
    try:
        with duckdb.connect(str(part), config=ENGINE) as engine:
            made = TableAnswer(tables=tuple(_load_all(engine, file)))
    except UnreadableTable as error:
        kind: Literal["too_much", "unreadable"] = "too_much" if isinstance(error, TableTooLarge) else "unreadable"
        made = TableAnswer(error=(kind, "", str(error)))
    # Store a database even for an unreadable file, because `read` uses the cache only if both cached files exist.
    part.replace(database)
    return made


def _load_all(engine: duckdb.DuckDBPyConnection, file: TableFile) -> Iterator[TableProfile]:
    """Create the file's tables as `t0`, `t1` and so on, and yield their profiles. Raises `UnreadableTable`."""
    path = Path(file.file)
    if file.ending in _DELIMITERS and (large := load_large(engine, "t0", path, _DELIMITERS[file.ending])):
        yield profile(engine, "t0", large)
        return
    for place, table in enumerate(read_tables(f"table{file.ending}", "", path)):
        load(engine, f"t{place}", table)
        yield profile(engine, f"t{place}", table)


def attach(engine: duckdb.DuckDBPyConnection, folder: Path, file: TableFile, name: str) -> None:
    """Attach the database with a file's tables as `name`, read-only. If the tables are not cached, first read the file.

    SQL could detach the database and attach it again to write to it. So attach it under a temporary file name, which is
    deleted before SQL runs. On systems that can't delete open files, attach a copy.

    Raises:
        UnreadableTable: The file can't be read.
    """
    if error := read(folder, file).error:
        raise UnreadableTable(error[2])
    with tempfile.TemporaryDirectory(dir=folder, prefix="asked-", ignore_cleanup_errors=True) as passing:
        alias = Path(passing, name)
        (os.link if os.name == "posix" else shutil.copyfile)(_paths(folder, file)[1], alias)
        engine.execute(f"ATTACH {quote_text(str(alias))} AS {name} (READ_ONLY)")


def _paths(folder: Path, file: TableFile) -> tuple[Path, Path]:
    """Return the paths of the cached profiles (JSON) and of the database with the tables."""
    return folder / f"{file.key}.json", folder / f"{file.key}.duckdb"


def _temporary_path(path: Path) -> Path:
    """Return the temporary path to which this process writes the file `path` until it is complete."""
    return path.with_name(f"{path.name}.{os.getpid()}.part")


VALUES_MAX: Final = 2_000
VALUES_BYTES: Final = 100_000
"""`VALUES_MAX` and `VALUES_BYTES` limit the number and UTF-8 size of a text column's distinct values in a profile."""
TABLE_VALUES_BYTES: Final = 1_000_000
"""The maximum size of the listed values of all columns of a table."""


def profile(engine: duckdb.DuckDBPyConnection, name: str, table: ReadTable) -> TableProfile:
    """Return the profile of the table that was loaded as `name`.

    The profile's path and SQL name are left empty, because the same file may have other names in another chat.
    """
    room = TABLE_VALUES_BYTES
    columns = []
    for named, column in zip(column_names(table.columns), table.columns, strict=True):
        made = _profile(engine, name, named, column, table.rows, min(room, VALUES_BYTES))
        room -= sum(len(value.encode()) for value in made.values)
        columns.append(made)
    notes = tuple(map(replace_surrogates, table.notes))
    return TableProfile(
        "",
        "",
        table.rows,
        tuple(columns),
        replace_surrogates(table.name),
        notes,
        table.form(),
        table.doubt,
        table.warning,
    )


def _profile(
    engine: duckdb.DuckDBPyConnection, table: str, name: str, column: ReadColumn, rows: int, room: int
) -> ColumnProfile:
    sql = quote_name(name)
    ends = "NULL, NULL" if column.kind == "text" else f"CAST(min({sql}) AS VARCHAR), CAST(max({sql}) AS VARCHAR)"
    counts = f"count({sql}), count(DISTINCT {sql}), {ends}, any_value(typeof({sql}))"
    found = engine.execute(f"SELECT {counts} FROM {table}").fetchone()
    filled, distinct, smallest, largest, type_ = found or (0, 0, None, None, None)
    made = ColumnProfile(
        name,
        column.kind,
        replace_surrogates(column.unit),
        None if type_ == "DOUBLE" else column.decimals,
        rows - filled,
        distinct,
        smallest or "",
        largest or "",
        unread=column.unread,
        unread_texts=tuple(map(replace_surrogates, column.unread_texts)),
        doubt=replace_surrogates(column.doubt),
    )
    if column.kind != "text":
        return made
    ordered = f"GROUP BY {sql} ORDER BY count(*) DESC, min(rowid) LIMIT {VALUES_MAX}"
    values = engine.execute(f"SELECT {sql} FROM {table} WHERE {sql} IS NOT NULL {ordered}").fetchall()
    fitting = tuple(_take_fitting((value for (value,) in values), room))
    return replace(made, values=fitting, all_values=len(fitting) == distinct)


def _take_fitting(values: Iterable[str], room: int) -> Iterator[str]:
    """Yield values from the first one on, as long as all of them together fit into `room` bytes of UTF-8."""
    for value in values:
        room -= len(value.encode())
        if room < 0:
            return
        yield value
