"""DuckDB's SQL: names and values as text that says exactly these, and the types of a table's columns."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.documents.tables.profiles import ColumnProfile, Kind, PlanError, TableProfile

DIGITS: Final = 38
"""Digits of the engine's decimals."""
_TYPES: Final[dict[Kind, str]] = {
    "text": "VARCHAR",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "time": "TIME",
    "boolean": "BOOLEAN",
}


def quoted(name: str) -> str:
    """A name in SQL. Raises `PlanError` for half a pair of surrogates."""
    return '"' + _encodable(name).replace('"', '""') + '"'


def text(value: str) -> str:
    """A text in SQL. Raises `PlanError` for half a pair of surrogates."""
    return "'" + _encodable(value).replace("'", "''") + "'"


def _encodable(name: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise PlanError("invalid_text", f"{name!r} is no text: it has half a pair of surrogates.") from error
    return name


def engine_names(table: TableProfile) -> tuple[str, ...]:
    """The names of the columns in SQL: the engine takes small and capital letters for the same, has a `rowid` of its
    own, and takes no empty name."""
    taken = {"rowid"}
    names = []
    for place, column in enumerate(table.columns, 1):
        base = column.name or f"column {place}"
        name, number = base, 1
        while name.casefold() in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name.casefold())
        names.append(name)
    return tuple(names)


def engine_type(column: ColumnProfile) -> str:
    if column.kind != "number":
        return _TYPES[column.kind]
    return "DOUBLE" if column.decimals is None else f"DECIMAL({DIGITS},{column.decimals})"
