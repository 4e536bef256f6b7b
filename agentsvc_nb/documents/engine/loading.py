"""Put tables into DuckDB with their types, exactly."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.documents.tables.model import Kind, ReadColumn, ReadTable, Value

if TYPE_CHECKING:
    import duckdb

DECIMALS_MAX: Final = 12
"""Numbers with more decimals are floating point: products and quotients would not fit the engine's 38 digits."""
_DIGITS: Final = 38
_TYPES: Final[dict[Kind, str]] = {
    "text": "VARCHAR",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "time": "TIME",
    "boolean": "BOOLEAN",
}
_LARGEST: Final = 2**63
_NARROW_DIGITS: Final = 18
_LINE_BYTES: Final = 256_000_000


def quoted(name: str) -> str:
    """Quote a name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """Quote a text in SQL."""
    return "'" + value.replace("'", "''") + "'"


def replace_surrogates(value: str) -> str:
    """Replace halves of pairs of surrogates, which neither files nor the engine take."""
    return value.encode("utf-8", "replace").decode()


def sql_type(kind: Kind) -> str:
    """Return the engine's type for a kind of column other than numbers."""
    return _TYPES[kind]


def largest_number_type(decimals: int, most: Decimal) -> str:
    """Return the narrowest type that holds numbers of so many decimals up to `most` exactly; else floating point."""
    if decimals > DECIMALS_MAX or most.adjusted() >= _DIGITS - DECIMALS_MAX:
        return "DOUBLE"
    if not decimals and most < _LARGEST:
        return "BIGINT"
    return f"DECIMAL({max(most.adjusted() + 1 + decimals, _NARROW_DIGITS)},{decimals})"


def column_names(columns: Iterable[ReadColumn]) -> list[str]:
    """Return the names of columns in SQL.

    The engine takes small and capital letters for the same, has a `rowid` of its own, and takes no empty name.
    """
    taken = {"rowid"}
    names = []
    for place, column in enumerate(columns, 1):
        base = replace_surrogates(column.name) or f"column {place}"
        name, number = base, 1
        while name.casefold() in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name.casefold())
        names.append(name)
    return names


def load(engine: duckdb.DuckDBPyConnection, name: str, table: ReadTable) -> None:
    """Make the table `name`, with its columns under their own names."""
    types = [_column_type(column) for column in table.columns]
    defined = zip(map(quoted, column_names(table.columns)), types, strict=True)
    engine.execute(f"CREATE TABLE {name} ({', '.join(f'{column} {type_}' for column, type_ in defined)})")
    _insert(engine, name, types, zip(*(column.values for column in table.columns), strict=True))


def load_map(engine: duckdb.DuckDBPyConnection, name: str, values: Mapping[str, Value], type_: str) -> None:
    """Make a table of the texts of cells (`said`) and their values (`value`)."""
    engine.execute(f"CREATE TEMP TABLE {name} (said VARCHAR, value {type_})")
    _insert(engine, name, ["VARCHAR", type_], values.items())


def _insert(engine: duckdb.DuckDBPyConnection, name: str, types: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows through CSV of one fixed form with the types told, which leaves the engine nothing to guess."""
    columns = {f"c{place}": type_ for place, type_ in enumerate(types)}
    # Half a pair of surrogates, which no file takes, becomes a question mark.
    with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="", encoding="utf-8", errors="replace") as file:
        csv.writer(file).writerows(rows)
        file.flush()
        form = "delimiter = ',', quote = '\"', escape = '\"', new_line = '\\r\\n', header = false, auto_detect = false"
        read = f"read_csv(?, {form}, max_line_size = {_LINE_BYTES}, parallel = false, columns = {columns})"
        engine.execute(f"INSERT INTO {name} SELECT * FROM {read}", [file.name])


def _column_type(column: ReadColumn) -> str:
    if column.kind != "number":
        return _TYPES[column.kind]
    most = max((abs(value) for value in column.values if isinstance(value, Decimal)), default=Decimal(0))
    return largest_number_type(column.decimals, most)
