"""Describe tables by the kinds, units, ranges and values of their columns, and name the tables of a chat."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from agentsvc_nb.documents.tables.model import Kind


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """A column of a table, whose name in SQL is `name`.

    Attributes:
        kind: The kind of its values. In the engine, text is VARCHAR, numbers are BIGINT or DECIMAL (exact) or DOUBLE,
            and the other kinds are DATE, TIMESTAMP, TIME and BOOLEAN.
        unit: The unit of numbers: a currency as the file writes it (`€`, `EUR`), `%` (12.5 % is the number 12.5), `kg`.
            Durations are numbers of seconds with the unit `s`: sums, averages and comparisons are exact, and
            `to_seconds(n)::VARCHAR` shows one as `01:02:03`. Dates that are months have the unit `month` and the first
            day of each month. Times have their offset (`UTC`, `+02:00`).
        decimals: The largest number of decimals of its numbers; None for floating point.
        empty: The number of rows without a value.
        distinct: The number of distinct values.
        smallest, largest: The range of all kinds except text.
        values: The distinct values of text, the most common first.
        all_values: True if `values` is complete.
        unread: The number of filled cells that are not of the column's kind and have no value. Every sum or mean of the
            column must mention this number.
        unread_texts: The most common of the unread cells.
        doubt: A question that no cell answers, such as whether the day or the month comes first. Results that depend on
            the values may be wrong. Empty if there is no such question.
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
    """A table: its name in SQL, the path that people see, and the sheet if the file has several.

    Its column names are unique, even in lower case. `notes` are sentences about how it was read. `form` tells how a
    program must read the file, if the file is not a usual CSV. `doubt` says why it is uncertain which rows count.
    """

    name: str
    path: str
    rows: int
    columns: tuple[ColumnProfile, ...]
    sheet: str = ""
    notes: tuple[str, ...] = ()
    form: str = ""
    doubt: str = ""


def file_names(paths: Iterable[str]) -> dict[str, str]:
    """Return the name of each file's first table, which is the file's name without the file extension."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for path in paths:
        names[path] = _free(_plain(PurePosixPath(path).stem) or "table", taken)
    return names


def named(files: Mapping[str, Sequence[TableProfile]], names: Mapping[str, str]) -> dict[str, tuple[TableProfile, ...]]:
    """Name the tables of files, by path. A file's further tables have the file's name followed by their sheet's name.

    `names` are the names of all files of the chat (`file_names`).
    """
    taken = set(names.values())
    made = {}
    for path, tables in files.items():
        first = names[path]
        made[path] = tuple(
            replace(
                table,
                name=_free(_plain(f"{first}_{table.sheet}"), taken) if place else first,
                path=path,
                sheet=table.sheet if len(tables) > 1 else "",
            )
            for place, table in enumerate(tables)
        )
    return made


def _plain(text: str) -> str:
    return re.sub(r"\W+", "_", text).strip("_").lower()


def _free(name: str, taken: set[str]) -> str:
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    taken.add(free)
    return free
