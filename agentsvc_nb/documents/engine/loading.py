"""Load tables into DuckDB with their exact values and types."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.documents.engine.dialect import column_names, number_type, quote_name, sql_type
from agentsvc_nb.documents.tables.model import ReadColumn, ReadTable, Value

if TYPE_CHECKING:
    import duckdb

_LINE_BYTES: Final = 256_000_000


def load(engine: duckdb.DuckDBPyConnection, name: str, table: ReadTable) -> None:
    """Create the table `name` with the rows of `table`. Its columns are called as in the file, but each name is
    unique."""
    types = [_column_type(column) for column in table.columns]
    defined = zip(map(quote_name, column_names(table.columns)), types, strict=True)
    engine.execute(f"CREATE TABLE {name} ({', '.join(f'{column} {type_}' for column, type_ in defined)})")
    _insert(engine, name, types, zip(*(column.values for column in table.columns), strict=True))


def load_map(engine: duckdb.DuckDBPyConnection, name: str, values: Mapping[str, Value], type_: str) -> None:
    """Create a table that maps the texts of cells (`said`) to their values (`value`)."""
    engine.execute(f"CREATE TEMP TABLE {name} (said VARCHAR, value {type_})")
    _insert(engine, name, ["VARCHAR", type_], values.items())


def _insert(engine: duckdb.DuckDBPyConnection, name: str, types: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows through a temporary CSV file, whose format and types are given so that DuckDB guesses nothing."""
    columns = {f"c{place}": type_ for place, type_ in enumerate(types)}
    # `errors="replace"` writes lone surrogates as question marks.
    with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="", encoding="utf-8", errors="replace") as file:
        csv.writer(file).writerows(rows)
        file.flush()
        form = "delimiter = ',', quote = '\"', escape = '\"', new_line = '\\r\\n', header = false, auto_detect = false"
        read = f"read_csv(?, {form}, max_line_size = {_LINE_BYTES}, parallel = false, columns = {columns})"
        engine.execute(f"INSERT INTO {name} SELECT * FROM {read}", [file.name])


def _column_type(column: ReadColumn) -> str:
    if column.kind != "number":
        return sql_type(column.kind)
    most = max((abs(value) for value in column.values if isinstance(value, Decimal)), default=Decimal(0))
    return number_type(column.decimals, most)
