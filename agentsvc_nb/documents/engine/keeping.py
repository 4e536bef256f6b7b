"""Tables that were read are kept with their profiles: databases of DuckDB in a folder, one a content, under its hash.

Whichever process is asked next need not read the file again. What is read is never changed; what was not used for long
is removed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import duckdb

from agentsvc_nb.documents.engine.dialect import text
from agentsvc_nb.documents.engine.loading import load
from agentsvc_nb.documents.engine.messages import TableAnswer, TableFile
from agentsvc_nb.documents.engine.plain import load_plain
from agentsvc_nb.documents.engine.process import sweep
from agentsvc_nb.documents.tables.model import ReadColumn, ReadTable, TableTooLarge, UnreadableTable
from agentsvc_nb.documents.tables.profiles import ColumnProfile, TableProfile
from agentsvc_nb.documents.tables.reading import read_tables
from agentsvc_nb.documents.tables.typed import ENGINE

if TYPE_CHECKING:
    import duckdb


def read(folder: Path, file: TableFile) -> TableAnswer:
    """The profiles of a file's tables, which are kept from then on; or why it can't be read."""
    told, database = _paths(folder, file)
    with contextlib.suppress(FileNotFoundError):
        os.utime(database)
        os.utime(told)
        return TableAnswer.model_validate_json(told.read_bytes())
    made = _made(database, file)
    # Other children read this folder at the same time: each file appears as a whole.
    part = _part(told)
    part.write_text(made.model_dump_json(), encoding="utf-8")
    part.replace(told)
    sweep(folder)
    return made


def _made(database: Path, file: TableFile) -> TableAnswer:
    part = _part(database)
    part.unlink(missing_ok=True)
    try:
        with duckdb.connect(str(part), config=ENGINE) as engine:
            made = TableAnswer(tables=tuple(_loaded(engine, file)))
    except UnreadableTable as error:
        kind: Literal["too_much", "unreadable"] = "too_much" if isinstance(error, TableTooLarge) else "unreadable"
        made = TableAnswer(error=(kind, "", str(error)))
    # An unreadable file leaves its database, too: `read` looks for both files before it says that it knows the content.
    part.replace(database)
    return made


def _loaded(engine: duckdb.DuckDBPyConnection, file: TableFile) -> Iterator[TableProfile]:
    """Make the tables `t0`, `t1` and so on. Raises `UnreadableTable`."""
    delimited = file.ending in (".csv", ".tsv", ".tab")
    if delimited and (plain := load_plain(engine, "t0", Path(file.file), file.ending != ".csv")):
        yield profile(engine, "t0", plain)
        return
    for place, table in enumerate(read_tables(f"table{file.ending}", "", Path(file.file))):
        load(engine, f"t{place}", table)
        yield profile(engine, f"t{place}", table)


def attach(engine: duckdb.DuckDBPyConnection, folder: Path, file: TableFile, name: str) -> None:
    """Make the file's tables those of the database `name`, `t0`, `t1` and so on, which can't be changed. They are read
    if they are not kept. Raises `UnreadableTable`.

    The engine lets SQL that reaches no other file detach a database and attach it again, to write to it. So it gets a
    name of the file that is gone before SQL is run; where names of open files can't go, it gets a copy.
    """
    if error := read(folder, file).error:
        raise UnreadableTable(error[2])
    with tempfile.TemporaryDirectory(dir=folder, prefix="asked-", ignore_cleanup_errors=True) as passing:
        alias = Path(passing, name)
        (os.link if os.name == "posix" else shutil.copyfile)(_paths(folder, file)[1], alias)
        engine.execute(f"ATTACH {text(str(alias))} AS {name} (READ_ONLY)")


def _paths(folder: Path, file: TableFile) -> tuple[Path, Path]:
    """What is told of the tables, and the database with them."""
    return folder / f"{file.key}.json", folder / f"{file.key}.duckdb"


def _part(path: Path) -> Path:
    """Where the file is written until it is whole."""
    return path.with_name(f"{path.name}.{os.getpid()}.part")


VALUES_MAX: Final = 2_000
VALUES_BYTES: Final = 100_000
"""Distinct values of one column of text, and their bytes in UTF-8."""
TABLE_VALUES_BYTES: Final = 1_000_000
"""Of all columns of a table."""


def profile(engine: duckdb.DuckDBPyConnection, name: str, table: ReadTable) -> TableProfile:
    """Of a table that `loading.load` made of `table` under this name. It has neither name nor path yet: those depend on
    the chat (`profiles.named`)."""
    room = TABLE_VALUES_BYTES
    columns = []
    for place, column in enumerate(table.columns, 1):
        made = _profile(engine, name, f"c{place}", column, table.rows, min(room, VALUES_BYTES))
        room -= sum(len(value.encode()) for value in made.values)
        columns.append(made)
    notes = tuple(map(_sound, table.sentences()))
    return TableProfile("", "", table.rows, tuple(columns), _sound(table.name), notes, table.form())


def _profile(
    engine: duckdb.DuckDBPyConnection, table: str, name: str, column: ReadColumn, rows: int, room: int
) -> ColumnProfile:
    ends = "NULL, NULL" if column.kind == "text" else f"CAST(min({name}) AS VARCHAR), CAST(max({name}) AS VARCHAR)"
    counts = f"count({name}), count(DISTINCT {name}), {ends}, any_value(typeof({name}))"
    found = engine.execute(f"SELECT {counts} FROM {table}").fetchone()
    filled, distinct, smallest, largest, kind = found or (0, 0, None, None, None)
    values = _fitting(_commonest(engine, table, name), room) if column.kind == "text" else ()
    return ColumnProfile(
        _sound(column.name),
        column.kind,
        column.unit,
        None if kind == "DOUBLE" else column.decimals,
        rows - filled,
        distinct,
        smallest or "",
        largest or "",
        values,
        column.kind == "text" and len(values) == distinct,
    )


def _commonest(engine: duckdb.DuckDBPyConnection, table: str, name: str) -> list[str]:
    """The distinct values, the commonest first."""
    ordered = f"GROUP BY {name} ORDER BY count(*) DESC, min(rowid) LIMIT {VALUES_MAX}"
    return [
        value
        for (value,) in engine.execute(f"SELECT {name} FROM {table} WHERE {name} IS NOT NULL {ordered}").fetchall()
    ]


def _fitting(values: Iterable[str], room: int) -> tuple[str, ...]:
    """The first values that fit into so many bytes."""
    kept = []
    for value in values:
        room -= len(value.encode())
        if room < 0:
            break
        kept.append(value)
    return tuple(kept)


def _sound(text: str) -> str:
    """The text without halves of pairs of surrogates, which no file and no engine takes."""
    return text.encode("utf-8", "replace").decode()
