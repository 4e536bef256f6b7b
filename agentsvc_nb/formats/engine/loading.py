"""Tables as they were read, put into DuckDB with their types, exactly; and as plans and people's SQL see them."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from agentsvc_nb.formats.plans.dialect import DIGITS, engine_names, engine_type, quoted
from agentsvc_nb.formats.plans.profiles import DECIMALS_MAX, TableProfile
from agentsvc_nb.formats.tables.model import ReadColumn, ReadTable

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
_NARROW_DIGITS: Final = 18
_LINE_BYTES: Final = 256_000_000


def load(engine: duckdb.DuckDBPyConnection, name: str, table: ReadTable) -> None:
    """Make a table of this name, whose columns are `c1`, `c2` and so on. It goes through CSV of one fixed form with the
    types told, which leaves DuckDB nothing to guess."""
    types = {f"c{place}": column_type(column) for place, column in enumerate(table.columns, 1)}
    engine.execute(f"CREATE TABLE {name} ({', '.join(f'{column} {kind}' for column, kind in types.items())})")
    if not table.rows:
        return
    with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="", encoding="utf-8", errors="replace") as file:
        csv.writer(file).writerows(zip(*(column.values for column in table.columns), strict=True))
        file.flush()
        form = "delimiter = ',', quote = '\"', escape = '\"', new_line = '\\r\\n', header = false, auto_detect = false"
        read = f"read_csv(?, {form}, max_line_size = {_LINE_BYTES}, parallel = false, columns = {types})"
        engine.execute(f"INSERT INTO {name} SELECT * FROM {read}", [file.name])


def column_type(column: ReadColumn) -> str:
    if column.kind != "number":
        return _TYPES[column.kind]
    most = max((abs(value) for value in column.values if isinstance(value, Decimal)), default=Decimal(0))
    return number_type(column.decimals, most)


def number_type(decimals: int, most: Decimal) -> str:
    """The narrowest type that holds numbers of so many decimals up to `most` exactly; else floating point."""
    if decimals > DECIMALS_MAX or most.adjusted() >= DIGITS - DECIMALS_MAX:
        return "DOUBLE"
    if not decimals and most < _LARGEST:
        return "BIGINT"
    return f"DECIMAL({max(most.adjusted() + 1 + decimals, _NARROW_DIGITS)},{decimals})"


def plan_view(profile: TableProfile, source: str) -> str:
    """The statement that makes a loaded table what plans compute with (`dialect.definition`), under its own name."""
    wide = (
        f"CAST(c{place} AS {engine_type(column)})" if column.kind == "number" else f"c{place}"
        for place, column in enumerate(profile.columns, 1)
    )
    return _view(profile, source, ["rowid AS rowid", *_named(profile, wide)])


def sql_view(profile: TableProfile, source: str) -> str:
    """The statement that makes a table for SQL of a loaded one, under its own name: types are narrow, months texts."""
    plain = (
        f"strftime(c{place}, '%Y-%m')" if column.kind == "date" and column.unit == "month" else f"c{place}"
        for place, column in enumerate(profile.columns, 1)
    )
    return _view(profile, source, _named(profile, plain))


def _named(profile: TableProfile, terms: Iterable[str]) -> list[str]:
    return [f"{term} AS {quoted(name)}" for term, name in zip(terms, engine_names(profile), strict=True)]


def _view(profile: TableProfile, source: str, columns: Iterable[str]) -> str:
    return f"CREATE VIEW {quoted(profile.name)} AS SELECT {', '.join(columns)} FROM {source}"
