"""Tables as they were read, put into DuckDB with their types, exactly."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from agentsvc_nb.formats.tables.model import ReadColumn, ReadTable, Value

if TYPE_CHECKING:
    import duckdb

_TYPES: Final = {
    "text": "VARCHAR",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "time": "TIME",
    "boolean": "BOOLEAN",
}
_LARGEST: Final = 2**63
_DECIMAL_DIGITS: Final = 38
_LINE_BYTES: Final = 256_000_000


def load(engine: duckdb.DuckDBPyConnection, name: str, table: ReadTable) -> None:
    """Make a table of this name. It goes through CSV of one fixed form with the types told, which leaves DuckDB nothing
    to guess."""
    columns = ", ".join(f"{_quoted(column.name)} {_type(column)}" for column in table.columns)
    engine.execute(f"CREATE TABLE {_quoted(name)} ({columns})")
    if not table.rows:
        return
    with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="", encoding="utf-8", errors="replace") as file:
        csv.writer(file).writerows(_rows(table))
        file.flush()
        form = "delimiter = ',', quote = '\"', escape = '\"', new_line = '\\r\\n', header = false, auto_detect = false"
        types = ", ".join(f"'c{at}': '{_type(column)}'" for at, column in enumerate(table.columns))
        read = f"read_csv(?, {form}, max_line_size = {_LINE_BYTES}, parallel = false, columns = {{{types}}})"
        engine.execute(f"INSERT INTO {_quoted(name)} SELECT * FROM {read}", [file.name])


def _rows(table: ReadTable) -> Iterable[tuple[Value, ...]]:
    return zip(*map(_written, table.columns), strict=True)


def _written(column: ReadColumn) -> Iterable[Value]:
    return (text.strip() or None for text in column.texts) if column.unit == "month" else column.values


def _type(column: ReadColumn) -> str:
    """The type in SQL; months stay as they are written."""
    if column.unit == "month":
        return "VARCHAR"
    return _TYPES.get(column.kind) or _number_type(column)


def _number_type(column: ReadColumn) -> str:
    """A whole number or a decimal that holds all of the column, else a double."""
    most = max((abs(value) for value in column.values if isinstance(value, Decimal)), default=Decimal(0))
    if not column.decimals and most < _LARGEST:
        return "BIGINT"
    digits = max(most.adjusted() + 1, 1) + column.decimals
    return f"DECIMAL({max(digits, 18)}, {column.decimals})" if digits <= _DECIMAL_DIGITS else "DOUBLE"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
