"""Describe tables by the kinds, units, ranges and values of their columns ("profiles"), and name a chat's tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from agentsvc_nb.documents.tables.model import Kind


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """Describes a column of a table. `name` is its name in SQL.

    Attributes:
        kind: The kind of its values. In DuckDB, text is VARCHAR, numbers are BIGINT or DECIMAL (exact) or DOUBLE, and
            the other kinds are DATE, TIMESTAMP, TIME and BOOLEAN.
        unit: The unit of numbers, such as `kg`, `%` (12.5 % is the number 12.5), or a currency as the file writes it
            (`€`, `EUR`). Durations are numbers of seconds with the unit `s`, so that sums, averages and comparisons are
            exact; `to_seconds(n)::VARCHAR` shows a duration as `01:02:03`. Months are dates (the first day of each
            month) with the unit `month`. The unit of times is their UTC offset (`UTC`, `+02:00`).
        decimals: The largest number of decimals of its numbers; None for floating point.
        empty: The number of rows without a value.
        distinct: The number of distinct values.
        smallest, largest: The range of the values; empty for text.
        values: The distinct values of a text column, the most common first; empty for other kinds.
        all_values: True if `values` lists all distinct values.
        unread: The number of filled cells that have no value, because they are not of the column's kind. Every answer
            with a sum or mean of the column must mention this number.
        unread_texts: The most common texts of such cells.
        doubt: A question about the values that the file leaves open, such as whether the day or the month comes first.
            Results that depend on the values may be wrong. Empty if no such question exists.
    """

    name: str
    kind: Kind
    unit: str = ""
    decimals: int | None = 0
    empty: int = 0
    distinct: int = 0
    smallest: str = ""
    largest: str = ""
    values: tuple[str, ...] = ()
    all_values: bool = False
    unread: int = 0
    unread_texts: tuple[str, ...] = ()
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class TableProfile:
    """Describes a table.

    Attributes:
        name: The table's name in SQL.
        path: The path of the table's file, as users know it.
        rows: The number of rows of data.
        columns: The columns. Their names are unique, even in lower case.
        sheet: The name of the sheet if the file has several tables; otherwise empty.
        notes: Sentences about how the table was read.
        form: How a program must read the file; empty for a usual CSV.
        doubt: A sentence that says why it is uncertain which rows count; otherwise empty.
        warning: A sentence about totals that differ from the rows, with which answers must begin; otherwise empty.
    """

    name: str
    path: str
    rows: int
    columns: tuple[ColumnProfile, ...]
    sheet: str = ""
    notes: tuple[str, ...] = ()
    form: str = ""
    doubt: str = ""
    warning: str = ""


def file_names(paths: Iterable[str]) -> dict[str, str]:
    """Return the SQL name of each file's first table, by path. It is based on the file's name without its extension."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for path in paths:
        names[path] = _make_unique(_sql_name(PurePosixPath(path).stem) or "table", taken)
    return names


def name_tables(
    files: Mapping[str, Sequence[TableProfile]], names: Mapping[str, str]
) -> dict[str, tuple[TableProfile, ...]]:
    """Return the tables of files with their names in SQL, by path.

    The first table of a file is called as in `names`, the result of `file_names` for all files of the chat. The names
    of further tables add the name of their sheet.
    """
    taken = set(names.values())
    made = {}
    for path, tables in files.items():
        first = names[path]
        made[path] = tuple(
            replace(
                table,
                name=_make_unique(_sql_name(f"{first}_{table.sheet}"), taken) if place else first,
                path=path,
                sheet=table.sheet if len(tables) > 1 else "",
            )
            for place, table in enumerate(tables)
        )
    return made


def _sql_name(text: str) -> str:
    return re.sub(r"\W+", "_", text).strip("_").lower()


def _make_unique(name: str, taken: set[str]) -> str:
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    taken.add(free)
    return free
