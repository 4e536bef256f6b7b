"""Quote names and texts for DuckDB's SQL, and choose the types and names of a table's columns."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from agentsvc_nb.documents.tables.model import Kind, ReadColumn

DECIMALS_MAX: Final = 12
"""Numbers with more decimals are stored as floating point: their products would exceed DuckDB's 38 digits."""
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


def quote_name(name: str) -> str:
    """Return `name` as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(value: str) -> str:
    """Return `value` as a quoted SQL string."""
    return "'" + value.replace("'", "''") + "'"


def replace_surrogates(value: str) -> str:
    """Replace lone surrogates by question marks, because neither files nor DuckDB accept lone surrogates."""
    return value.encode("utf-8", "replace").decode()


def sql_type(kind: Kind) -> str:
    """Return DuckDB's type for a column of any kind except numbers."""
    return _TYPES[kind]


def number_type(decimals: int, most: Decimal) -> str:
    """Return the SQL type for numbers up to `most` with `decimals` decimals: an exact type if possible, else DOUBLE."""
    if decimals > DECIMALS_MAX or most.adjusted() >= _DIGITS - DECIMALS_MAX:
        return "DOUBLE"
    if not decimals and most < _LARGEST:
        return "BIGINT"
    return f"DECIMAL({max(most.adjusted() + 1 + decimals, _NARROW_DIGITS)},{decimals})"


def column_names(columns: Iterable[ReadColumn]) -> list[str]:
    """Return the columns' SQL names: not empty, unique without regard to case, and never DuckDB's own `rowid`."""
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
